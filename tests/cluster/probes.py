# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Asks a process on this computer whether it is ready, by TCP, by TLS or by its unix socket."""

import http.client
import socket
import ssl

TIMEOUT = 2


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the socket at a path."""

    def __init__(self, path, timeout=TIMEOUT):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def agent_is_ready(path):
    return _answers(UnixConnection(path), "/readyz")


def binder_is_ready(address):
    return _answers(http.client.HTTPConnection(address, timeout=TIMEOUT), "/readyz")


def scheduler_is_healthy(port, codes=(200,)):
    """kube-scheduler's health; it makes a certificate for itself, which nobody verifies here."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return _answers(http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT,
                                                context=context), "/healthz", codes)


def _answers(connection, path, codes=(200,)):
    try:
        connection.request("GET", path)
        return connection.getresponse().status in codes
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
