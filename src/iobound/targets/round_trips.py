"""Counts the round trips that a driver makes, by what the kernel knows of its socket. Standard library only, Python 2.7 on.

Each request and each answer is at least one segment with data, so that the fewer of those sent and those received bound the
round trips from above, exactly so where either side sends in one piece. A client that sends on without waiting (a pipeline)
makes fewer than it counts.
"""

import socket
import struct

TCP_INFO = 11  # linux/tcp.h
RECEIVED_AND_SENT = 152  # the offset of tcpi_data_segs_in and tcpi_data_segs_out in struct tcp_info, from Linux 4.6 on
BYTES = 160


def count(fileno):
    """Return the round trips over a socket so far; None without one, for one that isn't TCP, or where the kernel doesn't count.

    The difference of two counts is what was made between them.
    """
    if fileno is None:
        return None
    copy = socket.fromfd(fileno, socket.AF_INET, socket.SOCK_STREAM)
    try:
        info = copy.getsockopt(socket.IPPROTO_TCP, TCP_INFO, BYTES)
    except socket.error:  # noqa: UP024 (of its own in Python 2)
        return None
    finally:
        copy.close()
    if len(info) < BYTES:
        return None
    return min(struct.unpack_from("=II", info, RECEIVED_AND_SENT))
