# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Pods that are bound side by side, of nodes without a kubelet: the test serves them."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from agent_api import schema  # noqa: E402
from scheduler_api import world  # noqa: E402
from tests import peers  # noqa: E402

LEASE = "hami.io/mutex.lease"
ABLE = "1,free=scheduler,side-by-side"
GPU = "nvidia.com/gpu"
NPU = "huawei.com/Ascend910B"
MLU = "cambricon.com/vmlu"
HAMICTL = peers.BUILD / "daemon/hamictl/hamictl"
FLAGS = (f"--scheduler-name={world.SCHEDULER}", "--stall-limit=0")
DESCRIPTION = schema.Description(
    pathlib.Path(__file__).resolve().parents[2] / "docs/scheduler-openapi.json")


class BesideWorld(world.World):
    """Its nodes' agents can tell pods apart."""

    mark = ABLE

    def annotations(self, node="gpu-0"):
        return self.server.request("GET", f"/api/v1/nodes/{node}")[1]["metadata"]["annotations"]

    def permits(self, node="gpu-0"):
        """{pod: calls} of those that are in flight."""
        found = {}
        values = self.annotations(node)
        for number in range(1, 9):
            lock = values.get(f"{world.LOCK}.{number}")
            if lock:
                lease = json.loads(values[f"{LEASE}.{number}"])
                found[lock.split(",")[2]] = lease.get("calls")
        return found

    def cover(self, node="gpu-0"):
        """The pod whose copy stands there, and its calls."""
        values = self.annotations(node)
        lock = values.get(world.LOCK)
        return (lock.split(",")[2], json.loads(values[LEASE]).get("calls")) if lock else None

    def serve(self, name, node="gpu-0"):
        """What a node side writes of a pod whose devices are handed out."""
        path = f"/api/v1/namespaces/default/pods/{name}"
        _, pod = self.server.request("GET", path)
        fence = pod["metadata"]["annotations"]["hami.io/mutex.fence"]
        self.annotate(path, {"hami.io/bind-phase": "success", "hami.io/mutex.done": fence})

    def bound(self, *names):
        """Waits until each of them is."""
        for name in names:
            peers.wait_for(lambda name=name: name in self.answers)
            assert self.answers[name] == "", (name, self.answers[name])

    def hamictl(self, *words):
        return subprocess.run(
            [HAMICTL, words[0], "--kubeconfig", self.server.kubeconfig, *words[1:]],
            check=True, capture_output=True, text=True, timeout=peers.PATIENCE).stdout

    def waits(self, name):
        status, _, body, _ = self.ask(f"/api/v1/pods/default/{name}")
        return status == 200 and json.loads(body)["state"] == "waiting"


class Replica(BesideWorld):
    """One more hamid before the same server."""

    def __init__(self, server, *flags):
        super().__init__(*flags)
        self.server = server

    def __enter__(self):
        self.start_hamid()
        return self

    def __exit__(self, *error):
        self.end_hamid()


def gpus(count):
    return {GPU: str(count)}


