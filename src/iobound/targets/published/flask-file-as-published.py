# /// script
# requires-python = ">=3.8"
# dependencies = ["flask"]
#
# [tool.iobound]
# kind = "published"
# title = "Flask on its development server, open()"
# comparison = "sync-async-file"
# model = "threads"
# environment = "published"
# services = []
# labels = { threads = "one per connection", debug = "False", access_log = "True" }
#
# [tool.iobound.like]
# none = { target = "flask/werkzeug", settings = { ACCESS_LOG = "1", KEEP_ALIVE = "0" } }
#
# [tool.iobound.workloads.file]
# path = "/"
# answer = "$file"
# ///
import os

from flask import Flask

app = Flask(__name__)


@app.route("/")
def read_file():
    with open(os.environ["FILE_PATH"]) as file:
        return file.read()


if __name__ == "__main__":
    app.run(host=os.environ["HOST"], port=int(os.environ["PORT"]))
