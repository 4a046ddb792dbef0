# /// script
# requires-python = ">=3.8"
# dependencies = ["flask", "redis"]
#
# [tool.iobound]
# kind = "published"
# title = "Flask on its development server, a new Redis client for every request"
# comparison = "sync-async-redis"
# model = "threads"
# environment = "published"
# services = ["valkey"]
# drivers = { valkey = "redis" }
# labels = { threads = "one per connection", debug = "False", access_log = "True", pool = "one per request" }
#
# [tool.iobound.like]
# valkey = { target = "flask/werkzeug/redis-py", settings = { ACCESS_LOG = "1", KEEP_ALIVE = "0", CONNECT = "each" } }
#
# [tool.iobound.workloads.redis-get]
# path = "/"
# answer = "value 919 of the cache"
# ///
import os

import redis
from flask import Flask

app = Flask(__name__)


@app.route("/")
def get_value():
    client = redis.Redis.from_url(os.environ["CACHE_URL"])
    return client.get("key:1")


if __name__ == "__main__":
    app.run(host=os.environ["HOST"], port=int(os.environ["PORT"]))
