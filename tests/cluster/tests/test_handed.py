# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import tempfile
import unittest

from checker import events, figures
from checker.tests import handmade
from cluster import handed, mixed

KIND = ({mixed.NVIDIA.resource: 2}, {mixed.NVIDIA.resource: 1, mixed.DCU.resource: 1})
FIRST = ("NVIDIA-a-0-0", "NVIDIA-a-0-1")


def log_of(*names):
    log = handmade.HandmadeLog()
    for index, name in enumerate(names):
        log.create(index, name)
        line = log.lines[-1]
        made = mixed.pod(name, KIND, "gpu-0")
        made["metadata"].update(uid=f"uid-{name}", resourceVersion="1")
        line["requestObject"] = line["responseObject"] = {"kind": "Pod", **made}
    return log


def call(pod, container, devices, resource=mixed.NVIDIA.resource, **changes):
    facts = {"node": "gpu-0", "pod": pod, "uid": f"uid-{pod}", "container": container,
             "resource": resource, "count": len(devices), "begin": 10.0, "seconds": 0.25,
             "served": f"uid-{pod}", "devices": tuple(devices), "problem": ""}
    return handed.Call(**{**facts, **changes})


def right(pod):
    return [call(pod, 0, [f"NVIDIA-{pod}-0-1", f"NVIDIA-{pod}-0-0"]),
            call(pod, 1, [f"NVIDIA-{pod}-1-0"]),
            call(pod, 1, [f"DCU-{pod}-1-0"], mixed.DCU.resource)]


class Judge(unittest.TestCase):
    def judge(self, calls, names=("a", "b")):
        found = events.read(map(json.dumps, log_of(*names).lines))
        return handed.judge(calls, figures.Report(found).created, found)

    def test_containers_with_their_own_devices_in_any_order_are_right(self):
        values = self.judge(right("a") + right("b"))
        self.assertEqual((values["containers"], values["right_devices"], values["double_serves"]),
                         (6, 6, 0))
        self.assertAlmostEqual(values["allocate_sum_seconds"], 1.5)

    def test_devices_of_another_pod_are_wrong_even_if_the_answer_names_the_right_one(self):
        values = self.judge([call("a", 0, ["NVIDIA-b-0-0", "NVIDIA-b-0-1"])], ("a",))
        self.assertEqual(values["right_devices"], 0)

    def test_an_answer_about_another_pod_is_wrong_even_with_the_right_devices(self):
        self.assertEqual(self.judge([call("a", 0, FIRST, served="uid-b")])["right_devices"], 0)

    def test_fewer_devices_than_assigned_are_wrong(self):
        self.assertEqual(self.judge([call("a", 0, FIRST[:1])])["right_devices"], 0)

    def test_a_container_that_was_answered_twice_is_a_double_serve_and_not_right(self):
        values = self.judge([*right("a"), call("a", 0, FIRST)])
        self.assertEqual((values["right_devices"], values["double_serves"]), (2, 1))

    def test_a_device_that_two_containers_got_is_a_double_serve(self):
        self.assertEqual(self.judge([*right("a"), call("b", 0, FIRST)])["double_serves"], 1)

    def test_a_refused_allocate_is_no_serve(self):
        values = self.judge([call("a", 0, (), served=None, problem="409"), *right("b")])
        self.assertEqual((values["refused_allocates"], values["double_serves"],
                          values["right_devices"]), (1, 0, 3))

    def test_a_later_assignment_of_the_filter_counts(self):
        log = log_of("a")
        log.pod_patch(50, "a", {mixed.NVIDIA.allocated: "new-0,N,1,1:new-1,N,1,1:;new-2,N,1,1:;"})
        found = events.read(map(json.dumps, log.lines))
        values = handed.judge([call("a", 0, ["new-1", "new-0"]), call("a", 1, ["NVIDIA-a-1-0"])],
                              figures.Report(found).created, found)
        self.assertEqual(values["right_devices"], 1)

    def test_calls_of_other_pods_are_left_out(self):
        self.assertEqual(self.judge(right("other"))["allocates"], 0)


class Record(unittest.TestCase):
    def test_it_is_read_from_where_it_was_left_and_up_to_its_last_whole_line(self):
        facts = {**vars(call("a", 0, FIRST)), "namespace": "default", "devices": list(FIRST)}
        line = json.dumps(facts) + "\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record"
            path.write_text(line + line + line[:20], encoding="utf-8")
            self.assertEqual(len(handed.read(path)), 2)
            self.assertEqual(handed.read(path, len(line)), [call("a", 0, FIRST)])


if __name__ == "__main__":
    unittest.main()
