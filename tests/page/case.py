# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A test of the page: a browser, a hamid of its own, and what they are asked again and again."""

import unittest

from page import browser, world

NODES = [f"gpu-{number}" for number in range(12)]
NAMES = "return [...document.querySelectorAll('#rows .line .name')].map(cell => cell.textContent)"


@unittest.skipUnless(browser.is_there(), "NO CHROMIUM HERE: the status page is not tested; "
                     "scripts/bootstrap page installs it")
class Case(unittest.TestCase):
    """A browser for each class, a world for each test."""

    nodes = NODES
    flags = ("--stall-limit=0",)

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(browser.Browser())

    def setUp(self):
        self.world = self.enterContext(world.Burst(*self.flags, nodes=self.nodes))
        self.browser.set_size(1280, 900)
        self.browser.prefer(color_scheme="light")
        self.browser.messages()
        self.open()

    def open(self):
        self.browser.open(self.world.url)
        self.browser.wait_for("return document.body.className === 'live'")

    def tearDown(self):
        # Nothing may be blocked, and nothing may fail, that a test has not asked for. The page is left
        # before its hamid ends: it would complain of that, as late as in the next test.
        messages = self.browser.messages()
        self.browser.open("about:blank")
        wrong = [one["message"] for one in messages
                 if one["level"] == "SEVERE" and not self.is_expected(one["message"])]
        self.assertEqual(wrong, [])

    def is_expected(self, _message):
        return False

    def wait_for_text(self, selector, text):
        self.browser.wait_for(
            "return (document.querySelector(arguments[0])?.textContent || '').includes(arguments[1])",
            selector, text)

    def hold(self, node="gpu-3", waiting=2):
        """A node that is held by a-NODE, with that many pods behind it."""
        for name in ("a", *(f"w{number}" for number in range(waiting))):
            self.world.bind_and_wait(f"{name}-{node}", node)
