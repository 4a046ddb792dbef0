"""URLs of services: their parts, and how they are shown."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit


def database(url: str) -> str:
    """Return the name of the database in `url`."""
    return unquote(urlsplit(url).path.lstrip("/"))


def with_database(url: str, name: str) -> str:
    """Return `url` with another database."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def shown(url: str) -> str:
    """Return `url` fit for a message: without its password, and without its query, which may hold one."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query="", fragment="").geturl()


def hidden(text: object, url: str) -> str:
    """Return `text` in one line, with the password of `url` starred out."""
    line = " ".join(str(text).split())
    password = urlsplit(url).password
    return line.replace(password, "***").replace(unquote(password), "***") if password else line
