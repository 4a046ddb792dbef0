"""Whether a URL looks like a database that people depend on: there a set-up that empties tables must not run by mistake."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from iobound.errors import UsageError
from iobound.lab import urls

LOCAL = re.compile(r"localhost|127\.[\d.]+|::1|", re.IGNORECASE)
HARMLESS = re.compile(
    r"(?:^|[-_.\d])(?:tests?|testing|dev|devel|development|ci|sandbox|scratch|tmp|race|iobound)(?:$|[-_.\d])", re.IGNORECASE
)
SERIOUS = re.compile(r"(?:^|[-_.\d])(?:prod|production|live|prd|main|primary)(?:$|[-_.\d])", re.IGNORECASE)


def refuse(url: str, confirmed: str | None) -> None:
    """Raise `UsageError` where `url` looks like production and `confirmed` doesn't repeat its database's name."""
    name = urls.database(url)
    because = looks(url)
    if because and confirmed != name:
        raise UsageError(
            f"{urls.shown(url)} looks like production: {because}; the setup would empty its tables again and again. "
            f"If that is meant, give the database's name a second time: --yes-database {name} (yes_database={name!r})"
        )
    if confirmed is not None and confirmed != name:
        raise UsageError(f"--yes-database {confirmed} isn't the database of {urls.shown(url)}, which is called {name}")


def looks(url: str) -> str | None:
    """Return why `url` looks like production, ``None`` where it doesn't."""
    parts = urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        return None
    host, name = parts.hostname or "", urls.database(url)
    for what, word in (("host", host), ("database", name)):
        if SERIOUS.search(word):
            return f"its {what} is called {word}"
    if not LOCAL.fullmatch(host) and not HARMLESS.search(name):
        return f"it is on another machine ({host}), and its name doesn't say that it is for tests"
    return None
