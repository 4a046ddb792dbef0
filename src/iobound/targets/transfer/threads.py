"""The workers of a transfer are threads, each with a connection."""

from blocking import main

if __name__ == "__main__":
    main()
