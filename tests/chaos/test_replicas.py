# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Two hamid schedulers serve the same node, and one of them sleeps, dies or is late."""

import concurrent.futures
import threading
import unittest

from chaos import world

SLEEPER = "burst-0003"


def bindings(log, pod):
    """Answers to the Bindings of a pod, in the order in which they were given."""
    return [event["responseStatus"]["code"] for event in log
            if event["verb"] == "create" and event["objectRef"].get("subresource") == "binding"
            and event["objectRef"]["name"] == pod]


class Replicas(unittest.TestCase):
    """The figures come from the API server's log; each burst has processes of its own."""

    def assert_whole(self, values, pods):
        self.assertEqual((values["bound"], values["allocated"]), (pods, pods), values)
        self.assertEqual({name: values[name] for name in world.ZERO},
                         dict.fromkeys(world.ZERO, 0), values)

    def test_the_same_pods_asked_of_two_replicas_are_bound_once_each(self):
        def both(call, _number):
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                texts = list(pool.map(lambda one: one.bind(call), burst.replicas))
            return "" if "" in texts else "; ".join(texts)

        with world.World("--pods", "30", replicas=2, route=both) as burst:
            values = burst.figures()
            self.assert_whole(values, 30)
            self.assertEqual(values["failed_binds"], 0, burst.answers)

    def test_replicas_that_share_a_burst_never_let_two_owners_in(self):
        def alternate(call, number):
            return burst.replicas[(int(call["PodName"][-4:]) + number) % 2].bind(call)

        with world.World("--pods", "40", replicas=2, route=alternate) as burst:
            values = burst.figures()
            self.assert_whole(values, 40)
            self.assertEqual(values["failed_binds"], 0, burst.answers)

    def test_a_replica_that_is_told_to_end_leaves_the_rest_to_the_other(self):
        def first_that_lives(call, number):
            return burst.replicas[0 if number == 1 else 1].bind(call)

        def end(line):
            if line["allocated"] == 8:
                burst.group.stop(burst.replicas[0].child)

        with world.World("--pods", "20", "--allocate-ms", "30", replicas=2,
                         route=first_that_lives, on_progress=end) as burst:
            values = burst.figures()
            self.assert_whole(values, 20)
            self.assertEqual(burst.replicas[0].child.returncode, 0)
            self.assertGreater(values["failed_binds"], 0)

    def sleep_while(self, fault, is_enough):
        """A burst whose third pod meets FAULT at the first replica, which is stopped then until
        IS_ENOUGH. The other replica has all the other pods, from that moment on. Answers what
        became of the pod's Bindings until the first replica had said what it thinks."""
        seen = []
        is_asleep = threading.Event()

        def route(call, number):
            if call["PodName"] <= SLEEPER and number == 1:
                return burst.replicas[0].bind(call)
            is_asleep.wait(world.CALL_SECONDS)
            return burst.replicas[1].bind(call)

        def stop(line):
            if line.get("pod") != SLEEPER or line["event"] != "sent" or is_asleep.is_set():
                return
            world.wait_for(lambda: SLEEPER in burst.lock() and burst.hits(number) == 1)
            burst.replicas[0].pause()
            is_asleep.set()
            world.wait_for(lambda: is_enough(burst))
            burst.replicas[0].resume()
            world.wait_for(lambda: SLEEPER in dict(burst.answers))
            seen.extend(bindings(burst.audit(), SLEEPER))

        def arm():
            nonlocal number
            number = burst.arm(**fault)

        number = 0
        with world.World("--pods", "8", replicas=2, flags=["--hold-limit=1s"], route=route,
                         on_server=arm, on_progress=stop) as burst:
            values = burst.figures()
        self.assert_whole(values, 8)
        self.assertGreater(values["failed_binds"], 0)
        return seen

    def test_a_binding_that_is_late_on_its_way_is_refused_after_the_take_over(self):
        seen = self.sleep_while(
            {"verb": "create", "resource": "pods", "subresource": "binding", "name": SLEEPER,
             "count": 1, "action": "nothing", "delay_before_ms": 4000},
            lambda burst: 409 in bindings(burst.audit(), SLEEPER))
        self.assertEqual(seen, [409])

    def test_a_replica_that_slept_past_its_hold_limit_binds_nothing_when_it_wakes(self):
        seen = self.sleep_while(
            {"verb": "patch", "resource": "nodes", "body": f"default,{SLEEPER}",
             "count": 1, "action": "nothing", "delay_answer_ms": 1500},
            lambda burst: SLEEPER not in burst.lock())
        self.assertEqual(seen, [409])


if __name__ == "__main__":
    unittest.main()
