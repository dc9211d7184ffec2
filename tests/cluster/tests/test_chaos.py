# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import tempfile
import unittest

from checker import events, figures
from checker.tests import handmade
from cluster import chaos, chaos_faults, chaos_history


class Store:
    """What etcd would tell, revision after revision, beside a log made by hand."""

    def __init__(self, log):
        self.log = log
        self.changes = []
        self.objects = {}

    def write(self, resource, name, annotations=None, node=None, manager="hamid-scheduler"):
        """The state after the log's last request, or after one that it does not have."""
        space = "default" if resource == "pods" else ""
        old = self.objects.get(name, {"metadata": {"annotations": {}}, "spec": {}})
        body = {"metadata": {"name": name, "namespace": space, "uid": f"uid-{name}",
                             "annotations": {**old["metadata"]["annotations"],
                                             **(annotations or {})},
                             "managedFields": [{"manager": manager,
                                                "time": str(len(self.changes))}]},
                "spec": {**old["spec"], **({"nodeName": node} if node else {})}}
        self.objects[name] = body
        self.changes.append((resource, f"{resource}/{name}", self.log.version,
                             json.dumps(body)))

    def history(self):
        return sorted((revision for resource in ("pods", "nodes")
                       for revision in chaos_history._follow(
                           resource, [one[1:] for one in self.changes if one[0] == resource])),
                      key=lambda revision: revision.version)


def known(log):
    return events.read([json.dumps(line) for line in log.lines])


def values(log, store):
    complete, gaps = chaos_history.complete(known(log), store.history())
    return {**figures.figures(figures.Report(complete)), "gaps": gaps}


class Gaps(unittest.TestCase):
    """A server that is killed has stored what it did not log."""

    def setUp(self):
        self.log = handmade.HandmadeLog()
        self.store = Store(self.log)
        for index, pod in enumerate(("first", "second")):
            self.log.create(index, pod)
            self.store.write("pods", pod)

    def bind(self, at, pod, is_logged):
        if is_logged:
            self.log.bind(at, pod)
        else:
            self.log.next_version()
        self.store.write("pods", pod, node="gpu-0")

    def test_a_binding_that_was_not_logged_is_judged_as_if_it_were(self):
        self.bind(10, "first", True)
        self.bind(20, "second", False)
        for at, pod in ((30, "first"), (40, "second")):
            self.log.success(at, pod)
            self.store.write("pods", pod, {handmade.DONE: "7"}, manager="hamid-node")
        self.assertEqual(figures.figures(figures.Report(known(self.log)))["double_holds"], 0)
        found = values(self.log, self.store)
        self.assertEqual((found["double_holds"], found["bound"], found["gaps"]), (1, 2, 1))

    def test_nothing_is_added_to_a_log_that_has_everything(self):
        for at, pod in ((10, "first"), (30, "second")):
            self.bind(at, pod, True)
            self.log.success(at + 10, pod)
            self.store.write("pods", pod, {handmade.DONE: "7"}, manager="hamid-node")
        found = values(self.log, self.store)
        self.assertEqual((found["double_holds"], found["allocated"], found["gaps"]), (0, 2, 0))

    def test_a_success_that_was_not_logged_is_seen(self):
        self.bind(10, "first", True)
        self.log.next_version()
        self.store.write("pods", "first", {handmade.DONE: "7"}, manager="hamid-node")
        self.bind(30, "second", True)
        found = values(self.log, self.store)
        self.assertEqual((found["double_holds"], found["allocated"]), (0, 1))
        complete, _ = chaos_history.complete(known(self.log), self.store.history())
        self.assertEqual([event.user for event in complete
                          if event.identity.startswith("store-")], ["hamid-node"])

    def test_a_write_that_was_answered_and_is_not_stored_is_found(self):
        self.assertEqual(chaos_history.lost(known(self.log), self.store.history()), [])
        self.log.success(10, "first")
        found = chaos_history.lost(known(self.log), self.store.history())
        self.assertEqual([event.name for event in found], ["first"])


class Locks(unittest.TestCase):
    """Bindings and done marks in the store's own order."""

    def setUp(self):
        self.log = handmade.HandmadeLog()
        self.store = Store(self.log)
        self.write("pods", "first")
        self.write("pods", "second")

    def write(self, *words, **more):
        self.log.next_version()
        self.store.write(*words, **more)

    def lock(self, pod, uid=None):
        value = handmade.lock_value(pod)
        self.write("nodes", "gpu-0", {
            handmade.LOCK: value,
            handmade.LEASE: handmade.lease(value, uid or f"uid-{pod}", 7)})

    def wrong(self):
        return [(revision.name, lock)
                for revision, lock in chaos_history.outside_lock(self.store.history())]

    def test_a_pod_bound_and_served_under_its_own_lock_is_right(self):
        self.lock("first")
        self.write("pods", "first", node="gpu-0")
        self.write("pods", "first", {handmade.DONE: "7"})
        self.assertEqual(self.wrong(), [])

    def test_a_binding_without_a_lock_is_wrong(self):
        self.write("pods", "first", node="gpu-0")
        self.assertEqual(self.wrong(), [("first", "")])

    def test_a_binding_under_anothers_lock_is_wrong(self):
        self.lock("second")
        self.write("pods", "first", node="gpu-0")
        self.assertEqual(self.wrong(), [("first", handmade.lock_value("second"))])

    def test_a_binding_under_the_lock_of_an_older_pod_of_that_name_is_wrong(self):
        self.lock("first", uid="uid-of-an-older-one")
        self.write("pods", "first", node="gpu-0")
        self.assertEqual(len(self.wrong()), 1)

    def test_a_pod_served_once_its_lock_was_taken_is_wrong(self):
        self.lock("first")
        self.write("pods", "first", node="gpu-0")
        self.lock("second")
        self.write("pods", "first", {handmade.DONE: "7"})
        self.assertEqual(len(self.wrong()), 1)


class Plan(unittest.TestCase):
    def test_all_is_each_fault_once(self):
        self.assertEqual([name for names in chaos.plan("all", 1) for name in names],
                         list(chaos_faults.FAULTS))

    def test_rounds_begin_with_the_short_one_and_are_drawn_by_the_seed(self):
        self.assertEqual(chaos.plan("1", 5), [list(chaos_faults.SHORT)])
        self.assertEqual(chaos.plan("4", 5), chaos.plan("4", 5))
        self.assertNotEqual(chaos.plan("4", 5), chaos.plan("4", 6))


class Trim(unittest.TestCase):
    def trimmed(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "audit.log"
            path.write_bytes(text)
            return chaos_history.trim(path), path.read_bytes()

    def test_the_rest_of_a_line_goes_and_whole_lines_stay(self):
        self.assertEqual(self.trimmed(b"{}\n{}\n{\"a"), (3, b"{}\n{}\n"))
        self.assertEqual(self.trimmed(b"{}\n"), (0, b"{}\n"))
        self.assertEqual(self.trimmed(b"{\"a"), (3, b""))


if __name__ == "__main__":
    unittest.main()
