# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""offline.py COMMAND...: runs it where there is no network but the loopback.

To be run in a namespace of its own (unshare --net); refuses to run anywhere else.
"""

import fcntl
import os
import socket
import struct
import sys

SIOCSIFFLAGS = 0x8914
IFF_UP = 1
# An address of documentation, which nobody has.
ELSEWHERE = ("192.0.2.1", 9)


def main():
    names = [name for _, name in socket.if_nameindex()]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(ELSEWHERE)
            sys.exit("offline.py: there is a way out of here")
        except OSError:
            pass
        if "lo" in names:
            fcntl.ioctl(asking, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    os.execvp(sys.argv[1], sys.argv[1:])


main()
