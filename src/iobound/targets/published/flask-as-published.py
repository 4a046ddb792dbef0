# /// script
# requires-python = ">=3.8"
# dependencies = ["flask"]
#
# [tool.iobound]
# kind = "published"
# title = "Flask on its development server"
# comparison = "sync-async-plain"
# model = "threads"
# environment = "published"
# services = []
# labels = { threads = "one per connection", debug = "False", access_log = "True" }
#
# [tool.iobound.like]
# none = { target = "flask/werkzeug", settings = { ACCESS_LOG = "1", KEEP_ALIVE = "0" } }
#
# [tool.iobound.workloads.plain]
# path = "/"
# answer = "Hello, World!"
# ///
import os

from flask import Flask

app = Flask(__name__)


@app.route("/")
def hello():
    return "Hello, World!"


if __name__ == "__main__":
    app.run(host=os.environ["HOST"], port=int(os.environ["PORT"]))
