# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""standin-proxy between a client and servers made here."""

import json
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from tests import peers


class Echo:
    """A server that answers each read with the same bytes in capitals, and remembers it."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.news = threading.Condition()
        self.got = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one):
        with one:
            while True:
                try:
                    data = one.recv(1 << 16)
                except OSError as error:
                    self._note(error)
                    return
                self._note(data)
                if not data:
                    return
                try:
                    one.sendall(data.upper())
                except OSError as error:
                    self._note(error)
                    return

    def _note(self, what):
        with self.news:
            self.got.append(what)
            self.news.notify_all()

    def wait(self, is_true):
        with self.news:
            return self.news.wait_for(lambda: is_true(self.got), peers.PATIENCE)


class ProxyTest(unittest.TestCase):
    """One proxy and one server a test."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="hami-proxy-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.server = Echo()
        self.addCleanup(self.server.listener.close)
        self.start_proxy(self.server.port)

    def start_proxy(self, target):
        """From now on the test speaks to a proxy in front of that port."""
        self.control = self.folder / f"control-{target}"
        address = self.folder / f"address-{target}"
        child = subprocess.Popen([
            peers.BUILD / "tests/standins/standin-proxy", f"--control={self.control}",
            f"--target=127.0.0.1:{target}", f"--address-file={address}"])
        self.addCleanup(self._end, child)
        peers.wait_for(address.exists)
        self.port = int(address.read_text(encoding="ascii").split(":")[1])

    def _end(self, child):
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(peers.PATIENCE), 0)

    def tell(self, line):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(peers.PATIENCE)
            one.connect(str(self.control))
            one.sendall(line.encode() + b"\n")
            return one.makefile().readline().strip()

    def connect(self):
        one = socket.create_connection(("127.0.0.1", self.port), peers.PATIENCE)
        self.addCleanup(one.close)
        return one

    def ask(self, one, data):
        """What comes back, None if the connection ended instead."""
        try:
            one.sendall(data)
            return one.recv(1 << 16) or None
        except ConnectionError:
            return None

    def ask_anew(self, data):
        """The same on a new connection, which may have ended before connect() returns."""
        try:
            one = self.connect()
        except ConnectionError:
            return None
        return self.ask(one, data)

    def test_bytes_pass_untouched_both_ways_and_ends_are_told(self):
        one = self.connect()
        sent = bytes(range(256)) * 4096
        got = bytearray()
        writer = threading.Thread(target=lambda: (one.sendall(sent),
                                                  one.shutdown(socket.SHUT_WR)))
        writer.start()
        while True:
            more = one.recv(1 << 16)
            if not more:
                break
            got += more
        writer.join(peers.PATIENCE)
        self.assertEqual(bytes(got), sent.upper())
        self.assertEqual(b"".join(self.server.got), sent)
        status = json.loads(self.tell("status"))
        self.assertEqual(status["connections"], 1)
        self.assertEqual(status["requests_bytes"], len(sent))
        self.assertEqual(status["answers_bytes"], len(sent))

    def test_cut_after_forwarding_the_server_has_the_request_and_the_client_no_answer(self):
        self.assertEqual(self.tell("cut after bytes 10 times 1"), "ok")
        one = self.connect()
        self.assertEqual(self.ask(one, b"short"), b"SHORT")
        self.assertIsNone(self.ask(one, b"fills it"))
        self.assertTrue(self.server.wait(lambda got: b"fills it" in got))
        self.assertEqual(self.ask(self.connect(), b"another one"), b"ANOTHER ONE")
        self.assertEqual(json.loads(self.tell("status"))["cuts_after"], 1)

    def test_cut_before_forwarding_the_server_never_sees_the_request(self):
        self.assertEqual(self.tell("cut before bytes 10 times 1"), "ok")
        one = self.connect()
        self.assertEqual(self.ask(one, b"short"), b"SHORT")
        self.assertIsNone(self.ask(one, b"fills it"))
        self.assertTrue(self.server.wait(lambda got: isinstance(got[-1], OSError)))
        self.assertNotIn(b"fills it", self.server.got)

    def test_each_second_connection_is_cut_at_its_offset(self):
        self.assertEqual(self.tell("cut before connections 2 offset 3"), "ok")
        first, second = self.connect(), self.connect()
        self.assertEqual(self.ask(first, b"one"), b"ONE")
        self.assertEqual(self.ask(second, b"two"), b"TWO")
        self.assertEqual(self.ask(first, b"one"), b"ONE")
        self.assertIsNone(self.ask(second, b"two"))

    def test_a_stall_holds_bytes_until_resumed_and_keeps_their_order(self):
        one = self.connect()
        self.assertEqual(self.ask(one, b"a"), b"A")
        self.assertEqual(self.tell("stall requests 0"), "ok")
        for word in (b"b", b"c", b"d"):
            one.sendall(word)
        peers.wait_for(lambda: json.loads(self.tell("status"))["requests_bytes"] == 4)
        self.assertEqual(self.server.got, [b"a"])
        self.assertEqual(self.tell("resume"), "ok")
        got = b""
        while len(got) < 3:
            got += one.recv(16)
        self.assertEqual(got, b"BCD")

    def test_a_delay_and_a_stall_of_a_given_time_end_by_themselves(self):
        for command in ("delay answers 80", "stall both 80"):
            self.assertEqual(self.tell(command), "ok")
            begin = time.monotonic()
            self.assertEqual(self.ask(self.connect(), b"slow"), b"SLOW")
            self.assertGreaterEqual(time.monotonic() - begin, 0.07, command)
            self.assertEqual(self.tell("clear"), "ok")

    def test_a_server_that_is_not_there_ends_the_connection_and_not_the_proxy(self):
        # A port that is taken, so that nobody else comes to listen there, and refuses.
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            self.start_proxy(nobody.getsockname()[1])
            self.assertIsNone(self.ask_anew(b"hello"))
        self.assertTrue(self.tell("status").startswith("{"))

    def test_a_command_that_makes_no_sense_is_answered_with_the_reason(self):
        self.assertEqual(self.tell("cut during bytes 3"), "error cut before or after?")


if __name__ == "__main__":
    unittest.main()
