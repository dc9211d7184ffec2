# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import io
import json
import pathlib
import tarfile
import tempfile
import types
import unittest
from unittest import mock

from cluster import kubelet, kubelet_node, kubelet_scene


class Images(unittest.TestCase):
    def test_both_images_are_one_layer_that_holds_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "container"
            program.write_bytes(b"a program")
            archive = tarfile.open(fileobj=io.BytesIO(kubelet_node.image_archive(program)))
            manifest = json.load(archive.extractfile("manifest.json"))[0]
            layer = tarfile.open(fileobj=archive.extractfile("layer.tar"))
            self.assertEqual(layer.extractfile("container").read(), b"a program")
            self.assertEqual(layer.getmember("container").mode, 0o755)
            self.assertEqual(manifest["RepoTags"],
                             [kubelet_node.PAUSE_IMAGE, kubelet_node.CONTAINER_IMAGE])


class Pods(unittest.TestCase):
    def test_burst_asks_one_two_or_three_devices_in_each_of_two_containers(self):
        pods = kubelet_scene.burst_pods("some", "example.com/gpu", 40, seed=2)
        counts = [int(one["resources"]["limits"]["example.com/gpu"])
                  for pod in pods for one in pod["spec"]["containers"]]
        self.assertEqual(len(counts), 80)
        self.assertEqual(set(counts), {1, 2, 3})
        self.assertLessEqual(sum(counts), kubelet_scene.DEVICES)

    def test_pod_is_ready_only_when_each_container_is(self):
        pod = kubelet_scene.pod("one", [{}, {}], "some")
        for states, is_ready in (([], False), ([True], False), ([True, False], False),
                                 ([True, True], True)):
            pod["status"] = {"containerStatuses": [{"ready": state} for state in states]}
            self.assertEqual(kubelet_scene.is_ready(pod), is_ready, states)


class Missing(unittest.TestCase):
    def test_without_root_the_part_is_skipped_and_says_so_loudly(self):
        said, skipped = [], []
        results = types.SimpleNamespace(say=said.append,
                                        skip=lambda *words: skipped.append(words))
        asked = types.SimpleNamespace(version="1.37.2", fault=None)
        with mock.patch("os.geteuid", return_value=1000):
            self.assertIsNone(kubelet.run(results, asked, None))
        self.assertEqual(len(skipped), 1)
        self.assertTrue(any("NO REAL KUBELET" in line for line in said))

    def test_an_older_kubernetes_is_no_place_for_this_kubelet(self):
        with mock.patch("os.geteuid", return_value=0):
            self.assertIn("1.37", kubelet.missing("1.24.17"))


if __name__ == "__main__":
    unittest.main()
