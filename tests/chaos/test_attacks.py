# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamid scheduler under fire on its own port, while a burst goes through it."""

import json
import socket
import threading
import unittest

from chaos import world

BIND = {"PodName": "burst-0001", "PodNamespace": "default", "PodUID": "u", "Node": "gpu-0"}
HOST = b"Host: 127.0.0.1\r\nConnection: close\r\n"
JSON = b"Content-Type: application/json\r\n"


def post(body, path=b"/bind", headers=HOST + JSON):
    """The bytes of one request."""
    length = b"Content-Length: %d\r\n" % len(body)
    return b"POST " + path + b" HTTP/1.1\r\n" + headers + length + b"\r\n" + body


def bind(**other):
    return post(json.dumps({**BIND, **other}).encode())


# Each must be refused, by an answer or by the end of the connection.
BAD = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(20000),
    bytes(range(256)) * 80,
    b"GET /livez HTTP/9.9\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST /bind HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
    b"POST /bind HTTP/1.1\r\n" + HOST + JSON + b"Content-Length: 99999999999999\r\n\r\n",
    b"POST /bind HTTP/1.1\r\n" + HOST + JSON + b"Content-Length: -1\r\n\r\n",
    b"POST /bind HTTP/1.1\r\n" + HOST + JSON
    + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    b"POST /bind HTTP/1.1\r\n" + HOST + JSON
    + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    post(b"{}", headers=JSON + b"Host: evil.example\r\nConnection: close\r\n"),
    post(b"{}", headers=JSON),
    post(json.dumps(BIND).encode(), headers=HOST + b"Content-Type: text/plain\r\n"),
    post(b"[" * 60000),
    post(b"{\"a\":" * 10000 + b"1" + b"}" * 10000),
    post(b"\xff\xfe" * 100),
    post(b"x" * 70000),
    bind(PodUID="another"),
    bind(PodName="nobody"),
    bind(PodName="../../nodes/gpu-0"),
    bind(PodName="a" * 254),
    bind(PodNamespace="Default/x"),
    bind(Node="no-such-node"),
    bind(Node="gpu-0\r\nX: y"),
    bind(PodUID=None),
    bind(PodUID="u" * 129),
)


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), world.CALL_SECONDS)


def refusal(address, request):
    """Status and body of the answer; (None, "") where the connection was ended instead."""
    answer = b""
    with connect(address) as stream:
        try:
            stream.sendall(request)
            while True:
                more = stream.recv(65536)
                if not more:
                    break
                answer += more
        except ConnectionError:
            pass
    head, _, body = answer.partition(b"\r\n\r\n")
    return (int(head.split()[1]) if head else None), body.decode(errors="replace")


class Attacks(unittest.TestCase):
    """Whatever comes in, the daemon goes on and no lock is touched for it."""

    def attack(self, address, seen):
        """Everything bad once, then again with each request cut off in its middle."""
        try:
            for request in BAD:
                seen.append((request, *refusal(address, request)))
            for request in BAD:
                with connect(address) as stream:
                    stream.sendall(request[:len(request) // 2])
        except OSError as error:
            seen.append((repr(error).encode(), 200, ""))

    def test_bad_requests_are_refused_and_hold_nobody_up(self):
        threads = []
        seen = []

        def start(_line):
            if not threads:
                threads.extend(threading.Thread(
                    target=self.attack, args=(burst.replicas[0].address, seen))
                    for _ in range(4))
                for thread in threads:
                    thread.start()

        with world.World("--pods", "40", on_progress=start) as burst:
            report = burst.run_until_all(threads)
            values = world.figures.figures(report)
        self.assertEqual((values["allocated"], values["failed_binds"]), (40, 0), values)
        self.assertEqual({name: values[name] for name in world.ZERO},
                         dict.fromkeys(world.ZERO, 0), values)
        owners = {step.owner for history in report.histories.values()
                  for step in history.steps if step.owner}
        self.assertEqual(len(owners), 40)
        self.assertEqual(len(seen), 4 * len(BAD))
        for request, status, body in seen:
            with self.subTest(request[:60]):
                is_refused = status != 200 or json.loads(body)["Error"]
                self.assertTrue(is_refused, (status, body))

    def test_hundreds_of_half_sent_requests_hold_nobody_up(self):
        streams = []

        def start(_line):
            while len(streams) < 500:
                stream = connect(burst.replicas[0].address)
                stream.sendall(bind()[:20 + len(streams) % 80])
                streams.append(stream)

        with world.World("--pods", "20", on_progress=start) as burst:
            values = burst.figures()
        for stream in streams:
            stream.close()
        self.assertEqual((values["allocated"], values["failed_binds"]), (20, 0), values)


if __name__ == "__main__":
    unittest.main()
