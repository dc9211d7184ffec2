# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The log: klog's forms, and one trace id from a bind's request to its lock's release."""

import json
import re
import time
import unittest

from observability import worlds
from observability.worlds import peers

HEADER = re.compile(r"([IWE])(\d{4}) (\d\d:\d\d:\d\d\.\d{6}) +(\d+) ([\w.-]+(?::\d+)?)\] (\".*)")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
STEPS = ["Was asked for a bind", "Waits for the node's lock", "The node's lock was taken",
         "Got the node's lock and posts the Binding",
         "Left the node's lock to the node side", "Bound the pod", "The node's lock was released"]
MASK = (1 << 64) - 1


def trace_of(uid, node):
    """What daemon/trace.c makes of the two: any process can."""
    found = 14695981039346656037
    for octet in uid.encode() + b"\0" + node.encode() + b"\0":
        found = (found ^ octet) * 1099511628211 & MASK
    found = (found ^ found >> 31) * 0x9e3779b97f4a7c15 & MASK
    return f"{found ^ found >> 29:016x}"


def from_text(line):
    severity, _, _, _, place, rest = HEADER.fullmatch(line).groups()
    message = TEXT.match(rest)
    return {"severity": severity, "caller": place, "msg": message[1],
            **dict(PAIR.findall(rest[message.end():]))}


def read(world, parse):
    return [parse(line) for line in world.log.read_text(encoding="utf-8").splitlines()]


class Scheduler(unittest.TestCase):
    """hamid scheduler at -v=3."""

    def burst(self, form):
        world = self.enterContext(worlds.Scheduler("-v=3", f"--logging-format={form}"))
        for name in "ab":
            world.bind_and_wait(name)
        world.until_answered("a")
        world.release()
        world.until_answered("b")
        world.release()
        return world

    def expect_way(self, world, parse):
        """All lines about a pod have one trace id, and the steps stand in their order."""
        peers.wait_for(lambda: sum(line["msg"] == STEPS[-1] for line in read(world, parse)) == 2)
        lines = read(world, parse)
        traces = set()
        for name in "ab":
            mine = [line for line in lines if line.get("pod") == f"default/{name}"]
            uid = next(line["uid"] for line in mine if "uid" in line)
            self.assertEqual({line["trace"] for line in mine}, {trace_of(uid, "gpu-0")})
            self.assertEqual([line["msg"] for line in mine if line["msg"] in STEPS[:2]], STEPS[:2])
            self.assertEqual(sorted(line["msg"] for line in mine), sorted(STEPS))
            self.assertEqual(mine[-1]["msg"], STEPS[-1])
            self.assertGreaterEqual(int(mine[-1]["milliseconds"]), 0)
            traces.add(mine[0]["trace"])
        self.assertEqual(len(traces), 2)

    def test_that_text_is_klogs_and_a_bind_can_be_followed(self):
        self.expect_way(self.burst("text"), from_text)

    def test_that_json_is_klogs_and_a_bind_can_be_followed(self):
        begin = time.time() * 1000
        world = self.burst("json")
        self.expect_way(world, json.loads)
        for line in read(world, json.loads):
            self.assertLessEqual({"ts", "caller", "v", "msg", "severity"}, set(line))
            self.assertTrue(begin - 1000 < line["ts"] < time.time() * 1000 + 1000, line)
            self.assertTrue(re.fullmatch(r"[A-Z].*[^.]", line["msg"]), line)

    def test_that_little_is_logged_by_default(self):
        world = self.enterContext(worlds.Scheduler())
        world.bind("a")
        world.until_answered("a")
        world.release()
        peers.wait_for(lambda: world.value("hamid_lock_hold_seconds_count") == 1)
        found = [line for line in read(world, from_text) if line.get("pod") == "default/a"]
        self.assertEqual([line["msg"] for line in found], ["Bound the pod"])
        self.assertRegex(found[0]["trace"], "^[0-9a-f]{16}$")

    def test_that_no_secret_is_logged(self):
        world = self.enterContext(worlds.Scheduler("-v=5"))
        world.bind("a")
        world.until_answered("a")
        text = world.log.read_text(encoding="utf-8")
        self.assertNotIn("Bearer", text)
        self.assertNotIn("PRIVATE KEY", text)
        self.assertNotRegex(text, rf"\b{re.escape(world.server.token)}\b.*Authorization")


class Node(unittest.TestCase):
    """hamid node: the other end of the way."""

    def test_that_the_nodes_side_has_the_same_trace(self):
        world = self.enterContext(worlds.Node("-v=3"))
        world.add_pod("a")
        found = world.server.request("GET", "/api/v1/namespaces/default/pods/a")[1]
        answer = json.loads(world.ask("POST", "/v1/allocations", worlds.agents.question())[2])
        status = world.ask("POST", f"/v1/allocations/{answer['allocation']}/done", "{}")[0]
        self.assertEqual(status, 204)
        lines = [line for line in read(world, from_text) if line.get("pod") == "default/a"]
        self.assertEqual([line["msg"] for line in lines],
                         ["Told whose Allocate it is", "Wrote that devices are handed out"])
        self.assertEqual({line["trace"] for line in lines},
                         {trace_of(found["metadata"]["uid"], worlds.agents.NODE)})
