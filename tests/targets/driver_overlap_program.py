"""Has four connections of `driver.py` wait at the same time, driven by gevent, and says how long that takes."""
# ruff: noqa: E402 (what is patched is imported later)

from gevent import monkey

monkey.patch_all()

import json
import sys
import time

import gevent
from psycogreen.gevent import patch_psycopg

patch_psycopg()

import driver

job = json.load(sys.stdin)
connections = [driver.connect(job["url"]) for _ in range(4)]
started = time.time()
gevent.joinall([gevent.spawn(connection.execute, job["sleep"]) for connection in connections], raise_error=True)
print(json.dumps({"seconds": time.time() - started, "ran": driver.ran(connections[0])}))
