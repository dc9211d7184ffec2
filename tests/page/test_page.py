# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The status page in a headless Chromium, before a real hamid and a simulated API server."""

import concurrent.futures
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from cluster import certificates  # noqa: E402
from page import looks  # noqa: E402
from page.case import NAMES, NODES, Case  # noqa: E402
from tests import peers  # noqa: E402

MANY = 5000


class Live(Case):
    """What happens is seen."""

    def test_that_holders_queues_and_hand_overs_change_while_one_looks(self):
        self.browser.run("window.isSame = true")
        self.hold()
        self.wait_for_text("#rows .line", "a-gpu-3")
        self.wait_for_text("#rows .line .queue", "2")
        self.wait_for_text("#rows .line .chip", "Allocating")
        self.wait_for_text("#waiting", "2")
        self.world.release("gpu-3")
        self.wait_for_text("#rows .line", "default/w0-gpu-3")
        self.wait_for_text("#rows .line .queue", "1")
        self.wait_for_text("#happened li", "w0-gpu-3")
        self.browser.wait_for("return document.querySelectorAll('#lanes .hold').length >= 2")
        self.assertIn("2 holds of 1 node", self.browser.text("#lanes > title"))
        for _ in range(2):
            self.world.release("gpu-3")
            peers.wait_for(lambda: len(self.world.answers) == 3)
        peers.wait_for(lambda: not self.world.read("/api/v1/nodes")["nodes"])
        self.wait_for_text("#none", "All nodes are free.")
        self.assertTrue(self.browser.run("return window.isSame"))

    def test_that_a_burst_over_many_nodes_keeps_the_page_in_order(self):
        self.world.play_plugins(NODES, .4)
        self.world.ask_for_pods([f"p{number}" for number in range(60)], NODES, .03)
        self.browser.wait_for("return Number(document.querySelector('#granted').textContent) >= 40")
        self.assertLessEqual(
            self.browser.run("return document.querySelectorAll('#lanes .lane').length"), 8)
        self.assertEqual(self.browser.run(looks.FAULTS), [])
        peers.wait_for(lambda: len(self.world.answers) == 60)
        self.assertEqual(set(self.world.answers.values()), {""})

    def test_that_one_node_is_shown_with_its_queue_and_what_frees_it(self):
        self.hold("gpu-5", 3)
        self.wait_for_text("#rows .line", "a-gpu-5")
        self.browser.run("document.querySelector('#rows .line').click()")
        self.wait_for_text("#detail-title", "gpu-5")
        self.wait_for_text("#queue", "3.default/w2-gpu-5")
        self.wait_for_text(".frees", "Allocate")
        self.world.release("gpu-5")
        self.wait_for_text("#handed li", "w0-gpu-5")
        self.wait_for_text("#handed li", "default/a-gpu-5")
        self.wait_for_text("#queue-title", "Queue: 2 pods")

    def test_that_pods_side_by_side_are_shown_one_by_one(self):
        def pair(name, fence, count, number=""):
            lock = f"2026-01-02T03:04:05Z,default,{name}"
            lease = {"version": 1, "lock": lock, "uid": f"uid-{name}", "fence": str(fence),
                     "holder": "h_1", "attempt": "1", "hold_ms": 15000, "free": "scheduler",
                     "calls": f"nvidia.com/gpu={count}"}
            return {f"hami.io/mutex.lock{number}": lock,
                    f"hami.io/mutex.lease{number}": json.dumps(lease)}
        status, answer = self.world.server.request(
            "PATCH", "/api/v1/nodes/gpu-4", {"metadata": {"annotations": {
                **pair("two", 12, 2), **pair("one", 11, 1, ".1"), **pair("two", 12, 2, ".2")}}},
            "application/merge-patch+json")
        self.assertEqual(status, 200, answer)
        self.wait_for_text("#rows .line", "default/one")
        self.browser.run("document.querySelector('#rows .line').click()")
        self.wait_for_text("#detail-title", "gpu-4")
        self.wait_for_text("#locks", "nvidia.com/gpu=1")
        self.wait_for_text("#locks", "nvidia.com/gpu=2")
        self.assertEqual(self.browser.run(
            "return [...document.querySelectorAll('#locks dd')].filter("
            "one => one.textContent === 'default/two').length"), 1)
        self.wait_for_text("#itself", "Covers the pods side by side")

    def test_that_one_who_comes_late_sees_what_was_before(self):
        self.hold()
        self.world.release("gpu-3")
        peers.wait_for(lambda: "w0-gpu-3" in self.world.answers)
        self.open()
        self.browser.wait_for("return document.querySelectorAll('#lanes .hold').length === 2")

    def test_that_an_alarm_is_said(self):
        self.world.kill_hamid()
        self.world.flags = (*self.world.flags, "--lock-expire=1s")
        self.world.start_hamid()
        self.open()
        self.hold("gpu-2", 1)
        self.wait_for_text("#alarms", "gpu-2: default/a-gpu-2")
        self.wait_for_text("#alarm-count", "1")
        self.wait_for_text("#rows .line .chip", "Alarm")
        self.browser.run("document.querySelector('#alarms button').focus()")
        self.browser.press("Enter")
        self.wait_for_text("#detail-title", "gpu-2")
        for scheme in ("light", "dark"):
            self.browser.prefer(color_scheme=scheme)
            self.assertEqual(self.browser.run(looks.FAINT_TEXTS)["faint"], [], scheme)

    def is_expected(self, message):
        return "net::ERR_" in message