class SideBySide(unittest.TestCase):

    def start(self, *flags, kind=BesideWorld):
        return self.enterContext(kind(*FLAGS, *flags))

    def start_with_two(self, *flags):
        """Pods p1 and p2, of one and two GPUs, are bound."""
        running = self.start(*flags)
        for count in (1, 2):
            running.bind(f"p{count}", limits=gpus(count))
        running.bound("p1", "p2")
        return running

    def start_with_one(self, *flags):
        """Pod one, of one GPU, is bound."""
        running = self.start(*flags)
        running.bind("one", limits=gpus(1))
        running.bound("one")
        return running

    def test_that_pods_that_differ_are_in_flight_together(self):
        running = self.start("--side-by-side=8")
        running.bind("one", limits=gpus(1))
        running.bind("two", limits=gpus(2))
        running.bind("npu", limits={NPU: "1"})
        running.bound("one", "two", "npu")
        self.assertEqual(running.permits(), {"one": f"{GPU}=1", "two": f"{GPU}=2",
                                             "npu": f"{NPU}=1"})
        self.assertIn(running.cover(), running.permits().items())

    def test_that_pods_that_are_alike_take_turns(self):
        running = self.start_with_one("--side-by-side=8")
        running.bind_and_wait("alike", limits={**gpus(1), "nvidia.com/gpumem": "1000"})
        running.bind("two", limits=gpus(2))
        running.bound("two")
        self.assertTrue(running.waits("alike"))
        self.assertIn("where 2 pods are in flight side by side that it may not join yet; it is next",
                      running.read("/api/v1/pods/default/alike")["why"])
        running.serve("one")
        running.bound("alike")
        self.assertEqual(set(running.permits()), {"alike", "two"})

    def test_that_the_locks_go_with_the_last_pod(self):
        running = self.start("--side-by-side=8")
        for count in (1, 2, 3):
            running.bind(f"p{count}", limits=gpus(count))
        running.bound("p1", "p2", "p3")
        for count in (2, 3):
            running.serve(f"p{count}")
            peers.wait_for(lambda name=f"p{count}": name not in running.permits())
            self.assertIn(running.cover(), running.permits().items())
        running.serve("p1")
        peers.wait_for(lambda: running.cover() is None)
        self.assertEqual(running.permits(), {})

    def test_that_no_more_are_in_flight_than_the_option_says(self):
        running = self.start_with_two("--side-by-side=2")
        running.bind_and_wait("p3", limits=gpus(3))
        self.assertTrue(running.waits("p3"))
        running.serve("p2")
        running.bound("p3")

    def test_that_a_pod_that_must_be_alone_is_and_nobody_passes_it(self):
        running = self.start_with_one("--side-by-side=8", f"--managed-resource={GPU}",
                                      f"--managed-resource={MLU}")
        running.bind_and_wait("both", limits={**gpus(2), MLU: "1"})
        running.bind_and_wait("three", limits=gpus(3))
        self.assertTrue(running.waits("both"))
        self.assertTrue(running.waits("three"))
        running.serve("one")
        running.bound("both")
        self.assertEqual(running.cover(), ("both", None))
        self.assertTrue(running.waits("three"))
        running.serve("both")
        running.bound("three")

    def test_that_without_the_option_pods_take_turns(self):
        running = self.start_with_one()
        running.bind_and_wait("two", limits=gpus(2))
        self.assertTrue(running.waits("two"))
        self.assertEqual((running.cover(), running.permits()), (("one", None), {}))
        running.serve("one")
        running.bound("two")

    def test_that_a_node_that_does_not_say_so_has_one_at_a_time(self):
        running = self.start_with_one("--side-by-side=8")
        running.mark_node("gpu-0", "1,free=scheduler")
        running.bind_and_wait("two", limits=gpus(2))
        self.assertTrue(running.waits("two"))
        running.serve("one")
        running.bound("two")
        self.assertEqual(running.cover(), ("two", None))

    def test_that_a_hamid_that_is_started_again_minds_what_is_in_flight(self):
        running = self.start_with_two("--side-by-side=8", "--hold-limit=1s")
        running.kill_hamid()
        running.start_hamid()
        running.bind_and_wait("alike", limits=gpus(1))
        running.bind("three", limits=gpus(3))
        running.bound("three")
        self.assertTrue(running.waits("alike"))
        running.serve("p1")
        running.bound("alike")
        self.assertEqual(set(running.permits()), {"alike", "p2", "three"})
        for name in ("p2", "three", "alike"):
            running.serve(name)
        peers.wait_for(lambda: running.cover() is None)

    def test_that_two_hamids_mind_each_others_pods(self):
        first = self.start("--side-by-side=8")
        second = self.enterContext(Replica(first.server, *FLAGS, "--side-by-side=8"))
        first.bind("one", limits=gpus(1))
        first.bound("one")
        second.bind("two", limits=gpus(2))
        second.bound("two")
        self.assertEqual(set(first.permits()), {"one", "two"})
        first.bind_and_wait("alike", limits=gpus(2))
        second.bind_and_wait("too", limits=gpus(1))
        self.assertTrue(first.waits("alike") and second.waits("too"))
        first.serve("two")
        first.serve("one")
        first.bound("alike")
        second.bound("too")
        self.assertEqual(set(first.permits()), {"alike", "too"})

    def test_that_one_with_the_option_off_minds_it_as_well(self):
        running = self.start_with_two("--side-by-side=8")
        running.kill_hamid()
        running.flags = FLAGS
        running.start_hamid()
        running.bind_and_wait("three", limits=gpus(3))
        running.serve("p1")
        self.assertTrue(running.waits("three"))
        running.serve("p2")
        running.bound("three")
        self.assertEqual(running.cover(), ("three", None))

    @unittest.skipUnless(HAMICTL.exists(), "hamictl was not built")
    def test_that_a_pod_that_is_released_by_hand_makes_room_for_its_like(self):
        running = self.start_with_two("--side-by-side=8")
        running.bind_and_wait("alike", limits=gpus(2))
        self.assertTrue(running.waits("alike"))
        slots = json.loads(running.hamictl("locks", "-o", "json"))[0]["slots"]
        token = next(slot["token"] for slot in slots if slot["pod"] == "p2")
        running.hamictl("release", "gpu-0", "--yes", "--force", "--expect", token)
        running.bound("alike")
        self.assertEqual(set(running.permits()), {"p1", "alike"})
        self.assertEqual(running.cover()[0], "alike")

    def test_that_the_second_listener_shows_each_pod_once_and_the_cover(self):
        running = self.start("--side-by-side=8")
        running.bind("one", limits=gpus(1))
        running.bind("two", limits=gpus(2))
        running.bound("one", "two")

        def slots(path):
            status, kind, body, _ = running.ask(path)
            self.assertEqual(DESCRIPTION.faults("GET", path, status, kind, body), [])
            answer = json.loads(body)
            node = answer["nodes"][0] if "nodes" in answer else answer
            return sorted((slot["state"], slot["pod"], slot.get("calls"))
                          for slot in node["slots"] if slot["state"] != "free")
        both = [("handed-off", "one", f"{GPU}=1"), ("handed-off", "two", f"{GPU}=2")]
        peers.wait_for(lambda: slots("/api/v1/nodes") == both)
        peers.wait_for(lambda: len(slots("/api/v1/nodes/gpu-0")) == 3)
        self.assertEqual([slot for slot in slots("/api/v1/nodes/gpu-0") if slot[0] == "cover"],
                         [("cover", running.cover()[0], None)])
        counts = running.ask("/metrics")[2].decode().splitlines()
        self.assertIn('hamid_lock_asked_total{kind="beside"} 2', counts)
        self.assertIn("hamid_lock_beside_total 1", counts)


if __name__ == "__main__":
    unittest.main()
