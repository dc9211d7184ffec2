# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Thousands of callers of an extender at a time, each a socket of its own, on one epoll.

Answers carry the moment at which the kernel got their last bytes: what a caller reads late was
not answered late.
"""

import select
import socket
import ssl
import struct
import time

SO_TIMESTAMPNS = 35  # and the type of the message that carries the stamp
_STAMP = struct.Struct("@qq")
OPENING_AT_ONCE = 500
PIECE = 65536


class Stuck(Exception):
    """The callers did not get on in time; the text says how far they came."""


class Caller:
    """One connection: opened, shaken hands with where there is TLS, asked, answered."""

    def __init__(self, address, context):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls = None
        if context is not None:
            self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = context.wrap_bio(self.incoming, self.outgoing,
                                        server_hostname=address[0])
        self.is_connected = False
        self.is_open = False  # shaken hands, where there is TLS
        self.text = b""
        self.moment = 0
        self.error = None
        self.socket.connect_ex(address)

    def _flush(self):
        """What is sent here is small and gets answers: a full socket does not happen."""
        while self.outgoing.pending:
            self.socket.sendall(self.outgoing.read())

    def _shake(self):
        try:
            self.tls.do_handshake()
            self.is_open = True
        except ssl.SSLWantReadError:
            pass
        self._flush()

    def connected(self):
        number = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number != 0:
            raise Stuck(f"a connection was refused: error {number}")
        self.is_connected = True
        if self.tls is None:
            self.is_open = True
        else:
            self._shake()

    def send(self, data):
        if self.tls is None:
            self.socket.sendall(data)
        else:
            self.tls.write(data)
            self._flush()

    def _receive(self):
        data, extra, _, _ = self.socket.recvmsg(PIECE, 256)
        for level, kind, value in extra:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = _STAMP.unpack(value)
                self.moment = seconds * 1000000000 + nanoseconds
        return data

    def _opened(self, data):
        """What TLS makes of bytes that came."""
        if data:
            self.incoming.write(data)
        else:
            self.incoming.write_eof()
        if not self.is_open:
            self._shake()
        text = b""
        try:
            while self.is_open:
                more = self.tls.read(PIECE)
                if not more:
                    break
                text += more
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
            pass
        return text

    def readable(self):
        """True when the answer is whole, or can't come any more."""
        try:
            data = self._receive()
            self.text += data if self.tls is None else self._opened(data)
        except BlockingIOError:
            return False
        except OSError as error:
            self.error = str(error)
            return True
        if not data:
            self.error = "the connection was closed without an answer"
            return True
        head, gap, body = self.text.partition(b"\r\n\r\n")
        if not gap:
            return False
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                return len(body) >= int(line.partition(b":")[2])
        return False

    def status_and_body(self):
        head, _, body = self.text.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), body

    def close(self):
        self.socket.close()


class Callers:
    """As many as are asked for, all to one address."""

    def __init__(self, address, context=None):
        host, _, port = address.rpartition(":")
        self.address = (host, int(port))
        self.context = context
        self.callers = []
        self.poll = select.epoll()
        self.by_fd = {}

    def open(self, count, seconds):
        """All are open at once when this returns."""
        deadline = time.monotonic() + seconds
        missing = set()
        while len(self.callers) < count or missing:
            while len(self.callers) < count and len(missing) < OPENING_AT_ONCE:
                missing.add(self._add())
            for fd, _ in self._events(deadline, f"{len(self.callers)} connections opened"):
                caller = self.by_fd[fd]
                self._advance(caller)
                if caller.is_open:
                    missing.discard(caller)

    def _add(self):
        caller = Caller(self.address, self.context)
        self.callers.append(caller)
        self.by_fd[caller.socket.fileno()] = caller
        self.poll.register(caller.socket, select.EPOLLOUT)
        return caller

    def _advance(self, caller):
        if not caller.is_connected:
            self.poll.modify(caller.socket, select.EPOLLIN)
            caller.connected()
        elif caller.readable():
            raise Stuck(f"a connection ended before anything was asked on it: {caller.error}")

    def _events(self, deadline, how_far):
        events = self.poll.poll(max(0.0, deadline - time.monotonic()))
        if not events:
            raise Stuck(f"no progress in time: {how_far}")
        return events

    def send(self, texts):
        """One after another, each wholly before the next: the order is known."""
        for caller, text in zip(self.callers, texts):
            caller.send(text)

    def expect_silence(self):
        """Nobody has an answer yet."""
        for fd, _ in self.poll.poll(0):
            caller = self.by_fd[fd]
            if caller.readable():
                raise Stuck("a caller was answered before all were parked: "
                            f"{caller.error or caller.status_and_body()}")

    def answers(self, seconds):
        """[(moment, index, status, body)], status 0 where none came."""
        deadline = time.monotonic() + seconds
        places = {caller: index for index, caller in enumerate(self.callers)}
        ended = []
        while places:
            for fd, _ in self._events(deadline, f"{len(ended)} answers came"):
                caller = self.by_fd[fd]
                if caller in places and caller.readable():
                    self.poll.unregister(caller.socket)
                    status, body = (0, caller.error.encode()) if caller.error else \
                        caller.status_and_body()
                    ended.append((caller.moment, places.pop(caller), status, body))
        return ended

    def close(self):
        for caller in self.callers:
            caller.close()
        self.poll.close()
