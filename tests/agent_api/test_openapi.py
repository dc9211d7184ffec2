# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Every answer of the agent is one that docs/agent-openapi.json describes."""

import json
import pathlib
import unittest

from agent_api import schema, world

DESCRIPTION = schema.Description(
    pathlib.Path(__file__).resolve().parents[2] / "docs/agent-openapi.json")
ID = "0123456789abcdef0123456789abcdef"


class Case(unittest.TestCase):
    """Asks, and holds each answer against the description."""

    def setUp(self):
        self.world = self.enterContext(world.World())
        self.seen = set()

    def ask(self, method, path, body=None):
        status, kind, answer = self.world.ask(method, path, body)
        self.assertEqual(DESCRIPTION.faults(method, path, status, kind, answer), [])
        return status, json.loads(answer) if kind.startswith("application/json") else answer

    def allocate(self):
        status, answer = self.ask("POST", "/v1/allocations", world.question())
        self.assertEqual(status, 200)
        return answer["allocation"]


class Answers(Case):
    """One test a way that a plugin can go."""

    def test_an_allocation_that_is_done(self):
        self.world.add_pod("a")
        number = self.allocate()
        self.assertEqual(self.ask("POST", f"/v1/allocations/{number}/done", "{}")[0], 204)
        self.assertEqual(self.ask("POST", f"/v1/allocations/{number}/done", "")[0], 204)
        self.assertEqual(self.ask("POST", f"/v1/allocations/{number}/failed", "{}")[0], 409)
        self.assertEqual(self.world.phase("a"), "success")

    def test_an_allocation_that_failed(self):
        self.world.add_pod("a")
        number = self.allocate()
        reason = json.dumps({"reason": "no such card"})
        self.assertEqual(self.ask("POST", f"/v1/allocations/{number}/failed", reason)[0], 204)
        self.assertEqual(self.world.phase("a"), "failed")

    def test_nobody_several_and_a_lock_of_another(self):
        self.assertEqual(self.ask("POST", "/v1/allocations", world.question())[1]["code"], "LOST")
        self.world.add_pod("a")
        self.world.set_lock("2026-01-02T03:04:05Z,default,gone")
        self.assertEqual(self.ask("POST", "/v1/allocations", world.question())[1]["code"], "HELD")
        self.world.add_pod("b")
        self.assertEqual(self.ask("POST", "/v1/allocations", world.question())[1]["code"], "BUSY")

    def test_strings_that_do_not_fit(self):
        self.world.add_pod("a", devices="GPU-7,NVIDIA,1024,10:;", count=2)
        answer = self.ask("POST", "/v1/allocations", world.question("d-0", "d-1"))[1]
        self.assertEqual(answer["code"], "LIMIT")
        self.world.add_pod("b", devices="GPU-7;", count=3)
        self.world.add_pod("c", devices="GPU-7,x:;", count=4)
        answer = self.ask("POST", "/v1/allocations", world.question(*"abcd"))[1]
        self.assertEqual(answer["code"], "PROTO")

    def test_requests_that_are_wrong(self):
        for path, body in (
                ("/v1/allocations", ""), ("/v1/allocations", "{"), ("/v1/allocations", "{}"),
                ("/v1/allocations", '{"resource":"x/y","containers":[["a"]]}'),
                (f"/v1/allocations/{ID}/done", "x"),
                (f"/v1/allocations/{ID}/failed", '{"reason":7}'),
                ("/v1/starts", ""), ("/v1/starts", '{"resource":"x/y"}'),
                ("/v1/starts", '{"resource":"x/y","ids":[]}'),
                ("/v1/starts", '{"resource":"x/y","ids":[7]}'),
                ("/v1/starts", '{"resource":"","ids":["a"]}')):
            with self.subTest(path=path, body=body):
                self.assertEqual(self.ask("POST", path, body)[0], 400)
        self.assertEqual(self.ask("POST", f"/v1/allocations/{ID}/done", "{}")[0], 410)
        self.assertEqual(self.ask("POST", "/v1/allocations/no-id/done", "{}")[0], 404)
        self.assertEqual(self.ask("POST", "/v1/allocations", "x" * 300000)[0], 413)
        self.assertEqual(self.ask("POST", f"/v1/allocations/{ID}/done", "x" * 300000)[0], 413)
        self.assertEqual(self.ask("POST", "/v1/starts", "x" * 300000)[0], 413)

    def test_a_start_without_knowledge(self):
        status, answer = self.ask("POST", "/v1/starts",
                                  json.dumps({"resource": world.RESOURCE, "ids": ["d-0"]}))
        self.assertEqual((status, answer["verdict"]), (200, "unknown"))

    def test_an_id_from_before_a_restart(self):
        self.world.add_pod("a")
        number = self.allocate()
        self.world.kill_agent()
        self.world.start_agent()
        self.assertEqual(self.ask("POST", f"/v1/allocations/{number}/done", "{}")[0], 410)
        number = self.allocate()
        self.assertEqual(self.ask("POST", f"/v1/allocations/{number}/done", "{}")[0], 204)

    def test_a_server_that_hangs_or_is_away(self):
        self.world.add_pod("a")
        number = self.allocate()
        self.world.fault(verb="list", resource="pods", action="hang_before")
        self.assertEqual(self.ask("POST", "/v1/allocations", world.question())[0], 504)
        self.world.fault(verb="patch", resource="pods", action="hang_before")
        self.assertIn(self.ask("POST", f"/v1/allocations/{number}/done", "{}")[0], (503, 504))

    def test_probes(self):
        for path in ("/livez", "/healthz", "/readyz", "/metrics"):
            self.assertEqual(self.ask("GET", path)[0], 200)


class Coverage(unittest.TestCase):
    """The description itself."""

    def test_that_each_of_its_references_leads_somewhere(self):
        self.assertEqual(DESCRIPTION.lost_references(), [])

    def test_that_a_wrong_answer_is_seen(self):
        right = {"allocation": ID, "fence": "7", "pod": {"namespace": "a", "name": "b", "uid": "c"},
                 "containers": [{"name": "main", "devices": [
                     {"uuid": "G", "type": "N", "memory_mib": 1, "core_percent": 2}]}]}

        def faults(answer):
            return DESCRIPTION.faults("POST", "/v1/allocations", 200, "application/json",
                                      json.dumps(answer).encode())
        self.assertEqual(faults(right), [])
        for wrong in ({"allocation": "x"}, {"fence": 7}, {"fence": "-1"}, {"containers": []},
                      {"pod": {"name": "b"}}, {"containers": [{"name": "main", "devices": [{}]}]}):
            with self.subTest(wrong=wrong):
                self.assertNotEqual(faults({**right, **wrong}), [])
        self.assertNotEqual(DESCRIPTION.faults("POST", "/v1/allocations", 418, "", b""), [])
        self.assertNotEqual(DESCRIPTION.faults("GET", "/v1/allocations", 200, "", b""), [])


if __name__ == "__main__":
    unittest.main()
