# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""`hamictl doctor` and `hamictl release` on the real API server.

A set-up as deploy/ and README.md have it passes; then one thing at a time is made wrong, found, and
put right again. What doctor says of kube-scheduler is tried on kube-scheduler itself.
"""

import copy
import json
import os
import subprocess

from cluster import api, deployment, manifests, processes, suites
from hamictl import world

NODE = "gpu-1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
HAMID_CONFIGMAPS = f"/api/v1/namespaces/{deployment.NAMESPACE}/configmaps"
CONFIGMAP = "hami-scheduler-newversion"
PODS = f"/api/v1/namespaces/{deployment.NAMESPACE}/pods"
POLICIES = ("admission/writers.yaml", "admission/nodes.yaml", "admission/pods.yaml",
            "admission/bindings.yaml", "admission/leases.yaml")
LOCK = "hami.io/mutex.lock"
LEASE = ('{"version":1,"lock":"%s","uid":"uid-1","fence":"41","holder":"h_1","attempt":"7",'
         '"hold_ms":15000,"free":"node"}')


def run(results, plane):
    scene = Scene(results, plane)
    scene.prepare()
    scene.check_right()
    scene.check_configurations()
    scene.check_rights()
    scene.check_policies()
    scene.check_tls()
    scene.check_schedulers()
    scene.check_locks()
    scene.check_release()
    scene.check_operator()
    scene.check_kube_scheduler()
    return {"set_ups": scene.count}


class Scene:
    def __init__(self, results, plane):
        self.results = results
        self.plane = plane
        self.client = plane.client()
        self.count = 0
        # Before 1.30 the version alone is worth a warning, and there are no policies.
        self.is_old = plane.minor < 30
        self.always = {"server-version"} if self.is_old else set()

    # ---- a right set-up ----

    def prepare(self):
        manifests.make_node(self.client, NODE, "nvidia.com/gpu")
        if not self.is_old:
            deployment.apply(self.client, *POLICIES)
        deployment.apply(self.client, "pods/scheduler.yaml")
        self.client.need("POST", PODS, self._pod())

    @staticmethod
    def _configmap(text):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIGMAP},
                "data": {"config.yaml": text}}

    @staticmethod
    def _pod(**spec):
        pod = copy.deepcopy(world.SCHEDULER_POD)
        pod["metadata"]["namespace"] = deployment.NAMESPACE
        pod["spec"].update(serviceAccountName="hamid-scheduler", schedulerName="nobody", **spec)
        return pod

    def hamictl(self, *arguments, kubeconfig=None):
        return subprocess.run(
            [str(suites.BUILD / "daemon/hamictl/hamictl"), *arguments], text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "KUBECONFIG": str(kubeconfig or self.plane.kubeconfig())})

    def doctor(self, *arguments, kubeconfig=None):
        done = self.hamictl("doctor", "-o", "json", *arguments, kubeconfig=kubeconfig)
        try:
            report = json.loads(done.stdout)
        except ValueError as error:
            raise processes.Failed(f"doctor ended with {done.returncode}: {done.stdout}") from error
        return done.returncode, {check["check"]: check["findings"] for check in report["checks"]
                                 if check["findings"]}, report

    def expect(self, name, checks, part, *arguments, kubeconfig=None):
        """These checks alone find something, and one of them says this part."""
        self.count += 1
        code, found, _ = self.doctor(*arguments, kubeconfig=kubeconfig)
        texts = [finding["what"] for findings in found.values() for finding in findings]
        self.results.check(
            set(found) == set(checks) | self.always and code in (3, 4)
            and any(part in text for text in texts), f"doctor finds {name}", (code, texts))

    def check_right(self):
        code, found, report = self.doctor()
        self.results.check(set(found) == self.always and code == (3 if self.is_old else 0),
                           "doctor passes a right set-up", (code, found))
        skipped = {check["check"] for check in report["checks"] if check["result"] == "skipped"}
        allowed = {"plugin-versions", "hamid-ready"} | ({"admission-policies"} if self.is_old else set())
        self.results.check(skipped == allowed, "doctor could look at all the rest", skipped)
        self.client.need("DELETE", f"{HAMID_CONFIGMAPS}/hamid-scheduler")
        for path in sorted((deployment.FOLDER / "kube-scheduler").glob("*.yaml")):
            code, found, _ = self.doctor("--scheduler-config", str(path))
            self.results.check(set(found) == self.always,
                               f"doctor passes kube-scheduler/{path.name}", found)
        self.client.need("POST", CONFIGMAPS, self._configmap(world.CONFIGURATION))
        code, found, _ = self.doctor()
        self.results.check(set(found) == self.always,
                           "doctor passes README.md's configuration in HAMi's ConfigMap", found)

    # ---- wrong ones ----

    def configure(self, text):
        self.client.need("PUT", f"{CONFIGMAPS}/{CONFIGMAP}", self._configmap(text))

    def check_configurations(self):
        right = world.CONFIGURATION
        other = right.split("extenders:\n")[1].replace("127.0.0.1:8080", "127.0.0.1:443")
        for name, text, checks, part in (
                ("another binder before hamid", right.replace("extenders:\n", "extenders:\n" + other),
                 {"other-binder", "managed-resources"}, "asked first"),
                ("duplicate managed resources", right + other.replace("  bindVerb: bind\n", ""),
                 {"managed-resources"}, "nvidia.com/gpu"),
                ("a short httpTimeout", right.replace("600s", "30s"), {"http-timeout"}, "30s"),
                ("ignorable: true", right.replace("ignorable: false", "ignorable: true"),
                 {"ignorable"}, "ignorable")):
            self.configure(text)
            self.expect(name, checks, part)
        self.configure(right)

    def check_rights(self):
        path = f"{RBAC}/clusterroles/hamid-scheduler"
        role = self.client.need("GET", path).body
        for rule, resource in enumerate(("nodes", "pods")):
            less = copy.deepcopy(role)
            less["rules"][rule]["verbs"].remove("patch")
            less["metadata"].pop("resourceVersion")
            self.client.need("PUT", path, less)
            self._until_may("patch", resource, False)
            self.expect(f"the missing right to patch {resource}", {"scheduler-rights"},
                        f"may not patch {resource}")
        role["metadata"].pop("resourceVersion")
        self.client.need("PUT", path, role)
        self._until_may("patch", "pods", True)
        self._check_excess()

    def _check_excess(self):
        binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                   "metadata": {"name": "too-much"},
                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                               "name": "cluster-admin"},
                   "subjects": [{"kind": "ServiceAccount", "name": "hamid-scheduler",
                                 "namespace": deployment.NAMESPACE}]}
        self.client.need("POST", f"{RBAC}/clusterrolebindings", binding)
        self._until_may("get", "secrets", True)
        self.expect("the rights of an administrator", {"excess-rights"}, "may get secrets")
        self.client.need("DELETE", f"{RBAC}/clusterrolebindings/too-much")
        self._until_may("get", "secrets", False)

    def _until_may(self, verb, resource, allowed, group=""):
        """The server's authorizer hears of a changed role a moment later."""
        account = f"system:serviceaccount:{deployment.NAMESPACE}:hamid-scheduler"
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                  "spec": {"user": account, "resourceAttributes": {"verb": verb, "group": group,
                                                                   "resource": resource}}}
        deployment.wait_until(
            lambda: self.client.need("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                     review).body["status"]["allowed"] is allowed, 30,
            f"{verb} {resource}: {allowed}")

    def check_policies(self):
        if self.is_old:
            self.results.skip("doctor finds missing admission policies",
                              f"Kubernetes {self.plane.version} has none")
            return
        for document in deployment.documents("admission/nodes.yaml"):
            if document.kind.endswith("Binding"):
                self.client.need("DELETE", document.path)
        self.expect("a policy that is bound nowhere", {"admission-policies"},
                    "hami-nodelock-nodes is bound nowhere")
        for document in deployment.documents("admission/nodes.yaml"):
            if not document.kind.endswith("Binding"):
                self.client.need("DELETE", document.path)
        self.expect("a missing admission policy", {"admission-policies"},
                    "hami-nodelock-nodes is missing")
        deployment.apply(self.client, "admission/nodes.yaml")
        path = f"{RBAC}/clusterrolebindings/hami-nodelock-schedule"
        binding = self.client.need("GET", path).body
        self.client.need("DELETE", path)
        self._until_may("schedule", "locks", False, "nodelock.hami.io")
        self.expect("an account that the policies refuse", {"scheduler-rights"},
                    "may not schedule locks.nodelock.hami.io")
        binding["metadata"] = {"name": binding["metadata"]["name"]}
        self.client.need("POST", f"{RBAC}/clusterrolebindings", binding)
        self._until_may("schedule", "locks", True, "nodelock.hami.io")

    def check_tls(self):
        path = self.plane.folder / "insecure.kubeconfig"
        path.touch(mode=0o600)
        login = json.loads(self.plane.kubeconfig().read_text())
        cluster = login["clusters"][0]["cluster"]
        del cluster["certificate-authority"]
        cluster["insecure-skip-tls-verify"] = True
        path.write_text(json.dumps(login))
        self.expect("an insecure kubeconfig", {"tls"}, "insecure-skip-tls-verify", kubeconfig=path)
        url = "http://hamid.hami-system:8080"
        self.configure(world.CONFIGURATION.replace("http://127.0.0.1:8080", url))
        self.expect("plain HTTP over the network", {"tls"}, "plain HTTP", "--extender", url)
        self.configure(world.CONFIGURATION)

    def check_schedulers(self):
        second = self._pod(containers=world.SCHEDULER_POD["spec"]["containers"][1:2])
        second["metadata"].update(name="another-hami", ownerReferences=[], namespace="default")
        second["spec"].pop("serviceAccountName")
        self.client.need("POST", "/api/v1/namespaces/default/pods", second)
        self.expect("a second HAMi scheduler", {"one-scheduler"}, "Pod default/another-hami")
        self.client.need("DELETE", "/api/v1/namespaces/default/pods/another-hami?gracePeriodSeconds=0")

    def annotate(self, annotations):
        self.client.need("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {
            "annotations": annotations}}, api.MERGE_PATCH)

    def check_locks(self):
        self.annotate({LOCK: "locked by me"})
        self.expect("a lock that can't be read", {"readable-locks"}, "locked by me")
        self.annotate({LOCK: "2026-01-02T03:04:05Z,default,gone"})
        self.expect("an old lock", {"old-locks"}, "default/gone")
        self.annotate({LOCK: "2999-01-02T03:04:09Z,default,b",
                       "hami.io/mutex.lease": LEASE % "2999-01-02T03:04:05Z,default,a"})
        self.expect("a lock that was written over hamid's", {"one-scheduler"}, "default,b")
        self.annotate({LOCK: None, "hami.io/mutex.lease": None})

    # ---- release ----

    def _token(self):
        nodes = json.loads(self.hamictl("locks", "--node", NODE, "-o", "json").stdout)
        return nodes[0]["slots"][0]["token"]

    def check_release(self):
        """An unbound owner is revoked, a changed pair is left, one that waits needs force."""
        pod = manifests.pod("held")
        pod["spec"]["schedulerName"] = "nobody"
        made = self.client.need("POST", "/api/v1/namespaces/default/pods", pod).metadata
        self.annotate({LOCK: "2026-01-02T03:04:05Z,default,held"})
        token = self._token()
        done = self.hamictl("release", NODE, "--yes", "--expect", token)
        after = self.client.need("GET", "/api/v1/namespaces/default/pods/held").metadata
        self.results.check(
            done.returncode == 0 and self._lock() is None and
            after["annotations"]["hami.io/mutex.revoked"].startswith(f"{NODE},0,hamictl_"),
            "hamictl release revokes an unbound owner and removes its lock", done.stdout)
        late = self._bind(made)
        self.results.check(late.code == 409, "its Binding that was on the way is refused", late)
        self.annotate({LOCK: "2026-01-02T03:04:06Z,default,held"})
        done = self.hamictl("release", NODE, "--yes", "--expect", token)
        self.results.check(
            done.returncode == 1 and self._lock() == "2026-01-02T03:04:06Z,default,held",
            "hamictl release leaves a pair that changed", done.stdout)
        bound = self._bind(after)
        token = self._token()
        refused = self.hamictl("release", NODE, "--yes", "--expect", token)
        forced = self.hamictl("release", NODE, "--yes", "--force", "--expect", token)
        self.results.check(
            bound.code == 201 and refused.returncode == 1 and "waits for Allocate" in
            refused.stdout and forced.returncode == 0 and self._lock() is None,
            "hamictl release needs force for a pod that is bound and waits",
            (bound, refused.stdout, forced.stdout))

    def check_operator(self):
        """With the policies on: whoever may release, and whoever merely may patch nodes and pods."""
        if self.is_old:
            return
        self._allow_to_patch()
        pod = manifests.pod("held-again")
        pod["spec"]["schedulerName"] = "nobody"
        self.client.need("POST", "/api/v1/namespaces/default/pods", pod)
        self.annotate({LOCK: "2026-01-02T03:04:05Z,default,held-again"})
        words = ("release", NODE, "--yes", "--expect", self._token())
        refused = self.hamictl(*words, kubeconfig=self.plane.kubeconfig("kubelet"))
        self.results.check(
            refused.returncode == 1 and "hami-nodelock" in refused.stdout and
            self._lock() is not None, "the policies refuse a release by whoever may patch nodes",
            refused.stdout)
        done = self.hamictl(*words, kubeconfig=self.plane.kubeconfig("operator"))
        after = self.client.need("GET", "/api/v1/namespaces/default/pods/held-again").metadata
        self.results.check(
            done.returncode == 0 and self._lock() is None and
            "hami.io/mutex.revoked" in after.get("annotations", {}),
            "the policies let a member of hami-nodelock-operators release", done.stdout)

    def _allow_to_patch(self):
        self.client.need("POST", f"{RBAC}/clusterroles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "test-patch"}, "rules": [
                {"apiGroups": [""], "resources": ["nodes", "pods"],
                 "verbs": ["get", "list", "patch"]}]})
        users = [manifests.USERS[name][0] for name in ("operator", "kubelet")]
        self.client.need("POST", f"{RBAC}/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "test-patch"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "test-patch"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
                         for user in users]})
        # The authorizer hears of it a moment later.
        client = self.plane.client("kubelet")
        deployment.wait_until(
            lambda: client.request("PATCH", f"/api/v1/nodes/{NODE}?dryRun=All", {},
                                   api.MERGE_PATCH).code == 200, 30, "the right to patch nodes")

    def _lock(self):
        node = self.client.need("GET", f"/api/v1/nodes/{NODE}")
        return node.metadata.get("annotations", {}).get(LOCK)

    def _bind(self, metadata):
        return self.client.request(
            "POST", f"/api/v1/namespaces/default/pods/{metadata['name']}/binding", {
                "apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": metadata["name"], "uid": metadata["uid"],
                             "resourceVersion": metadata["resourceVersion"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}})

    # ---- is it true? ----

    def check_kube_scheduler(self):
        entry = {"urlPrefix": "http://127.0.0.1:8080", "bindVerb": "bind",
                 "managedResources": [{"name": "nvidia.com/gpu", "ignoredByScheduler": True}]}
        other = {"urlPrefix": "http://127.0.0.1:8081", "filterVerb": "filter"}
        for name, extenders, words in (
                ("two entries with one managed resource",
                 [entry, {**other, "managedResources": entry["managedResources"]}],
                 "duplicate extender managed resource name"),
                ("two entries that bind", [entry, {**other, "bindVerb": "bind"}], "bind")):
            try:
                self.plane.start_scheduler(extenders, f"wrong-{len(words)}")
                said = "it started"
            except processes.Failed as error:
                said = str(error)
            self.results.check(words in said and "it started" not in said,
                               f"kube-scheduler refuses {name}, as doctor says", said[-300:])
