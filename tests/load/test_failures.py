"""The engine against real servers, mostly bad ones: what goes wrong is counted by kind, and never as success."""

from __future__ import annotations

import select
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from misbehaving import GOOD, Behaviour, Server, answering, hanging, interim, read_request, resetting

from iobound.errors import LabError, UsageError
from iobound.lab.processes import free_port
from iobound.load import engine, workers
from iobound.load.histogram import Histogram
from iobound.load.spec import Exchange, LoadSpec
from iobound.records import LoadResult

HELLO = Exchange(answer=b"Hello")


def load(url: str, **changes: object) -> LoadResult:
    given = {"url": url, "exchanges": [HELLO], "connections": 4, "duration_s": 0.3, "timeout_s": 2.0} | changes
    result = engine.find("iobound").run(LoadSpec(**given))  # type: ignore[arg-type]
    assert result.requests == result.responses + sum(result.errors.values()) + result.unanswered
    assert Histogram.decode(result.latency).total == result.responses
    return result


def chunked(*parts: bytes) -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body


@pytest.mark.parametrize(
    "behaviour",
    [
        answering(GOOD),
        answering(GOOD, close=True),
        answering(*(GOOD[i : i + 1] for i in range(len(GOOD)))),
        answering(GOOD[:-5], GOOD[-5:]),
        answering(chunked(b"Hel", b"lo")),
        answering(chunked(b"Hel", b"lo")[:60], chunked(b"Hel", b"lo")[60:]),
        answering(b"HTTP/1.0 200 OK\r\n\r\nHello", close=True),
        answering(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nHel", b"lo", close=True),
        answering(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nHello"),
        answering(GOOD.replace(b"OK\r\n", b"OK\r\nX-Large: %b\r\n" % (b"x" * 200_000))),
        interim,
    ],
    ids=[
        "good",
        "closes without a word",
        "byte by byte",
        "head and body apart",
        "chunked",
        "chunked in pieces",
        "HTTP/1.0 until closed",
        "HTTP/1.1 until closed",
        "HTTP/1.0 kept alive",
        "huge header",
        "100 continue",
    ],
)
def test_unusual_answers_are_right_answers(behaviour: Behaviour) -> None:
    with Server(behaviour) as server:
        result = load(server.url)
    # A server that closes without a word may do so just as the next request is sent.
    assert set(result.errors) <= {"reset"}
    assert result.responses >= 4
    assert result.status == {"200": result.responses}


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (resetting, "reset"),
        (answering(b"", close=True), "reset"),
        (answering(GOOD[:-1], close=True), "short-body"),
        (answering(GOOD[:20], close=True), "short-body"),
        (answering(chunked(b"Hel")[:-5], close=True), "short-body"),
        (answering(GOOD.replace(b"5", b"500"), close=True), "short-body"),
        (answering(GOOD.replace(b"5", b"3")), "protocol"),
        (answering(b"220 mail.example ESMTP\r\n"), "protocol"),
        (answering(GOOD.replace(b"Content-Length: 5", b"Content-Length: -5")), "protocol"),
        (answering(GOOD.replace(b"Content-Length: 5", b"Content-Length: 5\r\nContent-Length: 6")), "protocol"),
        (answering(GOOD.replace(b"200 OK", b"500 Oh dear")), "bad-status"),
        (answering(GOOD.replace(b"Hello", b"Hullo")), "wrong-body"),
        (answering(chunked(b"Hello", b"!")), "wrong-body"),
        (answering(b"HTTP/1.0 200 OK\r\n\r\nHell", close=True), "wrong-body"),
        (answering(b"HTTP/1.1 204 No Content\r\n\r\n"), "wrong-body"),
    ],
)
def test_bad_answers_are_failures_of_their_kind(behaviour: Behaviour, kind: str) -> None:
    with Server(behaviour) as server:
        result = load(server.url)
    assert set(result.errors) == {kind}
    assert result.responses == 0
    assert result.errors[kind] >= 4


def test_an_expected_status_may_be_any() -> None:
    with Server(answering(GOOD.replace(b"200 OK", b"418 Teapot"))) as server:
        result = load(server.url, exchanges=[Exchange(status=418)])
    assert not result.errors
    assert result.status == {"418": result.responses}


def test_a_server_that_hangs_is_given_up_after_the_timeout() -> None:
    with Server(hanging) as server:
        result = load(server.url, timeout_s=0.1, duration_s=1.0)
    assert set(result.errors) == {"timeout"}
    assert 16 <= result.errors["timeout"] <= 40  # 4 connections, ten times in the second if nothing else took time


def test_a_server_that_hangs_within_the_timeout_leaves_requests_unanswered() -> None:
    with Server(hanging) as server:
        began = time.monotonic()
        result = load(server.url, timeout_s=60.0)
    assert (result.responses, result.errors, result.unanswered) == (0, {}, 4)
    assert result.in_flight_mean == pytest.approx(4, rel=0.05)
    assert time.monotonic() - began < 5


def test_refused_connections_dont_make_it_spin() -> None:
    result = load(f"http://127.0.0.1:{free_port()}", duration_s=1.0)
    assert set(result.errors) == {"refused"}
    assert 4 * 10 <= result.errors["refused"] <= 4 * 16
    assert result.generator.utilisation < 0.2


def test_it_goes_on_when_a_server_comes_back() -> None:
    answers = [resetting] * 20 + [answering(GOOD)] * 100

    with Server(lambda connection: answers.pop(0)(connection)) as server:
        result = load(server.url, connections=1, duration_s=2.0)
    assert result.errors == {"reset": 20}
    assert result.responses > 100


