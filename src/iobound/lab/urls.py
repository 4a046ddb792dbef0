"""URLs of services: their parts, and how they are shown."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import unquote, urlsplit


class MysqlLogin(TypedDict):
    """What a MySQL driver must be told to reach a server, the database apart."""

    host: str
    port: int
    user: str
    password: str


def mysql_login(url: str) -> MysqlLogin:
    """Return how the MySQL or MariaDB server of `url` is reached; raises `ValueError` for a port that is none."""
    parts = urlsplit(url)
    return MysqlLogin(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


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
