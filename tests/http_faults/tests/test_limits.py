# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Clients that misbehave on the extender's port, and what they cost a real hamid."""

import contextlib
import http.server
import json
import pathlib
import random
import socket
import struct
import threading
import unittest

from http_faults import world
from parked import sockets

JSON = "Content-Type: application/json"


class Case(unittest.TestCase):
    """One hamid for all tests of a class."""

    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.world = world.World(*cls.flags)
        cls.world.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.world.__exit__(None, None, None)

    def ask(self, text):
        """Status of a request that is refused, and whether the connection was closed."""
        with self.world.connect() as caller:
            caller.send(text)
            status, _ = caller.answer()
            return status, caller.is_closed()

    def refused(self, text, status):
        self.assertEqual(self.ask(text), (status, True), text[:200])
        self.assertTrue(self.world.is_fine())


class SmugglingTest(Case):
    """Requests that two readers could read in two ways."""

    def test_two_content_lengths_that_differ_are_refused(self):
        self.refused(world.request("POST", "/bind", JSON, "Content-Length: 2",
                                   "Content-Length: 40", body=b"{}"), 400)

    def test_a_list_of_content_lengths_is_refused(self):
        self.refused(world.request("POST", "/bind", JSON, "Content-Length: 2, 2",
                                   body=b"{}"), 400)

    def test_a_length_with_a_sign_or_in_hex_is_refused(self):
        for length in ("+2", "-2", "0x2", "2 2", "", "99999999999999999999"):
            self.refused(world.request("POST", "/bind", JSON, f"Content-Length: {length}",
                                       body=b"{}"), 400)

    def test_length_and_chunks_together_are_refused(self):
        for lines in (["Content-Length: 2", "Transfer-Encoding: chunked"],
                      ["Transfer-Encoding: chunked", "Content-Length: 2"]):
            self.refused(world.request("POST", "/bind", JSON, *lines,
                                       body=b"2\r\n{}\r\n0\r\n\r\n"), 400)

    def test_a_coding_that_is_not_exactly_chunked_is_refused(self):
        for coding in ("xchunked", "gzip, chunked", "chunked, identity", "identity"):
            self.refused(world.request("POST", "/bind", JSON, f"Transfer-Encoding: {coding}",
                                       body=b"2\r\n{}\r\n0\r\n\r\n"), 501)

    def test_two_codings_are_refused(self):
        self.refused(world.request("POST", "/bind", JSON, "Transfer-Encoding: chunked",
                                   "Transfer-Encoding: chunked",
                                   body=b"2\r\n{}\r\n0\r\n\r\n"), 501)

    def test_a_blank_before_a_colon_is_refused(self):
        self.refused(world.request("POST", "/bind", JSON, "Content-Length : 2", body=b"{}"), 400)

    def test_a_folded_header_is_refused(self):
        self.refused(world.request("POST", "/bind", JSON, "X-Any: a\r\n b", "Content-Length: 2",
                                   body=b"{}"), 400)

    def test_a_bare_line_feed_is_refused(self):
        self.refused(b"POST /bind HTTP/1.1\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 400)

    def test_a_chunk_size_that_is_none_is_refused(self):
        for size in (b"-1", b"0x2", b"2 ", b"fffffffffffffffff", b""):
            self.refused(world.request("POST", "/bind", JSON, "Transfer-Encoding: chunked",
                                       body=size + b"\r\n{}\r\n0\r\n\r\n"), 400)

    def test_a_chunk_without_its_end_is_refused(self):
        self.refused(world.request("POST", "/bind", JSON, "Transfer-Encoding: chunked",
                                   body=b"2\r\n{}XX0\r\n\r\n"), 400)

    def test_a_second_host_is_refused(self):
        self.refused(world.request("GET", "/livez", "Host: localhost"), 400)


class RequestTest(Case):
    """Heads and bodies that are not what the port is for."""

    def test_another_host_is_refused(self):
        self.refused(world.request("GET", "/livez", host="evil.example"), 421)

    def test_no_host_is_refused(self):
        self.refused(b"GET /livez HTTP/1.1\r\n\r\n", 421)

    def test_another_content_type_is_refused(self):
        for line in ("Content-Type: text/plain", "X-Type: none",
                     "Content-Type: application/x-www-form-urlencoded"):
            self.refused(world.request("POST", "/bind", line, "Content-Length: 2", body=b"{}"),
                         415)

    def test_a_head_that_is_too_large_is_refused(self):
        self.refused(world.request("GET", "/livez", "X-Large: " + "a" * 20000), 431)

    def test_a_head_that_never_ends_is_refused_before_it_costs_more(self):
        with self.world.connect() as caller:
            try:
                for _ in range(1000):
                    caller.send(b"X-More: " + b"a" * 1000 + b"\r\n")
            except OSError:
                pass
            self.assertLess(sockets.memory_mb(self.world.hamid.pid), MEMORY_MB)
        self.assertTrue(self.world.is_fine())

    def test_too_many_headers_are_refused(self):
        self.refused(world.request("GET", "/livez", *[f"X-{i}: a" for i in range(100)]), 431)

    def test_a_body_that_is_too_large_is_told_in_the_extenders_form(self):
        """kube-scheduler reads an answer's Error, and would show a status alone."""
        with self.world.connect() as caller:
            caller.send(world.request("POST", "/bind", JSON, "Content-Length: 70000"))
            status, body = caller.answer()
        self.assertEqual(status, 200)
        self.assertIn("longer than 65536 bytes", json.loads(body)["Error"])

    def test_a_body_in_chunks_that_is_too_large_is_stopped(self):
        with self.world.connect() as caller:
            caller.send(world.request("POST", "/bind", JSON, "Transfer-Encoding: chunked"))
            caller.send(b"10000\r\n" + b"a" * 0x10000 + b"\r\n10000\r\n")
            _, body = caller.answer()
        self.assertIn("longer than 65536 bytes", json.loads(body)["Error"])

    def test_a_json_that_is_deep_or_broken_is_an_error_of_the_bind(self):
        for body in (b"[" * 30000, b"{", b"null", b"[]", b'{"PodName":{}}', b"\xff\xfe"):
            with self.world.connect() as caller:
                caller.send(world.request("POST", "/bind", JSON,
                                          f"Content-Length: {len(body)}", body=body))
                status, answer = caller.answer()
            self.assertEqual(status, 200)
            self.assertNotEqual(json.loads(answer)["Error"], "")

    def test_http_2_and_noise_are_refused(self):
        for text, status in ((b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
                             (b"GET / HTTP/2.0\r\n\r\n", 505), (b"\x16\x03\x01\r\n\r\n", 400)):
            self.refused(text, status)


class PipelineTest(Case):
    """More than one request at a time on a connection."""

    def test_what_follows_a_parked_bind_is_thrown_away(self):
        self.world.hold()
        with self.world.connect() as caller:
            caller.send(self.world.bind_text(self.world.new_pod())
                        + world.request("GET", "/livez") * 100)
            self.world.until(lambda: self.world.gauge("hamid_lock_waiters") == 1)
            caller.send(b"x" * 300000)
            self.assertTrue(self.world.is_fine())
            self.assertEqual(self.world.gauge("hamid_lock_waiters"), 1)
        self.world.until(lambda: self.world.gauge("hamid_lock_waiters") == 0)
        self.assertLess(sockets.memory_mb(self.world.hamid.pid), MEMORY_MB)


class GoneTest(Case):
    """Clients that leave a parked bind, each in its own way."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world.hold()

    def gone(self, leave):
        caller = self.world.park()[0]
        leave(caller)
        self.world.until(lambda: self.world.gauge("hamid_lock_waiters") == 0)
        caller.close()

    def test_one_that_closes_takes_its_bind_along(self):
        self.gone(lambda caller: caller.close())

    def test_one_that_ends_its_half_takes_its_bind_along(self):
        self.gone(lambda caller: caller.socket.shutdown(socket.SHUT_WR))

    def test_one_that_resets_takes_its_bind_along(self):
        def reset(caller):
            caller.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                     struct.pack("ii", 1, 0))
            caller.close()
        self.gone(reset)


class VanishedTest(Case):
    """A client whose computer went without a word."""

    REPAIR = 19  # of TCP: a socket that is closed in this mode sends nothing

    def test_it_takes_its_bind_along_within_a_minute(self):
        self.world.hold()
        caller = self.world.park()[0]
        port = caller.socket.getsockname()[1]
        self.world.until(lambda: self.is_probed(port))
        try:
            caller.socket.setsockopt(socket.IPPROTO_TCP, self.REPAIR, 1)
        except PermissionError:
            self.skipTest("only root can vanish without a word")
        caller.close()
        self.world.until(lambda: self.world.gauge("hamid_lock_waiters") == 0)

    def is_probed(self, port):
        """Does the kernel ask now and then whether the other end of hamid's socket is there?

        The same port may be the other end of an ended connection to another program.
        """
        own = self.world.address.rpartition(":")[2]
        ends = (int(own), port)
        for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            if tuple(int(end.rpartition(":")[2], 16) for end in words[1:3]) == ends:
                return words[5].startswith("02:")
        return False


class DrainTest(unittest.TestCase):
    """hamid is told to end while callers wait."""

    def test_each_parked_caller_gets_an_answer(self):
        for has_tls in (False, True):
            with world.World(has_tls=has_tls) as running:
                running.hold()
                parked = running.park(5)
                running.hamid.terminate()
                for caller in parked:
                    status, body = caller.answer()
                    self.assertEqual(status, 200)
                    self.assertIn("shutting down", json.loads(body)["Error"])
                    self.assertTrue(caller.is_closed())
                    caller.close()
                self.assertEqual(running.hamid.wait(world.PATIENCE), 0)


class LargeTest(unittest.TestCase):
    """Requests and answers of many megabytes, passed on to an extender behind."""

    MEBIBYTE = 1 << 20

    def setUp(self):
        class Echo(http.server.BaseHTTPRequestHandler):
            """Answers what it was sent."""

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.flag = f"--filter-url=http://127.0.0.1:{server.server_address[1]}"

    def test_they_come_back_whole_to_a_reader_that_is_slow(self):
        body = bytes(random.Random(3).randbytes(8 * self.MEBIBYTE))
        for has_tls in (False, True):
            with world.World(self.flag, has_tls=has_tls) as running, running.open() as caller:
                caller.send(world.request("POST", "/filter", JSON,
                                          f"Content-Length: {len(body)}", body=body))
                # The answer fills the sockets before a byte of it is read.
                running.until(lambda: running.metric(
                    'hamid_passed_requests_total{outcome="answered"}') == 1)
                self.assertEqual(caller.answer(), (200, body))
                caller.send(world.request("GET", "/livez"))
                self.assertEqual(caller.answer()[0], 200)

    def test_what_all_hold_together_is_bounded_and_binds_go_on(self):
        with world.World(self.flag) as running, contextlib.ExitStack() as stack:
            part = b" " * self.MEBIBYTE
            crowd = [stack.enter_context(running.connect()) for _ in range(6)]
            refused = 0
            for caller in crowd:
                caller.send(world.request("POST", "/filter", JSON,
                                          f"Content-Length: {64 * self.MEBIBYTE}"))
                try:
                    for _ in range(60):
                        caller.send(part)
                except OSError:
                    pass
            for caller in crowd:
                if not caller.is_silent():
                    self.assertEqual(caller.answer()[0], 503)
                    refused += 1
            self.assertGreaterEqual(refused, 1)
            self.assertLess(sockets.memory_mb(running.hamid.pid), MEMORY_MB + 300)
            with running.connect() as caller:
                caller.send(running.bind_text(running.new_pod()))
                self.assertEqual(caller.answer()[0], 200)


class SlowTest(unittest.TestCase):
    """Clients that take their time."""

    def test_thousands_of_requests_sent_byte_by_byte_stop_nobody_and_end(self):
        sockets.raise_file_limit(3000)
        beginnings = [b"POST /bind HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
                      world.request("POST", "/bind", JSON, "Content-Length: 500", body=b"{"),
                      world.request("POST", "/bind", JSON, "Transfer-Encoding: chunked",
                                    body=b"4\r\n{")]
        with world.World() as running:
            slow = [running.connect() for _ in range(2001)]
            for number, caller in enumerate(slow):
                caller.send(beginnings[number % 3])
            with running.connect() as caller:
                caller.send(running.bind_text(running.new_pod()))
                self.assertEqual(caller.answer()[0], 200)
            self.assertLess(sockets.memory_mb(running.hamid.pid), MEMORY_MB)
            for caller in slow:
                caller.send(b" ")
            # Each gets its 10 s, however often a byte comes.
            for caller in slow:
                self.assertEqual(caller.answer()[0], 408)
                caller.close()


class CrowdTest(unittest.TestCase):
    """More connections than there is room for: 712 are left of 1224 files."""

    def test_silent_connections_make_room_and_no_bind_is_refused(self):
        with world.World(files=1224) as running:
            silent = [running.connect() for _ in range(700)]
            running.hold()
            parked = running.park(100)
            for caller in parked:
                self.assertTrue(caller.is_silent())
            self.assertGreater(running.metric(
                'hamid_http_connections_evicted_total{listener="extender"}'), 50)
            self.assertIn("silent longest", running.log())
            for caller in silent + parked:
                caller.close()

    def test_while_all_connections_are_parked_the_next_caller_waits_and_is_served(self):
        with world.World(files=1224) as running:
            running.hold()
            parked = running.park(712)
            with running.connect() as late:
                late.send(world.request("GET", "/livez"))
                running.until(lambda: running.metric(
                    'hamid_http_accept_pauses_total{listener="extender"}') > 0)
                self.assertTrue(late.is_silent())
                parked.pop().close()
                self.assertEqual(late.answer()[0], 200)
            self.assertIn("All connections are in use", running.log())
            for caller in parked:
                caller.close()


# Of a hamid with a handful of connections; a sanitizer's own is many times that.
MEMORY_MB = 4000 if world.IS_SANITIZED else 60


if __name__ == "__main__":
    unittest.main()
