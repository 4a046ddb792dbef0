"""A threaded HTTP server whose every request does one thing; which one is its first argument, the port its second.

burn MS        burns MS of CPU            sleep MS THREADS   sleeps MS, at most THREADS at a time
fail           answers 500 after 50 good answers             die              exits after 50 requests
sum ROWS       lets PostgreSQL add up ROWS numbers           lock MS          holds one advisory lock for MS
ping           runs one SELECT 1
"""

import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

what, port, *arguments = sys.argv[1:]
amount = float(arguments[0]) if arguments else 0.0
places = threading.BoundedSemaphore(int(arguments[1]) if len(arguments) > 1 else 1000)
answered = 0
per_thread = threading.local()


def burn() -> None:
    until = time.thread_time() + amount / 1000
    while time.thread_time() < until:
        pass


def sleep() -> None:
    with places:
        time.sleep(amount / 1000)


def query(sql: str) -> None:
    import psycopg

    if not hasattr(per_thread, "connection"):
        per_thread.connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    per_thread.connection.execute(sql)


WORK = {
    "burn": burn,
    "sleep": sleep,
    "fail": lambda: None,
    "die": lambda: None,
    "sum": lambda: query(f"select sum(i) from generate_series(1, {amount:.0f}) i"),
    "lock": lambda: query(f"select pg_advisory_lock(1), pg_sleep({amount / 1000}), pg_advisory_unlock(1)"),
    "ping": lambda: query("select 1"),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one segment: no 40 ms of a delayed acknowledgement

    def do_GET(self) -> None:
        global answered
        answered += 1
        if what == "die" and answered > 50:
            print("out of cheese", file=sys.stderr, flush=True)
            os._exit(7)
        WORK[what]()
        self.send_response(500 if what == "fail" and answered > 50 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments: object) -> None:
        pass


ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
