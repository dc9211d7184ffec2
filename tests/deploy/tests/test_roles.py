# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamictl doctor asks for exactly what the manifests give."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
RULE = re.compile(r"^- apiGroups: \[(.*)\]\n  resources: \[(.*)\]\n  verbs: \[(.*)\]$", re.MULTILINE)
ASKED = re.compile(r'\{"(\w+)", "([\w.]*)", "(\w+)", (NULL|"\w+"),')
TABLES = {"scheduler_rules": "scheduler.yaml", "lease_rules": "scheduler-leases.yaml",
          "node_rules": "node.yaml"}


def given(text):
    """(verb, group, resource) of each rule of a manifest, as it is written in deploy/."""
    found = set()
    for rule in RULE.findall(text):
        groups, resources, verbs = ([word.strip(' "') for word in part.split(",")] for part in rule)
        found |= {(verb, group, resource) for verb in verbs for group in groups
                  for resource in resources}
    return found


def asked(text, table):
    body = re.search(rf"{table}\[\] = \{{(.*?)^\}};", text, re.DOTALL | re.MULTILINE)[1]
    return {(verb, group, resource + ("/" + part.strip('"') if part != "NULL" else ""))
            for verb, group, resource, part in ASKED.findall(body)}


class Roles(unittest.TestCase):
    def test_doctor_asks_for_what_the_manifests_give(self):
        """But for the node's events in one namespace, without which nothing fails."""
        text = (ROOT / "daemon/hamictl/doctor/rights.c").read_text(encoding="utf-8")
        for table, manifest in TABLES.items():
            rules = given((ROOT / "deploy/rbac" / manifest).read_text(encoding="utf-8"))
            self.assertGreater(len(rules), 5, manifest)
            if table == "node_rules":
                rules.remove(("create", "", "events"))
            self.assertEqual(asked(text, table), rules, manifest)

    def test_a_rule_is_read_as_it_is_written(self):
        self.assertEqual(given('- apiGroups: [""]\n  resources: [a, b/c]\n  verbs: [get]\n'),
                         {("get", "", "a"), ("get", "", "b/c")})
