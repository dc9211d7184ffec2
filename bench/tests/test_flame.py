# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of how samples become a picture."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "tests", ROOT / "tests/standins"):
    sys.path.insert(0, str(folder))

from bench import flame, flames  # noqa: E402

SAMPLES = """
hamid 12 1.0: 500 cpu-clock:
            7f01 json_loadb+0x10 (/usr/lib/libjansson.so.4.14.0)
            7f02 hami_internal_object_parse.part.0+0x9 (/opt/hamid)
            7f03 [unknown] (/usr/lib/x86_64/libcurl.so.4.8.0)
            7f04 [unknown] (/usr/lib/x86_64/libcurl.so.4.8.0)
            7f05 curl_multi_perform+0x1 (/usr/lib/x86_64/libcurl.so.4.8.0)
            7f06 start_thread+0x2 (/usr/lib/libc.so.6)

hamid 12 1.1: 500 cpu-clock:
            7f05 curl_multi_perform+0x1 (/usr/lib/x86_64/libcurl.so.4.8.0)
            7f06 start_thread+0x2 (/usr/lib/libc.so.6)
""".splitlines()


class Flame(unittest.TestCase):
    def test_functions_without_names_go_by_that_of_their_library(self):
        self.assertEqual(list(flame.stacks(SAMPLES)), [
            ["start_thread", "curl_multi_perform", "libcurl", "hami_internal_object_parse",
             "json_loadb"],
            ["start_thread", "curl_multi_perform"]])

    def test_what_starts_a_thread_is_left_out(self):
        self.assertEqual([flames.trimmed(stack)[0] for stack in flame.stacks(SAMPLES)],
                         ["curl_multi_perform"] * 2)

    def test_words_tell_the_share_of_each_function_alone_and_with_what_it_calls(self):
        words = list(flames.in_words(list(flame.stacks(SAMPLES))))
        self.assertIn(" 50.0% json_loadb", words)
        self.assertIn("100.0% curl_multi_perform", words[words.index("with what it calls"):])

    def test_a_box_is_as_wide_as_its_share(self):
        root = flame.tree([flames.trimmed(stack) for stack in flame.stacks(SAMPLES)], "")
        found = {name: share for _, _, share, name in flame.boxes(root, root[0])}
        self.assertEqual((found["curl_multi_perform"], found["json_loadb"]), (1.0, 0.5))


if __name__ == "__main__":
    unittest.main()
