# /// script
# requires-python = ">=3.11"
# dependencies = ["redis>=6"]
#
# [tool.iobound]
# kind = "store"
# title = "redis-py"
# service = "valkey"
# calls = "sync"
# knobs = ["CONNECT"]
# twin = "redis-py-async"
# ///
"""redis-py with its blocking pool: who finds no free connection waits for one."""

import os

import redis


class Store:
    def open(self):
        size = int(os.environ.get("POOL_SIZE", "10"))
        pool = redis.BlockingConnectionPool.from_url(os.environ["CACHE_URL"], max_connections=size, decode_responses=True)
        self.client = redis.Redis.from_pool(pool)

    def close(self):
        self.client.close()

    def get(self, key):
        if os.environ.get("CONNECT") == "each":
            return redis.Redis.from_url(os.environ["CACHE_URL"], decode_responses=True).get(key)
        return self.client.get(key)

    def ran(self):
        pool = self.client.connection_pool
        connection = pool.get_connection()
        try:
            parser = type(connection._parser).__name__
        finally:
            pool.release(connection)
        return {"driver": f"redis-py {redis.__version__}", "implementation": parser, "pool": str(pool.max_connections)}
