# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.iobound]
# kind = "store"
# title = "no store"
# service = "none"
# calls = "async"
# twin = "none"
# ///
"""Nothing to store in: for targets that answer from memory or from a file."""


class Store:
    async def open(self):
        pass

    async def close(self):
        pass

    async def ran(self):
        return {}
