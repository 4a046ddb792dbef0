"""What a statement is to the search: a step of a transaction, or set-up that can't touch data and is let through.

Nothing is parsed: a statement is cut into words, and only what is certainly harmless isn't a step. Set-up is what configures a
session (SET, SHOW, USE, DISCARD, LISTEN, DEALLOCATE, …), a ping (``SELECT 1``), a SELECT without FROM that calls only functions
which tell or set something of the session, and a SELECT from system catalogues only. The proxy adds the end of a transaction
that isn't there or has failed already: it changes nothing for anybody else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache

from iobound.records.race import StepKind

WORDS = re.compile(
    r"--[^\n]*|\#[^\n]*|/\*(?!!).*?\*/"
    r"|(?P<text>'(?:[^'\\]|''|\\.)*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"
    r"|(?P<word>@@?[\w.$]+|[\w$]+(?:\s*\.\s*[\w$]+)*|\"[^\"]*\"(?:\.\"[^\"]*\")*|`[^`]*`(?:\.`[^`]*`)*)|(?P<sign>[^\s])",
    re.DOTALL,
)
CONTROL: dict[str, StepKind] = {
    "begin": "begin",
    "start": "begin",
    "commit": "commit",
    "end": "commit",
    "rollback": "rollback",
    "abort": "rollback",
    "savepoint": "savepoint",
    "release": "savepoint",
}
SETTING = {
    *("set", "show", "reset", "discard", "deallocate", "listen", "unlisten", "use", "describe", "desc", "pragma", "close"),
    *("kill", "prepare"),
}
HARMLESS = re.compile(
    r"(?:pg_catalog\.)?(?:version|set_config|current_setting|current_schemas?|current_database|pg_backend_pid|pg_is_in_recovery"
    r"|pg_advisory_unlock_all|database|schema|connection_id|user|current_user|last_insert_id|row_count|sqlite_version|cast"
    r"|char|varchar|to_regtype|array_agg|coalesce|count|format_type|exists|in|any|values|unnest|convert)",
    re.IGNORECASE,
)
CATALOGUE = re.compile(
    r"(?:pg_|information_schema\.|performance_schema\.|mysql\.|sqlite_(?:temp_)?(?:master|schema))\S*", re.IGNORECASE
)
ACTS = re.compile("advisory|notify|sleep|cancel|terminate|promote|logical")
"""In the names of functions of the catalogue that do more than tell."""


@lru_cache(4096)
def words(sql: str) -> tuple[str, ...]:
    """Cut `sql` into words and signs, comments left out, texts as ``''``, names without quotes."""
    found = []
    for match in WORDS.finditer(sql):
        if match["text"]:
            found.append("''")
        elif match["word"]:
            found.append(re.sub(r"\s*\.\s*", ".", match["word"]).replace('"', "").replace("`", ""))
        elif match["sign"]:
            found.append(match["sign"])
    return tuple(found)


@lru_cache(4096)
def shape(sql: str) -> tuple[str, ...]:
    """Return `sql` without what differs between two executions of one schedule: times, random keys, names of savepoints."""
    if kind(sql) == "savepoint":
        return tuple(word for word in map(str.lower, words(sql)) if word in ("savepoint", "release", "rollback", "to"))
    return tuple(re.sub(r"\d+", "0", word) for word in words(sql))


@lru_cache(4096)
def kind(sql: str) -> StepKind | None:
    """Return what kind of step `sql` is, ``None`` for set-up. Of several statements in one, the first step counts."""
    kinds = [found for part in _parts(words(sql)) if (found := _kind(part))]
    return kinds[0] if len(set(kinds)) == 1 else "statement" if kinds else None


@lru_cache(4096)
def several(sql: str) -> bool:
    """Tell whether `sql` may do several things one after another: statements in one request, a procedure, a block of code."""
    parts = _parts(words(sql))
    return sum(_kind(part) == "statement" for part in parts) > 1 or any(part[0].lower() in ("call", "do") for part in parts)


def _parts(all_words: tuple[str, ...]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in all_words:
        if word == ";":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _kind(part: list[str]) -> StepKind | None:
    first, *rest = (word.lower() for word in part)
    if first == "rollback" and "to" in rest[:3]:
        return "savepoint"
    if rest[:1] == ["prepared"] or (first == "prepare" and rest[:1] == ["transaction"]):
        return "statement"  # the transaction is no longer the session's
    if first in CONTROL:
        return CONTROL[first]
    if first == "set" and any(word.endswith("autocommit") for word in rest) and rest[-1] in ("1", "on", "true"):
        return "commit"  # of what is open, on MariaDB and MySQL
    if first in SETTING and "select" not in rest and rest[:1] != ["constraints"]:
        return None
    return None if first == "select" and _harmless(part) else "statement"


def _harmless(part: list[str]) -> bool:
    """Tell whether a SELECT only asks the session or the catalogue."""
    lower = [word.lower() for word in part]
    called = [name for name, sign in itertools.pairwise(lower) if sign == "(" and re.match(r"\w", name)]
    called = [name for name in called if name not in ("select", "from", "join", "where", "and", "or", "on", "as", "not")]
    sources = list(_sources(lower))
    if not all(
        HARMLESS.fullmatch(name) or (sources and CATALOGUE.fullmatch(name) and not ACTS.search(name)) for name in called
    ):
        return False
    if sources:
        return all(CATALOGUE.fullmatch(name) or name in called for name in sources) and "for" not in lower
    asks = called or lower == ["select", "1"] or any(word.startswith("@@") for word in lower)
    return bool(asks) or any(word in ("current_user", "current_schema", "current_database") for word in lower)


def _sources(lower: list[str]) -> Iterator[str]:
    """Return what follows FROM, JOIN, and each comma of a FROM."""
    listing = False
    depth = 0
    for word, following in itertools.pairwise(lower):
        depth += (word == "(") - (word == ")")
        if word == "from":
            listing, depth = True, 0
        elif word in ("where", "group", "order", "limit", "union"):
            listing = False
        if (word in ("from", "join") or (word == "," and listing and depth == 0)) and following != "(":
            yield following
