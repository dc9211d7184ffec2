# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from cluster import deployment, permissions

CLUSTER = {"metadata": {"name": "c"}, "rules": [
    {"apiGroups": [""], "resources": ["nodes", "pods/binding"], "verbs": ["get", "patch"]}]}
LEASES = {"metadata": {"name": "l", "namespace": "a"}, "rules": [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}]}


def line(verb, resource, user="us", decision="allow", **about):
    return json.dumps({"user": {"username": user}, "verb": verb,
                       "objectRef": {"resource": resource, **about},
                       "annotations": {"authorization.k8s.io/decision": decision}})


class Roles(unittest.TestCase):
    def test_each_verb_on_each_resource_is_a_permission_of_its_own(self):
        self.assertEqual(permissions.of_roles([CLUSTER, LEASES]), {
            ("get", "nodes", None), ("patch", "nodes", None), ("get", "pods/binding", None),
            ("patch", "pods/binding", None), ("get", "leases.coordination.k8s.io", "a")})

    def test_a_wildcard_is_no_exact_role(self):
        wide = {"metadata": {"name": "w"}, "rules": [
            {"apiGroups": ["*"], "resources": ["nodes"], "verbs": ["get"]}]}
        with self.assertRaises(ValueError):
            permissions.of_roles([wide])

    def test_a_role_loses_just_the_one_permission(self):
        rules = permissions.without(CLUSTER, ("get", "nodes", None))
        self.assertEqual(permissions.of_roles([{"metadata": {"name": "c"}, "rules": rules}]),
                         permissions.of_roles([CLUSTER]) - {("get", "nodes", None)})

    def test_a_role_without_the_permission_keeps_all_of_its_own(self):
        rules = permissions.without(LEASES, ("get", "nodes", None))
        self.assertEqual(rules, [{"verbs": ["get"], "apiGroups": ["coordination.k8s.io"],
                                  "resources": ["leases"]}])


class Log(unittest.TestCase):
    def test_what_was_asked_is_told_apart_by_user_and_decision(self):
        log = [line("get", "nodes", name="n"), line("get", "nodes", user="them"),
               line("create", "pods", subresource="binding", namespace="a"),
               line("get", "leases", apiGroup="coordination.k8s.io", namespace="b"),
               line("patch", "nodes", decision="forbid"),
               json.dumps({"user": {"username": "us"}, "verb": "get", "requestURI": "/version"})]
        self.assertEqual(permissions.used(log, "us"), (
            {("get", "nodes", ""), ("create", "pods/binding", "a"),
             ("get", "leases.coordination.k8s.io", "b")}, {("patch", "nodes", "")}))

    def test_a_permission_that_nothing_needs_is_found(self):
        allowed = permissions.of_roles([CLUSTER])
        self.assertEqual(permissions.unused(allowed, {("get", "nodes", ""),
                                                      ("patch", "pods/binding", "a")}),
                         [("get", "pods/binding", None), ("patch", "nodes", None)])

    def test_a_role_of_a_namespace_covers_nothing_elsewhere(self):
        allowed = permissions.of_roles([LEASES])
        there = ("get", "leases.coordination.k8s.io", "b")
        self.assertEqual(permissions.uncovered(allowed, {there}), [there])
        self.assertEqual(permissions.unused(allowed, {there}),
                         [("get", "leases.coordination.k8s.io", "a")])


class Manifests(unittest.TestCase):
    def test_each_document_says_where_it_goes(self):
        paths = {document.path for document in deployment.documents("rbac/scheduler-leases.yaml")}
        base = "/apis/rbac.authorization.k8s.io/v1/namespaces/hami-nodelock"
        self.assertEqual(paths, {f"{base}/roles/hamid-scheduler-leases",
                                 f"{base}/rolebindings/hamid-scheduler-leases"})

    def test_every_manifest_can_be_read(self):
        names = deployment.manifests()
        self.assertIn("admission/pods.yaml", names)
        self.assertEqual([name for name in names if name.startswith("kube-scheduler/")], [])
        for name in names:
            self.assertTrue(deployment.documents(name), name)
