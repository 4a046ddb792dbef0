"""The workers of a transfer are greenlets, each with a connection: threads, patched before anything else is imported."""

from gevent import monkey

monkey.patch_all()

from blocking import main

if __name__ == "__main__":
    main()
