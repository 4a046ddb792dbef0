from iobound.lab import urls

URL = "postgresql://me:p%40ss@[::1]:5432/data%20base?sslmode=disable&password=p"


def test_database():
    assert urls.database(URL) == "data base"
    assert urls.database("redis://localhost") == ""


def test_with_database_keeps_the_rest():
    assert urls.with_database(URL, "other") == "postgresql://me:p%40ss@[::1]:5432/other?sslmode=disable&password=p"
    assert urls.with_database("redis://localhost:1", "3") == "redis://localhost:1/3"


def test_shown_holds_no_password():
    assert urls.shown(URL) == "postgresql://me@[::1]:5432/data%20base"
    assert urls.shown("redis://:secret@localhost/0") == "redis://@localhost/0"


def test_hidden_stars_out_the_password_as_written_and_as_meant():
    assert urls.hidden("bad\n  p%40ss or p@ss", URL) == "bad *** or ***"
    assert urls.hidden("plain", "redis://localhost") == "plain"
