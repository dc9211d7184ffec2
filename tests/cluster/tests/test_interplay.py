# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import re
import unittest

from checker.tests import handmade
from cluster import interplay_filter, interplay_world, mixed, restarts, suites
from nightly import parts as nightly_parts


class Server:
    """Takes each patch and remembers it."""

    def __init__(self):
        self.patches = []

    def request(self, _method, path, body, _kind):
        self.patches.append((path, body["metadata"]))

        class Answer:
            code = 200
        return Answer()


def ask(books, pod, names):
    made = mixed.pod(pod, ({mixed.NVIDIA.resource: 1}, {mixed.DCU.resource: 2}))
    made["metadata"]["uid"] = f"uid-{pod}"
    return books.filter({"Pod": made, "NodeNames": names})


class Filter(unittest.TestCase):
    def test_pods_are_spread_and_each_is_told_its_node_by_hami_s_annotation(self):
        server = Server()
        books = interplay_filter.Books(server)
        chosen = [ask(books, f"pod-{index}", ["a", "b"])["NodeNames"] for index in range(4)]
        self.assertEqual(chosen, [["a"], ["b"], ["a"], ["b"]])
        self.assertEqual([metadata["annotations"]["hami.io/vgpu-node"]
                          for _, metadata in server.patches], ["a", "b", "a", "b"])

    def test_a_pod_that_comes_again_is_sent_elsewhere_where_there_is_an_elsewhere(self):
        books = interplay_filter.Books(Server())
        self.assertEqual(ask(books, "pod-0", ["a", "b"])["NodeNames"], ["a"])
        self.assertEqual(ask(books, "pod-0", ["a", "b"])["NodeNames"], ["b"])
        self.assertEqual(ask(books, "pod-0", ["b"])["NodeNames"], ["b"])

    def test_each_container_is_assigned_as_many_devices_of_its_vendor_as_it_asks_for(self):
        server = Server()
        ask(interplay_filter.Books(server), "x", ["a"])
        written = server.patches[0][1]["annotations"]
        self.assertEqual(written[mixed.NVIDIA.allocated], "NVIDIA-uid-x-0-0,NVIDIA,1000,10:;;")
        self.assertEqual(written[mixed.DCU.to_allocate],
                         ";DCU-uid-x-1-0,DCU,1000,10:DCU-uid-x-1-1,DCU,1000,10:;")

    def test_no_node_is_chosen_from_none(self):
        self.assertEqual(ask(interplay_filter.Books(Server()), "pod-0", [])["NodeNames"], [])


class Judge(unittest.TestCase):
    def rows(self, order, late=()):
        """Of pods bound in this order; those of late are created at the very end."""
        log = handmade.HandmadeLog()
        for index, scheduler in enumerate(order):
            log.create(index if index not in late else 900 + index, f"pod-{index}")
            log.lines[-1]["requestObject"]["spec"] = {"schedulerName": scheduler}
        for index in range(len(order)):
            log.bind(100 + 10 * index if index not in late else 2000 + index, f"pod-{index}")
        log.lines.sort(key=lambda line: line["stageTimestamp"])
        return restarts.rows_of(log.report().created)

    def test_a_row_is_one_scheduler_s_while_another_s_pods_wait(self):
        self.assertEqual(self.rows("aaabba"), [0, 3, 2])

    def test_nobody_is_passed_by_rows_that_nobody_waits_behind(self):
        self.assertEqual(self.rows("aaaa"), [0])
        self.assertEqual(self.rows("aaab", late={3}), [0])

    def test_each_scene_asks_for_nothing_lost_and_nothing_bound_twice(self):
        figures = {figure for _, figure in interplay_world.ZERO}
        log = handmade.good_burst(3)
        self.assertEqual({log.figures()[figure] for figure in figures}, {0})
        log.create(500, "forgotten")
        log.bind(600, "pod-0", "gpu-1")
        values = log.figures()
        self.assertEqual({figure for figure in figures if values[figure]},
                         {"lost", "bound_twice", "stuck_pods"})


class Parts(unittest.TestCase):
    def test_what_is_left_out_by_default_is_run_by_night(self):
        long = re.search(r"^LONG = \((.*)\)$", (suites.ROOT / "scripts/test-cluster").read_text(
            encoding="utf-8"), re.MULTILINE)[1]
        nightly = " ".join(part.command for part in nightly_parts.PARTS)
        for part in re.findall(r'"([\w-]+)"', long):
            self.assertIn(f"--only {part}", nightly)


if __name__ == "__main__":
    unittest.main()
