# /// script
# requires-python = ">=3.11"
# dependencies = ["pyuwsgi>=2"]
#
# [tool.iobound]
# kind = "server"
# title = "uWSGI"
# accepts = ["wsgi"]
# model = "threads"
# parser = "uwsgi"
# knobs = ["WORKERS", "THREADS"]
# ///
"""uWSGI, as the wheel `pyuwsgi` has it, behind its own HTTP router: the application in threads of every worker process."""

import os


def ran():
    import uwsgi  # only there in a worker

    return {
        "server": f"uWSGI {uwsgi.version.decode()}",
        "workers": str(uwsgi.numproc),
        "threads": str(uwsgi.opt.get("threads", b"1").decode()),
    }


if __name__ == "__main__":
    import pyuwsgi

    options = {
        "http": f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ['PORT']}",
        "module": "framework:app",
        "processes": os.environ.get("WORKERS", "1"),
        "threads": os.environ.get("THREADS", "10"),
        "http-keepalive": os.environ.get("KEEP_ALIVE", "75"),
    }
    flags = ["master", "enable-threads", "lazy-apps", "need-app", "die-on-term", "disable-logging", "http-auto-chunked"]
    pyuwsgi.run([*(f"--{flag}" for flag in flags), *(f"--{name}={value}" for name, value in options.items())])
