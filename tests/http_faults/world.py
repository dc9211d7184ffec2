# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A hamid scheduler before a simulated API server, and callers that send it raw bytes.

A caller here says each byte itself, because what is tested are requests that no library would
send.
"""

import os
import re
import select
import socket
import sys
import time

from parked import run

PATIENCE = 60
# A sanitizer's own memory is many times what hamid needs.
IS_SANITIZED = bool(os.environ.get("HAMI_SANITIZED"))
END = b"\r\n\r\n"


class World(run.World):
    """One node, held by nobody. FLAGS are hamid's further ones, FILES its limit of them."""

    def __init__(self, *flags, has_tls=False, files=None):
        super().__init__(run.read_arguments(["--parked=1", "--nodes=1"]), has_tls)
        self.flags = flags
        if files:
            self.command = ["prlimit", f"--nofile={files}:{files}"]
        self.pods = 0

    def __enter__(self):
        try:
            self.start_server()
            self.start_hamid("--v=2", *self.flags)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    @property
    def certificates(self):
        return self.folder / "certificates"

    def connect(self, metrics=False):
        """A plain socket, even to a port that speaks TLS."""
        host, _, port = (self.metrics if metrics else self.address).rpartition(":")
        return Raw(socket.create_connection((host, int(port)), PATIENCE))

    def secure(self, context=None, metrics=False):
        """The same with its handshake done."""
        raw = self.connect(metrics)
        return Raw((context or self.context).wrap_socket(
            raw.socket, server_hostname="127.0.0.1"))

    def open(self):
        return self.secure() if self.has_tls else self.connect()

    def new_pod(self):
        """Its name; it is unbound, and bound for node-0."""
        self.pods += 1
        client = self.client()
        self.create_pod(client, f"pod-{self.pods}", "node-0")
        client.close()
        return f"pod-{self.pods}"

    def bind_text(self, name):
        return self.request_text("node-0", name)

    def hold(self):
        """Binds a pod, whose lock nobody removes: who asks next is parked."""
        with self.open() as caller:
            caller.send(self.bind_text(self.new_pod()))
            status, body = caller.answer()
            if status != 200 or b'"Error":""' not in body.replace(b" ", b""):
                raise AssertionError(f"{status} {body}")

    def park(self, count=1):
        """Callers whose binds wait."""
        crowd = []
        for _ in range(count):
            caller = self.open()
            caller.send(self.bind_text(self.new_pod()))
            crowd.append(caller)
        self.until(lambda: self.gauge("hamid_lock_waiters") >= count)
        return crowd

    def metric(self, line):
        """The value of a metric with its labels."""
        found = re.search(rf"^{re.escape(line)} (\S+)$", self._get("/metrics")[1], re.MULTILINE)
        return float(found[1])

    def until(self, is_true, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > deadline:
                raise TimeoutError("it did not become true in time")
            if self.hamid.poll() is not None:
                raise AssertionError("hamid ended:\n" + self.group.last_words("hamid"))
            select.select([], [], [], 0.02)

    def log(self):
        return (self.folder / "hamid.log").read_text(encoding="utf-8", errors="replace")

    def is_fine(self):
        """Serves a bind as on the first day."""
        with self.open() as caller:
            caller.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return caller.answer()[0] == 200


class Raw:
    """A connection of which each byte is said."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(PATIENCE)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(65536)
        self.rest += data
        return data

    def answer(self):
        """Status and body of the next one."""
        while END not in self.rest:
            if not self._more():
                raise EOFError(f"closed after {self.rest!r}")
        head, _, self.rest = self.rest.partition(END)
        status = int(head.split()[1])
        found = re.search(rb"\r\ncontent-length: (\d+)", head.lower())
        length = int(found[1]) if found else 0
        while len(self.rest) < length:
            if not self._more():
                raise EOFError("closed in the middle of a body")
        body, self.rest = self.rest[:length], self.rest[length:]
        return status, body

    def is_closed(self):
        """Nothing more came before the end."""
        try:
            return not self.rest and not self._more()
        except ConnectionError:
            return True

    def is_silent(self):
        """No byte is there to be read, and no end."""
        return not self.rest and not select.select([self.socket], [], [], 0)[0]

    def close(self):
        self.socket.close()


def request(method, path, *lines, body=b"", host="localhost"):
    """A request with these header lines besides its Host."""
    text = "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines])
    return text.encode() + END + body