class Looks(Case):
    """For all eyes, and for those who have none to spare."""

    def check_texts(self):
        for scheme in ("light", "dark"):
            self.browser.prefer(color_scheme=scheme)
            found = self.browser.run(looks.FAINT_TEXTS)
            self.assertEqual(found["faint"], [], scheme)
            self.assertGreater(found["seen"], 30)

    def test_that_texts_stand_out_in_both_schemes(self):
        self.hold()
        self.world.set_lock("2026-01-02T03:04:05Z,default,other", "gpu-7")
        self.wait_for_text("#rows", "other")
        self.check_texts()
        self.browser.run("document.querySelector('#rows .line').click()")
        self.wait_for_text("#queue", "w1-gpu-3")
        self.check_texts()

    def test_that_the_dark_scheme_is_dark(self):
        script = "return getComputedStyle(document.body).backgroundColor"
        self.browser.prefer(color_scheme="dark")
        dark = self.browser.run(script)
        self.browser.prefer(color_scheme="light")
        light = self.browser.run(script)
        brightness = [sum(map(int, text[4:-1].split(","))) for text in (dark, light)]
        self.assertLess(brightness[0], 150)
        self.assertGreater(brightness[1], 650)

    def test_that_everything_has_a_name_for_those_who_listen(self):
        self.hold()
        self.wait_for_text("#rows", "a-gpu-3")
        self.browser.run("document.querySelector('#rows .line').click()")
        self.wait_for_text("#queue", "w1-gpu-3")
        self.assertEqual(self.browser.run(looks.FAULTS), [])
        self.browser.command("Accessibility.enable")
        nodes = self.browser.command("Accessibility.getFullAXTree")["nodes"]
        nameless = [node["role"]["value"] for node in nodes if not node.get("ignored")
                    and any(one["name"] == "focusable" for one in node.get("properties", ()))
                    and node["role"]["value"] not in ("RootWebArea", "rowgroup")
                    and not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [])
        roles = {node["role"]["value"] for node in nodes if not node.get("ignored")}
        self.assertLessEqual({"grid", "row", "gridcell", "columnheader", "searchbox", "radio",
                              "main", "banner", "status"}, roles)

    def test_that_little_moves_for_those_who_ask_for_it(self):
        self.hold()
        peers.wait_for(lambda: "a-gpu-3" in self.world.answers)
        self.wait_for_text("#happened li", "a-gpu-3")
        self.browser.prefer(reduced_motion="no-preference")
        moving = self.browser.run_later(looks.REDRAWN, 2, 20000)
        self.browser.prefer(reduced_motion="reduce")
        still = self.browser.run_later(looks.REDRAWN, 1, 1800)
        self.assertEqual((moving, still), (2, 0))

    def test_that_a_narrow_screen_needs_no_scrolling_aside(self):
        self.hold()
        self.wait_for_text("#rows", "a-gpu-3")
        self.browser.run("document.querySelector('#rows .line').click()")
        self.wait_for_text("#queue", "w1-gpu-3")
        for width in (360, 700, 900, 1280):
            self.browser.set_size(width, 800)
            wide = self.browser.run("return document.scrollingElement.scrollWidth")
            self.assertLessEqual(wide, width)
            cut = self.browser.run(
                "return [...document.querySelectorAll('#tools *, #rows .line > *, .figures dd')]"
                ".filter(one => one.checkVisibility() && "
                "one.getBoundingClientRect().right > innerWidth + 1).length")
            self.assertEqual(cut, 0, width)


