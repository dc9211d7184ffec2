# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Every answer of /api/v1 is one that docs/scheduler-openapi.json describes."""

import json
import pathlib
import sys
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from agent_api import schema  # noqa: E402
from scheduler_api import world  # noqa: E402
from tests import peers  # noqa: E402

DESCRIPTION = schema.Description(
    pathlib.Path(__file__).resolve().parents[2] / "docs/scheduler-openapi.json")
PATHS = ("/api/v1/nodes", "/api/v1/nodes/gpu-0", "/api/v1/pods/default/b", "/api/v1/events")


class Case(unittest.TestCase):
    """Asks, and holds each answer against the description."""

    flags = ("--stall-limit=0",)

    def setUp(self):
        self.world = self.enterContext(world.World(*self.flags))

    def ask(self, path):
        status, kind, body, _ = self.world.ask(path)
        self.assertEqual(DESCRIPTION.faults("GET", path.split("?")[0], status, kind, body), [])
        return status, json.loads(body) if kind.startswith("application/json") else body

    def burst(self):
        """Pod a has gpu-0, and b, c, d, e wait for it in this order."""
        for name in "abcde":
            self.world.bind_and_wait(name)
        peers.wait_for(lambda: "a" in self.world.answers)


class Answers(Case):
    """What there is to see."""

    def test_that_an_idle_cluster_has_no_busy_node(self):
        status, answer = self.ask("/api/v1/nodes")
        self.assertEqual((status, answer["nodes"]), (200, []))
        self.assertEqual(answer["counts"], {"nodes": 2, "busy": 0, "waiting": 0, "alarms": 0})
        self.assertTrue(answer["ready"])
        names = [node["node"] for node in self.ask("/api/v1/nodes?all")[1]["nodes"]]
        self.assertEqual(sorted(names), ["gpu-0", "gpu-1"])

    def test_that_the_list_shows_holder_phase_and_the_head_of_the_queue(self):
        self.burst()
        time_out = time.monotonic() + peers.PATIENCE
        while True:  # an answer is shown for a moment
            answer = self.ask("/api/v1/nodes")[1]
            slots = answer["nodes"][0]["slots"] if answer["nodes"] else []
            if answer["counts"]["waiting"] == 4 and slots[0]["state"] == "handed-off":
                break
            self.assertLess(time.monotonic(), time_out, answer)
        node, = answer["nodes"]
        self.assertEqual((node["node"], node["waiting"], node["alarm"]), ("gpu-0", 4, False))
        self.assertEqual([one["pod"] for one in node["next"]], ["b", "c", "d"])
        slot, = node["slots"]
        self.assertEqual((slot["key"], slot["namespace"], slot["pod"]), (world.LOCK, "default", "a"))
        self.assertGreater(node["longestWaitSeconds"], 0)

    def test_that_one_node_shows_its_whole_queue_and_what_happened(self):
        self.burst()
        status, answer = self.ask("/api/v1/nodes/gpu-0")
        self.assertEqual(status, 200)
        self.assertEqual([(one["position"], one["pod"]) for one in answer["waiters"]],
                         [(0, "b"), (1, "c"), (2, "d"), (3, "e")])
        self.assertEqual([(one["what"], one["pod"]) for one in answer["events"]],
                         [("bound", "a"), ("granted", "a")])
        self.assertEqual(self.ask("/api/v1/nodes/no-such")[0], 404)
        self.assertEqual(self.ask("/api/v1/nodes/NO%20NODE")[0], 404)

    def test_that_a_pod_is_told_why_it_waits(self):
        self.burst()
        status, answer = self.ask("/api/v1/pods/default/c")
        self.assertEqual((status, answer["state"], answer["position"]), (200, "waiting", 1))
        self.assertIn("default/a's; 1 pod is before it", answer["why"])
        peers.wait_for(
            lambda: "Allocate" in self.world.read("/api/v1/pods/default/c")["frees"])
        self.assertEqual(answer["slot"]["pod"], "a")
        answer = self.ask("/api/v1/pods/default/a")[1]
        self.assertEqual((answer["state"], answer["node"], answer["waiting"]),
                         ("holding", "gpu-0", 4))
        for path in ("default/none", "x" * 300 + "/y"):
            self.assertEqual(self.ask(f"/api/v1/pods/{path}")[0], 404, path)
        for path in ("default", "/", "", "default/"):
            self.assertEqual(self.world.ask(f"/api/v1/pods/{path}")[0], 404, path)

    def test_that_a_lock_of_another_writer_is_shown_as_foreign(self):
        self.world.set_lock("2026-01-02T03:04:05Z,default,gone")
        node = "/api/v1/nodes/gpu-0"
        peers.wait_for(lambda: self.world.read(node)["slots"][0]["state"] == "foreign")
        slot, = self.ask(node)[1]["slots"]
        self.assertEqual((slot["pod"], slot["value"]),
                         ("gone", "2026-01-02T03:04:05Z,default,gone"))


