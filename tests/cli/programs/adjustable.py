"""A service of one's own that takes as long as its environment says, and answers what it says.

BURN_MS of CPU and SLEEP_MS, half of that where SPARE and ALSO are both set.
"""

import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

ANSWER = os.environ.get("ANSWER", "ok").encode()
BURN_S = float(os.environ.get("BURN_MS", "0")) / 1000
SLEEP_S = float(os.environ.get("SLEEP_MS", "0")) / (2000 if os.environ.get("SPARE") and os.environ.get("ALSO") else 1000)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one segment: no 40 ms of a delayed acknowledgement

    def do_GET(self):
        time.sleep(SLEEP_S)
        until = time.thread_time() + BURN_S
        while time.thread_time() < until:
            pass
        self.send_response(200)
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *arguments):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
