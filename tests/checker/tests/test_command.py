# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import tempfile
import unittest

from checker import command, events, timeline
from checker.tests.handmade import HandmadeLog, good_burst


class Reading(unittest.TestCase):
    def text(self, log):
        return [json.dumps(line) for line in log.lines]

    def test_a_last_line_that_was_cut_off_is_left_out(self):
        text = self.text(good_burst(1))
        self.assertEqual(len(events.read(text + ['{"kind":"Ev'])), len(text))

    def test_an_unreadable_line_in_the_middle_is_an_error_that_names_it(self):
        text = self.text(good_burst(1))
        with self.assertRaisesRegex(events.UnreadableLog, "line 2"):
            events.read(text[:1] + ["nonsense"] + text[1:])

    def test_two_stages_of_one_request_are_one_event(self):
        log = HandmadeLog()
        log.request(0, "watch", "nodes", "")
        started = dict(log.lines[0], stage="ResponseStarted")
        received = dict(log.lines[0], stage="RequestReceived", auditID="other")
        text = [json.dumps(line) for line in (started, log.lines[0], received)]
        self.assertEqual(len(events.read(text)), 1)

    def test_lines_are_put_into_the_order_of_their_sequence(self):
        text = self.text(good_burst(2, sequence=True))
        found = events.read(reversed(text))
        self.assertEqual([event.sequence for event in found],
                         list(range(1, len(text) + 1)))

    def test_a_request_without_a_sequence_stands_where_its_time_says(self):
        log = good_burst(2, sequence=True)
        log.request(110, "get", "nodes", "never-delivered", 503)
        del log.lines[-1]["annotations"]
        found = events.read(self.text(log))
        place = [event.name for event in found].index("never-delivered")
        numbers = [event.sequence for event in found if event.sequence is not None]
        self.assertEqual(numbers, sorted(numbers))
        self.assertLess(found[place - 1].finished, found[place].finished)
        self.assertGreater(found[place + 1].finished, found[place].received)

    def test_annotations_are_found_in_each_form_of_a_patch(self):
        bodies = ([{"op": "add", "path": "/metadata/annotations/a.b~1c~0d", "value": "1"}],
                  [{"op": "add", "path": "/metadata/annotations", "value": {"a.b/c~d": "1"}}],
                  {"metadata": {"annotations": {"a.b/c~d": "1"}}})
        for body in bodies:
            log = HandmadeLog()
            log.request(0, "patch", "nodes", "n", request=body)
            event = events.read(self.text(log))[0]
            self.assertEqual(events.requested_annotations(event), {"a.b/c~d": "1"})

    def test_a_test_operation_writes_nothing(self):
        log = HandmadeLog()
        log.request(0, "patch", "nodes", "n", request=[
            {"op": "test", "path": "/metadata/annotations/a", "value": "1"}, "odd"])
        self.assertEqual(events.requested_annotations(events.read(self.text(log))[0]), {})


class Timeline(unittest.TestCase):
    def test_each_pod_has_a_row_with_the_times_of_its_binding_and_success(self):
        text = "\n".join(timeline.draw(good_burst(3).report()))
        self.assertIn("node gpu-0: 3 pods bound, 3 served in 0.16 s", text)
        self.assertRegex(text, r"pod-1 .*#\| +.*bound +0\.124 s +served +0\.136 s")

    def test_rows_are_limited_and_the_rest_is_counted(self):
        lines = timeline.draw(good_burst(9).report(), rows=4)
        self.assertEqual(sum("served  " in line and "pod-" in line for line in lines), 4)
        self.assertIn("  ... and 5 more", lines)

    def test_a_pod_without_a_success_and_one_without_a_binding_are_shown_as_such(self):
        log = good_burst(1)
        log.create(1, "pod-8")
        log.create(2, "pod-9")
        log.bind(200, "pod-8")
        text = "\n".join(timeline.draw(log.report()))
        self.assertRegex(text, r"pod-8 .*! .*never served")
        self.assertIn("never bound: pod-9", text)


class Command(unittest.TestCase):
    def run_on(self, log, *arguments):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
            file.write("".join(json.dumps(line) + "\n" for line in log.lines))
            file.flush()
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = command.main([*arguments, file.name])
        return code, out.getvalue()

    def test_the_last_line_is_json_when_asked(self):
        code, text = self.run_on(good_burst(4), "--json", "--timeline", "--fifo",
                                 "--allocate-ms", "20")
        self.assertEqual(code, 0)
        values = json.loads(text.splitlines()[-1])
        self.assertEqual((values["bound"], values["fifo_violations"]), (4, 0))

    def test_without_flags_each_figure_has_a_line(self):
        code, text = self.run_on(good_burst(4))
        self.assertEqual(code, 0)
        self.assertRegex(text, r"double_holds +0\n")
        self.assertRegex(text, r"fifo_violations +not asked\n")

    def test_a_log_that_is_not_there_is_said_so(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(command.main(["/nonexistent/audit.log"]), 2)
        self.assertIn("audit.log", err.getvalue())


if __name__ == "__main__":
    unittest.main()