class Alarms(Case):
    """A holder that stays."""

    flags = ("--stall-limit=0", "--lock-expire=1s")

    def test_that_a_lock_past_its_age_is_an_alarm(self):
        self.world.bind_and_wait("a")
        self.world.bind_and_wait("b")
        peers.wait_for(lambda: self.world.read("/api/v1/events")["alarms"])
        alarm, = self.ask("/api/v1/events")[1]["alarms"]
        self.assertEqual((alarm["node"], alarm["pod"], alarm["alarm"]), ("gpu-0", "a", True))
        peers.wait_for(lambda: self.world.read("/api/v1/nodes")["counts"]["alarms"] == 1)
        self.assertTrue(self.ask("/api/v1/nodes")[1]["nodes"][0]["alarm"])


class Events(Case):
    """Waiting for news."""

    def test_that_what_happened_comes_with_numbers_and_the_latest_first(self):
        self.burst()
        self.world.release()
        peers.wait_for(lambda: "b" in self.world.answers)
        answer = self.ask("/api/v1/events")[1]
        self.assertEqual([(one["sequence"], one["what"], one["pod"]) for one in answer["events"]],
                         [("4", "bound", "b"), ("3", "granted", "b"), ("2", "bound", "a"),
                          ("1", "granted", "a")])
        self.assertEqual(answer["last"], "4")
        self.assertEqual([one["sequence"] for one in self.ask("/api/v1/events?after=3")[1]["events"]],
                         ["4"])

    def test_that_one_who_begins_to_look_sees_the_last_hand_overs(self):
        self.burst()
        self.world.release()
        peers.wait_for(lambda: "b" in self.world.answers)
        second, first = self.ask("/api/v1/events")[1]["handOvers"]
        self.assertEqual((first["to"]["pod"], second["to"]["pod"]), ("a", "b"))
        self.assertGreater(int(second["fence"]), int(first["fence"]))
        self.assertNotIn("handOvers", self.ask("/api/v1/events?after=1")[1])
        answer = self.ask("/api/v1/nodes/gpu-0")[1]
        self.assertEqual([one["to"]["pod"] for one in answer["handOvers"]], ["b", "a"])
        self.assertGreaterEqual(answer["freeInSeconds"], 0)

    def test_that_a_request_waits_for_the_next_happening(self):
        found = []
        thread = threading.Thread(
            target=lambda: found.append(self.world.read("/api/v1/events?after=0&wait=30")))
        begun = time.monotonic()
        thread.start()
        self.world.bind_and_wait("a")
        thread.join(peers.PATIENCE)
        self.assertLess(time.monotonic() - begun, 25)
        self.assertEqual(found[0]["events"][-1]["what"], "granted")

    def test_that_an_empty_wait_ends_by_itself(self):
        status, answer = self.ask("/api/v1/events?after=0&wait=1")
        self.assertEqual((status, answer["events"], answer["last"]), (200, [], "0"))

    def test_that_those_who_wait_are_bounded(self):
        connections = []
        for number in range(65):
            connection = world.http.client.HTTPConnection(self.world.status, timeout=peers.PATIENCE)
            connection.request("GET", "/api/v1/events?after=0&wait=30")
            connections.append(connection)
        # The last one is refused, whatever order they were taken in; the others still wait.
        ready = world.select.select([one.sock for one in connections], [], [], peers.PATIENCE)[0]
        self.assertEqual(len(ready), 1)
        refused = next(one for one in connections if one.sock is ready[0])
        answer = refused.getresponse()
        self.assertEqual(DESCRIPTION.faults("GET", "/api/v1/events", answer.status,
                                            answer.headers["Content-Type"], answer.read()), [])
        self.assertEqual(answer.status, 429)
        for connection in connections:
            connection.close()
        peers.wait_for(lambda: self.world.ask("/api/v1/events?after=0&wait=1")[0] == 200)


class Guards(Case):
    """Only looks, and only for those who are meant to."""

    def test_that_nothing_can_be_done(self):
        for path in PATHS:
            for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
                self.assertEqual(self.world.ask(path, method)[0], 405, (method, path))

    def test_that_a_name_bent_to_this_address_is_refused(self):
        port = self.world.status.rsplit(":", 1)[1]
        for host in ("attacker.example", f"attacker.example:{port}", "127.0.0.1.attacker.example",
                     "1.2.3", "", "localhost.attacker.example"):
            for path in (*PATHS, "/metrics", "/v1/locks"):
                self.assertEqual(self.world.ask(path, headers={"Host": host})[0], 421, (host, path))
        for host in ("localhost", f"127.0.0.1:{port}", "[::1]:1", "10.1.2.3:9395", "[fe80::1]:9395"):
            self.assertEqual(self.world.ask("/api/v1/nodes", headers={"Host": host})[0], 200, host)

    def test_that_answers_are_for_this_origin_alone_and_are_not_kept(self):
        for path in PATHS:
            headers = self.world.ask(path, headers={"Origin": "http://attacker.example"})[3]
            self.assertNotIn("Access-Control-Allow-Origin", headers)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")

    def test_that_the_extenders_listener_serves_none_of_it(self):
        for path in PATHS:
            self.assertEqual(self.world.ask(path, address=self.world.extender)[0], 404, path)


class Coverage(unittest.TestCase):
    """The description itself."""

    def test_that_each_of_its_references_leads_somewhere(self):
        self.assertEqual(DESCRIPTION.lost_references(), [])

    def test_that_each_path_here_is_described(self):
        for path in PATHS:
            self.assertIsNotNone(DESCRIPTION.find("GET", path), path)


if __name__ == "__main__":
    unittest.main()