class Names(Case):
    """Whatever things are called, they are texts."""

    WORD = "<img src=x onerror=\"window.wasRun=1\"><b>x</b>'\"&amp;"

    def check(self, selector):
        self.wait_for_text(selector, self.WORD)
        self.assertEqual(self.browser.run(
            "return document.querySelectorAll('main img, main b:not(.queue > b)').length"), 0)
        self.assertIsNone(self.browser.run("return window.wasRun"))

    def test_that_a_lock_full_of_markup_is_shown_as_it_is(self):
        self.world.set_lock(self.WORD, "gpu-4")
        self.check("#rows .line")
        self.browser.run("document.querySelector('#rows .line').click()")
        self.check("#itself")

    def test_that_nodes_and_pods_full_of_markup_are_shown_as_they_are(self):
        # No API server lets such names pass; the page must not rely on that.
        self.browser.run("""
            const word = arguments[0], fetch = window.fetch;
            const pod = {namespace: word, pod: word, uid: word, position: 0, priority: 1, group: word,
                         waitedSeconds: 1, leftSeconds: 2, expectedSeconds: 1};
            const slot = {...pod, key: word, state: word, value: word, holder: word, fence: word,
                          ageSeconds: 4, reason: word, alarm: true};
            const node = {node: word, alarm: true, waiting: 1, longestWaitSeconds: 1, paceSeconds: 1,
                          slots: [slot], next: [pod], waiters: [pod],
                          handOvers: [{how: word, reason: word, secondsAgo: 1, heldSeconds: 1,
                                       from: pod, to: pod, key: word, node: word}]};
            window.fetch = async (path, options) => {
                const body = await (await fetch("/api/v1/nodes", options)).json();
                Object.assign(body, path.startsWith("/api/v1/nodes/") ? node : {
                    version: word, readyReason: word, ready: false, nodes: [node],
                    counts: {nodes: 1, busy: 1, waiting: 1, alarms: 1}, last: "1", alarms: [],
                    handOvers: node.handOvers, events: path.includes("after=0") ? [{...pod, node: word,
                        what: "granted", sequence: "1", secondsAgo: 2, afterSeconds: 1, text: word}] : []});
                return {status: 200, json: async () => body};
            };""", self.WORD)
        self.check("#rows .line")
        self.browser.run("document.querySelector('#rows .line').click()")
        for selector in ("#detail-title", "#queue", "#locks", "#itself", "#handed", "#alarms",
                         "#identity", "#unready"):
            self.check(selector)

    def test_that_the_page_asks_nobody_but_hamid_and_only_to_look(self):
        self.hold()
        self.wait_for_text("#rows", "a-gpu-3")
        urls = self.browser.run("return performance.getEntriesByType('resource').map(one => one.name)")
        self.assertEqual([url for url in urls if not url.startswith(self.world.url + "api/v1/")], [])
        refused = self.browser.run("""
            const refused = [];
            for (const attempt of [
                () => document.querySelector("main").setAttribute("onclick", "window.wasRun = 1"),
                () => { document.querySelector("#none").innerHTML = "<b>x</b>"; },
                () => document.body.append(Object.assign(document.createElement("script"),
                                                         {textContent: "window.wasRun = 1"}))]) {
                try { attempt(); refused.push("not"); } catch (error) { refused.push(error.name); }
            }
            return refused;""")
        self.assertEqual(refused, ["TypeError", "TypeError", "TypeError"])
        self.assertIsNone(self.browser.run("return window.wasRun"))

    def is_expected(self, message):
        return "This document requires 'Trusted" in message or "Content Security Policy" in message