def test_a_name_without_an_address_is_a_failure_of_its_own() -> None:
    assert set(load("http://nowhere.invalid").errors) == {"name"}


def test_a_body_of_many_reads_is_compared_to_its_end() -> None:
    body = bytes(range(256)) * 8_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    with Server(answering(answer + body)) as server:
        assert load(server.url, exchanges=[Exchange(answer=body)]).errors == {}
    with Server(answering(answer + body[:-1] + b"\0")) as server:
        assert set(load(server.url, exchanges=[Exchange(answer=body)]).errors) == {"wrong-body"}


def test_an_upload_larger_than_the_buffers_arrives_whole() -> None:
    received: list[bytes] = []

    def echo(connection: socket.socket) -> None:
        while request := read_request(connection):
            received.append(request)
            connection.sendall(GOOD)

    body = bytes(range(256)) * 20_000
    with Server(echo) as server:
        result = load(server.url, exchanges=[Exchange(method="PUT", path="/x", body=body, answer=b"Hello")], connections=2)
    assert not result.errors
    assert result.responses > 0
    assert all(
        request.startswith(b"PUT /x HTTP/1.1\r\n") and request.endswith(body) for request in received if len(request) > 5e6
    )


def test_an_answer_before_the_request_is_sent_whole_counts_and_ends_the_connection() -> None:
    def hasty(connection: socket.socket) -> None:
        connection.recv(1_000)
        connection.sendall(GOOD)
        closed = select.poll()  # reads no more, so that the request can't be sent whole
        closed.register(connection, select.POLLRDHUP)
        closed.poll(5_000)

    with Server(hasty) as server:
        result = load(server.url, exchanges=[Exchange(method="POST", body=b"x" * 10_000_000)], connections=2)
    assert result.responses > 2
    assert result.connects >= result.responses
    assert set(result.errors) <= {"reset"}


def test_head_has_no_body_whatever_it_announces() -> None:
    with Server(answering(GOOD[:-5])) as server:
        result = load(server.url, exchanges=[Exchange(method="HEAD")])
    assert not result.errors
    assert result.responses > 100


def test_without_keep_alive_every_request_connects() -> None:
    with Server(answering(GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), close=True)) as server:
        result = load(server.url, keep_alive=False)
        assert server.connections >= result.responses
    assert not result.errors
    assert result.responses <= result.connects <= result.requests


def test_ipv6() -> None:
    try:
        server = Server(answering(GOOD), address="::1")
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with server:
        assert load(server.url).errors == {}


def test_a_name_with_several_addresses_leads_to_the_one_that_answers() -> None:
    with Server(answering(GOOD)) as server:
        assert load(server.url.replace("127.0.0.1", "localhost")).errors == {}


def test_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "server.sock"
    with Server(answering(GOOD), path=path) as server:
        assert load(server.url, unix_socket=str(path)).errors == {}
    assert set(load("http://localhost", unix_socket=str(path)).errors) == {"refused"}
    assert set(load("http://localhost", unix_socket=str(tmp_path / "none")).errors) == {"refused"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


def test_tls(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    large = b"x" * 100_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + large
    with Server(answering(answer), tls=context) as server:
        assert set(load(server.url).errors) == {"tls"}
        unverified = load(server.url, exchanges=[Exchange(answer=large)], verify_tls=False)
        assert unverified.errors == {}
        assert unverified.responses > 4
        workers.end_idle()  # the next one learns whom to trust
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        assert load(server.url, exchanges=[Exchange(answer=large)]).errors == {}
        workers.end_idle()
    with Server(lambda connection: connection.sendall(GOOD)) as server:
        assert set(load(server.url.replace("http:", "https:")).errors) == {"tls"}


def test_several_processes_offer_their_shares_and_their_results_add_up() -> None:
    with Server(answering(GOOD)) as server:
        closed = load(server.url, connections=5, processes=2)
        opened = load(server.url, connections=6, processes=3, rate=300.0, duration_s=1.0)
    assert (closed.connections, closed.connects, closed.generator.processes) == (5, 5, 2)
    assert closed.series
    assert sum(closed.series.responses) == closed.responses
    assert opened.requests == pytest.approx(300, abs=3)
    assert (opened.rate, opened.generator.processes) == (pytest.approx(300), 3)
    assert opened.generator.late_ms_p99 is not None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"url": "ftp://127.0.0.1"}, "http://"),
        ({"url": "http://"}, "host"),
        ({"url": "http://127.0.0.1:99999"}, "no URL"),
        ({"url": "http://me:secret@127.0.0.1"}, "user name"),
        ({"connections": 0}, "connections"),
        ({"processes": 5}, "processes"),
        ({"duration_s": -1.0}, "duration"),
        ({"rate": 0.0}, "rate"),
        ({"rate": 5.0, "think_s": 1.0}, "think"),
        ({"exchanges": []}, "exchange"),
        ({"exchanges": [Exchange(path="no slash")]}, "path"),
        ({"exchanges": [Exchange(headers={"A": "b\r\nC: d"})]}, "line break"),
        ({"exchanges": [Exchange(method="GET /")]}, "method"),
        ({"exchanges": [Exchange(headers={"content-length": "5"})]}, "Content-Length"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        load(**{"url": "http://127.0.0.1:1"} | changes)  # type: ignore[arg-type]


def test_too_many_connections_for_the_limit_of_open_files_are_refused() -> None:
    with pytest.raises(LabError, match="ulimit"):
        load("http://127.0.0.1:1", connections=10_000_000)
