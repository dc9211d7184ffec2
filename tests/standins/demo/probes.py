# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Asks a process whether it is ready, by TCP or by its unix socket."""

import http.client
import socket


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over the socket at a path."""

    def __init__(self, path):
        super().__init__("localhost", timeout=2)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def agent_is_ready(path):
    return _is_ready(_UnixConnection(path))


def extender_is_ready(address):
    return _is_ready(http.client.HTTPConnection(address, timeout=2))


def _is_ready(connection):
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
