# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The alert rules and the dashboard: promtool takes them, each alert fires for what it is about
and for nothing else, and they name nothing that hamid does not export."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from observability import worlds

FOLDER = worlds.ROOT / "deploy/observability"
RULES = FOLDER / "alerts.yaml"
DASHBOARD = FOLDER / "grafana-hamid.json"
NAME = re.compile(r"\bhamid_[a-z0-9_]+")
LENGTH = 90  # minutes of each scenario

# A quiet cluster: each minute some binds, all well. A series' values as promtool writes them.
S, N = 'instance="s"', 'instance="n"'
QUIET = {
    f'hamid_build_info{{{S},role="scheduler"}}': "1x",
    f"hamid_ready{{{S}}}": "1x",
    f"hamid_lock_waiters{{{S}}}": "0 3 " * 50,
    f"hamid_lock_alarms_total{{{S}}}": "0x",
    f"hamid_lock_lost_total{{{S}}}": "0x",
    f"hamid_lock_in_doubt_total{{{S}}}": "0x",
    f'hamid_lock_acquire_total{{{S},outcome="granted"}}': "0+30x",
    f'hamid_binds_total{{{S},outcome="bound"}}': "0+30x",
    f'hamid_binds_total{{{S},outcome="contention"}}': "0+1x",
    f'hamid_binds_total{{{S},outcome="error"}}': "0x",
    f'hamid_lock_takeovers_total{{{S},proof="gone"}}': "0+1x",
    f'hamid_lock_takeovers_total{{{S},proof="age"}}': "0x",
    f'hamid_lock_refusals_total{{{S},reason="stalled"}}': "0x",
    f'hamid_lock_wait_seconds_bucket{{{S},le="60"}}': "0+30x",
    f'hamid_lock_wait_seconds_bucket{{{S},le="300"}}': "0+30x",
    f'hamid_lock_wait_seconds_bucket{{{S},le="+Inf"}}': "0+30x",
    f'hamid_lock_hold_seconds_bucket{{{S},le="10"}}': "0+30x",
    f'hamid_lock_hold_seconds_bucket{{{S},le="30"}}': "0+30x",
    f'hamid_lock_hold_seconds_bucket{{{S},le="+Inf"}}': "0+30x",
    f'hamid_transport_requests_total{{{S},verb="patch",code="200"}}': "0+60x",
    f'hamid_transport_requests_total{{{S},verb="patch",code="503"}}': "0+1x",
    f'hamid_transport_requests_total{{{S},verb="patch",code="403"}}': "0x",
    f'hamid_transport_request_duration_seconds_bucket{{{S},verb="patch",le="1"}}': "0+60x",
    f'hamid_transport_request_duration_seconds_bucket{{{S},verb="patch",le="2.5"}}': "0+60x",
    f'hamid_transport_request_duration_seconds_bucket{{{S},verb="patch",le="+Inf"}}': "0+60x",
    f'hamid_watch_lag_seconds_bucket{{{S},le="1"}}': "0+30x",
    f'hamid_watch_lag_seconds_bucket{{{S},le="5"}}': "0+30x",
    f'hamid_watch_lag_seconds_bucket{{{S},le="+Inf"}}': "0+30x",
    f"hamid_transport_watch_restarts_total{{{S}}}": "0+0.1x",
    f"hamid_node_swapped{{{N}}}": "0x",
    f'hamid_node_starts_total{{{N},verdict="swapped"}}': "0x",
    f'hamid_node_starts_total{{{N},verdict="confirmed"}}': "0+5x",
    f'hamid_node_allocations_total{{{N},outcome="served"}}': "0+5x",
    f'hamid_node_allocations_total{{{N},outcome="held"}}': "0x",
    f'hamid_node_releases_total{{{N},outcome="given_up"}}': "0x",
    f"hamid_node_books_failures_total{{{N}}}": "0x",
}

# What is different where an alert fires: series that begin so -> their values; None: absent.
ONE = "0 0 0 1x"
SCENES = {
    "HamidSchedulerDown": {"hamid_build_info": None},
    "HamidNotReady": {"hamid_ready": "0x"},
    "HamidHolderOverdue": {"hamid_lock_alarms_total": ONE},
    "HamidNothingGranted": {"hamid_lock_waiters": "4x", "hamid_lock_acquire_total": "7x"},
    "HamidBindsFail": {f'hamid_binds_total{{{S},outcome="error"': "0+20x"},
    "HamidWaitsLong": {f'hamid_lock_wait_seconds_bucket{{{S},le="60"': "0+20x"},
    "HamidHoldsLong": {f'hamid_lock_hold_seconds_bucket{{{S},le="10"': "0+20x"},
    "HamidLockLost": {"hamid_lock_lost_total": ONE},
    "HamidLocksLeftBehind": {f'hamid_lock_takeovers_total{{{S},proof="age"': ONE},
    "HamidInDoubt": {"hamid_lock_in_doubt_total": "0+6x"},
    "HamidStalledNodes": {"hamid_lock_refusals_total": ONE},
    "HamidApiErrors": {f'hamid_transport_requests_total{{{S},verb="patch",code="503"': "0+9x"},
    "HamidApiForbidden": {f'hamid_transport_requests_total{{{S},verb="patch",code="403"': ONE},
    "HamidApiSlow": {
        f'hamid_transport_request_duration_seconds_bucket{{{S},verb="patch",le="1"': "0+50x"},
    "HamidWatchBehind": {f'hamid_watch_lag_seconds_bucket{{{S},le="1"': "0+20x"},
    "HamidWatchUnsteady": {"hamid_transport_watch_restarts_total": "0+1x"},
    "HamidDevicesSwapped": {"hamid_node_swapped": "1x"},
    "HamidAllocatesRefused": {f'hamid_node_allocations_total{{{N},outcome="held"': ONE},
    "HamidReleaseGivenUp": {"hamid_node_releases_total": ONE},
    "HamidBooksUnreadable": {"hamid_node_books_failures_total": "0+1x"},
}
AT = {name: "12m" if ONE in scene.values() else "1h" for name, scene in SCENES.items()}


