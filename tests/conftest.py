"""A shell's background job ignores Ctrl-C, and what it starts inherits that; tests that send it must not."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