class Encrypted(Case):
    """Beyond the loopback the page comes by HTTPS."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        made = certificates.make(folder)
        cls.flags = (f"--tls-cert-file={made / 'server.crt'}", f"--tls-key-file={made / 'server.key'}")
        cls.browser.command("Security.setIgnoreCertificateErrors", ignore=True)

    def open(self):
        self.browser.open(self.world.url.replace("http:", "https:"))
        self.browser.wait_for("return document.body.className === 'live'")

    def test_that_the_page_works_by_https(self):
        self.world.set_lock("2026-01-02T03:04:05Z,default,other", "gpu-7")
        self.wait_for_text("#rows .line", "default/other")
        self.browser.run("document.querySelector('#rows .line').click()")
        self.wait_for_text("#itself", "2026-01-02T03:04:05Z,default,other")


class Lost(Case):
    """hamid goes away, and comes back."""

    def test_that_a_lost_connection_is_said_and_old_data_is_dated(self):
        self.hold()
        self.wait_for_text("#rows", "a-gpu-3")
        address = self.world.status
        self.world.kill_hamid()
        self.wait_for_text("#state", "Connection lost")
        notice = self.browser.wait_for(
            "const lost = document.querySelector('#lost'); return !lost.hidden && lost.textContent")
        self.assertRegex(notice, r"lost: what you see is from \d\d:\d\d:\d\d\. Trying again")
        self.browser.wait_for(
            "const age = document.querySelector('#age').textContent;"
            "return age.endsWith(' old') && parseFloat(age) >= 2")
        self.assertEqual(self.browser.run(NAMES), ["gpu-3"])
        for scheme in ("light", "dark"):
            self.browser.prefer(color_scheme=scheme)
            self.assertEqual(self.browser.run(looks.FAINT_TEXTS)["faint"], [])
        before = self.browser.text("#identity")
        self.world.start_hamid(address)
        self.wait_for_text("#state", "Live")
        self.assertTrue(self.browser.run("return document.querySelector('#lost').hidden"))
        self.assertNotEqual(self.browser.text("#identity"), before)
        self.hold("gpu-8", 0)
        self.wait_for_text("#rows", "a-gpu-8")
        self.wait_for_text("#happened li", "a-gpu-8")

    def is_expected(self, message):
        return "net::ERR_" in message


class Many(Case):
    """Five thousand busy nodes."""

    nodes = ()

    def ask_too_much(self):
        """Whoever asks for pods without end is put off, and nobody else is."""
        def ask(_number):
            return self.world.ask("/api/v1/pods/default/nobody")[0]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = set(pool.map(ask, range(400)))
        self.assertEqual(statuses, {404, 429})
        self.assertEqual(self.world.read("/api/v1/nodes")["counts"]["busy"], MANY)

    def test_that_five_thousand_busy_nodes_are_shown_found_and_scrolled_through(self):
        self.world.make_locked_nodes({
            f"node-{number:04}.rack-{number % 40}.example":
            f"2026-01-02T03:04:05Z,default,pod-{number}" for number in range(MANY)})
        self.wait_for_text("#busy", "5,000")
        self.wait_for_text("#shown", "5,000 of 5,000")
        cost = self.browser.run_later(looks.COST)
        self.assertLess(cost["drawn"], 2 * cost["read"], cost)
        moved = self.browser.run_later(looks.SCROLL)
        self.assertLess(moved["most"], 60)
        self.assertGreater(moved["end"], MANY * 40)
        self.assertLessEqual(moved["blank"], 3, moved)
        self.ask_too_much()
        self.browser.press("/", *"node-4321")
        self.browser.wait_for(
            f"return (() => {{ {NAMES} }})().join() === 'node-4321.rack-1.example'")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#rows .line').length"), 1)
        self.browser.run("document.querySelector('#search').value = ''")
        self.browser.press(*"pod-77", "ArrowDown", "End", "Enter")
        self.wait_for_text("#detail-title", "node-0779.rack-19.example")


if __name__ == "__main__":
    unittest.main()