def values(text):
    return f"{text}{LENGTH}" if text.endswith("x") else text


def test_of(name, scene, at):
    """One promtool test: these alerts fire at that time, and no other."""
    series = [{"series": key, "values": values(next(
        (other for start, other in scene.items() if key.startswith(start)), text))}
        for key, text in QUIET.items()
        if not any(key.startswith(start) and other is None for start, other in scene.items())]
    firing = [{"labels": f'{{alertname="{name}"}}', "value": 1}] if name else []
    return {"name": name or "quiet", "interval": "1m", "input_series": series,
            "promql_expr_test": [{
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": at,
                "exp_samples": firing}]}


def expressions():
    """Of all panels and variables of the dashboard."""
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    found = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    found += [one["expr"] for one in board["annotations"]["list"]]
    found += [one["query"]["query"] for one in board["templating"]["list"]
              if isinstance(one["query"], dict)]
    return found


def promtool(*words):
    return subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)


@unittest.skipUnless(shutil.which("promtool"), "promtool (Debian: prometheus) is not there")
class Promtool(unittest.TestCase):
    """What Prometheus itself says."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tests(self, tests):
        file = self.folder / "tests.yaml"
        file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m",
                                    "tests": tests}))
        return promtool("test", "rules", file)

    def test_that_the_rules_are_taken(self):
        done = promtool("check", "rules", RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(SCENES)} rules found", done.stdout)

    def test_that_each_alert_fires_alone_for_what_it_is_about(self):
        done = self.run_tests([test_of(name, scene, AT[name]) for name, scene in SCENES.items()])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_that_nothing_fires_where_all_is_well(self):
        done = self.run_tests([test_of("", {}, at) for at in ("12m", "1h", "80m")])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_that_a_missing_alert_would_be_seen(self):
        done = self.run_tests([test_of("HamidLockLost", {}, "1h")])
        self.assertNotEqual(done.returncode, 0)

    def test_that_the_dashboards_queries_can_be_read(self):
        rules = [{"record": f"panel:{index}", "expr": re.sub(
            r"\$__rate_interval", "5m", text).replace("$instance", ".*")}
            for index, text in enumerate(expressions()) if not text.startswith("label_values")]
        file = self.folder / "panels.yaml"
        file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
        done = promtool("check", "rules", file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Names(unittest.TestCase):
    """Against running daemons."""

    @classmethod
    def setUpClass(cls):
        with worlds.Scheduler() as world:
            cls.exported = world.metrics().names()
            types = dict(world.metrics().types)
        with tempfile.TemporaryDirectory() as folder:
            gateway, kubelet = (pathlib.Path(folder) / name for name in ("gateway", "kubelet"))
            gateway.mkdir(mode=0o700)
            kubelet.mkdir(mode=0o700)
            with worlds.Node(f"--gateway={gateway}", f"--kubelet-plugins={kubelet}") as world:
                cls.exported |= world.metrics().names()
                types.update(world.metrics().types)
        cls.metrics = set(types)

    def test_that_rules_and_dashboard_name_only_what_is_exported(self):
        for file, text in ((RULES, RULES.read_text(encoding="utf-8")),
                           (DASHBOARD, "\n".join(expressions()))):
            used = {name for name in NAME.findall(text)}
            self.assertGreater(len(used), 10, file)
            self.assertEqual(used - self.exported, set(), file)

    def test_that_each_alert_has_a_scene_and_a_place_in_the_documentation(self):
        alerts = set(re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8")))
        text = (worlds.ROOT / "docs/operations-monitoring.md").read_text(encoding="utf-8")
        self.assertEqual(alerts, set(SCENES))
        self.assertEqual(alerts, set(re.findall(r"\| `(Hamid\w+)` \|", text)))

    def test_that_the_documentation_tells_of_each_metric_and_of_no_other(self):
        text = (worlds.ROOT / "docs/operations-monitoring.md").read_text(encoding="utf-8")
        told = set(re.findall(r"^\| `(hamid_[a-z0-9_]+)`", text, re.MULTILINE))
        self.assertEqual(told, self.metrics)

    def test_that_pages_for_operators_send_nobody_to_a_metric_that_is_not_there(self):
        for name in ("troubleshooting", "node", "operations-monitoring"):
            text = (worlds.ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
            named = set(re.findall(r"`(hamid_[a-z0-9_]+)[`{]", text))
            self.assertGreater(len(named), 0, name)
            self.assertEqual(named - self.metrics - self.exported, set(), name)

    def test_that_each_panel_has_a_place_and_a_query(self):
        panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            at = panel["gridPos"]
            cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells
            if panel["type"] != "row":
                self.assertTrue(panel["targets"], panel["title"])
