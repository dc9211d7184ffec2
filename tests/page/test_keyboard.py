# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The status page by keys alone: the order of what they reach, and that nobody loses the place."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from page import looks  # noqa: E402
from page.case import NAMES, NODES, Case  # noqa: E402
from tests import peers  # noqa: E402


class Keyboard(Case):
    """Nobody needs a mouse."""

    def focus(self):
        return self.browser.run(looks.FOCUS)

    def tab(self):
        self.browser.press("Tab")
        return self.focus()

    def wait_for_names(self, *names):
        self.browser.wait_for(f"return (() => {{ {NAMES} }})().join() === arguments[0]", ",".join(names))

    def test_that_tab_comes_to_everything_in_order_and_can_be_seen(self):
        self.hold()
        self.wait_for_text("#rows .line", "a-gpu-3")
        stops = [self.tab() for _ in range(5)]
        self.browser.press("Enter")
        self.wait_for_text("#detail-title", "gpu-3")
        stops.append(self.tab())
        self.assertEqual([stop["id"] for stop in stops],
                         ["skip", "search", "busy", "order", "grid", "close"], self.browser.seen())
        self.assertEqual([stop["id"] for stop in stops if not stop["isVisible"]], [])

    def test_that_a_node_is_found_shown_and_left_by_keys_alone(self):
        for node in ("gpu-1", "gpu-2", "gpu-10"):
            self.hold(node, 1)
        self.browser.wait_for("return document.querySelectorAll('#rows .line').length === 3")
        self.assertEqual(self.browser.run(NAMES), ["gpu-1", "gpu-2", "gpu-10"])
        self.browser.press("/")
        self.assertEqual(self.focus()["id"], "search")
        self.browser.press(*"a-gpu-1")
        self.wait_for_names("gpu-1", "gpu-10")
        self.wait_for_text("#announcer", "2 nodes shown")
        self.browser.press("ArrowDown", "ArrowDown", "Enter")
        self.wait_for_text("#detail-title", "gpu-10")
        active = self.browser.run(
            "const grid = document.querySelector('#grid');"
            "return document.getElementById(grid.getAttribute('aria-activedescendant'))"
            ".querySelector('.name').textContent")
        self.assertEqual(active, "gpu-10")
        self.browser.press("Escape")
        self.browser.wait_for("return document.querySelector('#detail').hidden")
        self.assertEqual(self.focus()["id"], "grid")

    def test_that_who_is_in_the_list_stays_there_when_it_empties(self):
        self.hold("gpu-3", 0)
        self.wait_for_names("gpu-3")
        self.browser.press("/", "ArrowDown")
        self.world.release("gpu-3")
        self.wait_for_text("#none", "All nodes are free.")
        self.assertEqual(self.focus(), {"id": "grid", "tag": "DIV", "isVisible": True})
        self.hold("gpu-5", 0)
        self.wait_for_names("gpu-5")
        self.browser.press("ArrowDown", "Enter")
        self.wait_for_text("#detail-title", "gpu-5")

    def test_that_who_is_at_a_row_that_goes_stays_at_its_place(self):
        for node in ("gpu-1", "gpu-2", "gpu-3", "gpu-4"):
            self.hold(node, 0)
        self.wait_for_names("gpu-1", "gpu-2", "gpu-3", "gpu-4")
        self.browser.press("/", "ArrowDown", "ArrowDown")
        self.world.release("gpu-2")
        self.wait_for_names("gpu-1", "gpu-3", "gpu-4")
        self.browser.press("ArrowDown", "Enter")
        self.wait_for_text("#detail-title", "gpu-3")
        self.world.release("gpu-3")
        self.wait_for_names("gpu-1", "gpu-4")
        self.browser.press("ArrowUp", "Enter")
        self.wait_for_text("#detail-title", "gpu-1")

    def test_that_the_arrow_keys_choose_what_is_listed(self):
        self.hold("gpu-1", 0)
        self.hold("gpu-2", 1)
        self.browser.wait_for("return document.querySelectorAll('#rows .line').length === 2")
        self.browser.press("/", "Tab", "ArrowRight")
        self.wait_for_names("gpu-2")
        self.browser.press("ArrowRight")
        self.wait_for_text("#none", "No alarms.")
        self.browser.press("ArrowRight")
        self.browser.wait_for(f"return (() => {{ {NAMES} }})().length === {len(NODES)}")

    def test_that_a_pod_that_is_asked_for_is_explained(self):
        self.hold()
        self.browser.press("/", *"default/w1-gpu-3")
        self.wait_for_text("#explained", "default/w1-gpu-3 waits for node gpu-3, whose lock is "
                           "default/a-gpu-3's; 1 pod is before it. What frees the lock:")
        self.browser.run("document.querySelector('#search').value = ''")
        self.browser.press(*"default/nobody")
        self.wait_for_text("#explained", "default/nobody: this pod neither waits")

    def is_expected(self, message):
        return "/api/v1/pods/default/" in message and "404" in message


class Alarms(Case):
    """Alarms come and go while somebody is at one with the keyboard."""

    flags = ("--stall-limit=0", "--lock-expire=1s")

    def wait_for_alarms(self, *nodes):
        self.browser.wait_for(
            "return [...document.querySelectorAll('#alarms button')].map(one => one.textContent).join()"
            " === arguments[0]", ",".join(nodes))

    def free(self, node):
        """Its holder is served, and the one behind it."""
        self.world.release(node)
        peers.wait_for(lambda: f"w0-{node}" in self.world.answers)
        self.world.release(node)

    def text_in_focus(self):
        return self.browser.run("return document.activeElement.textContent")

    def test_that_a_key_shows_the_node_whose_alarm_was_read(self):
        for node in ("gpu-2", "gpu-4", "gpu-6"):
            self.hold(node, 1)
        self.wait_for_alarms("gpu-2", "gpu-4", "gpu-6")
        self.browser.press("Tab", "Tab", "Tab")
        self.assertEqual(self.text_in_focus(), "gpu-4", self.browser.seen())
        self.free("gpu-2")
        self.wait_for_alarms("gpu-4", "gpu-6")
        self.assertEqual(self.text_in_focus(), "gpu-4", self.browser.seen())
        self.browser.press("Enter")
        self.wait_for_text("#detail-title", "gpu-4")
        self.free("gpu-4")
        self.wait_for_alarms("gpu-6")
        self.assertEqual(self.text_in_focus(), "gpu-6", self.browser.seen())
        self.free("gpu-6")
        self.browser.wait_for("return document.querySelector('#alarms').hidden")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "grid")


if __name__ == "__main__":
    unittest.main()
