# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.iobound]
# kind = "store"
# title = "no store"
# service = "none"
# calls = "sync"
# twin = "none-async"
# ///
"""Nothing to store in: for targets that answer from memory or from a file."""


class Store:
    def open(self):
        pass

    def close(self):
        pass

    def ran(self):
        return {}
