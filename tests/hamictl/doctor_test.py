# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""`hamictl doctor`: a right set-up passes, and each wrong one is found, by that finding alone."""

import copy
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import tap  # noqa: E402
import world  # noqa: E402
from tap import equal, has  # noqa: E402

LEASE = ('{"version":1,"lock":"%s","uid":"uid-1","fence":"41","holder":"h_1","attempt":"7",'
         '"hold_ms":15000,"free":"node"}')
OTHER_ENTRY = """\
- urlPrefix: https://127.0.0.1:443
  filterVerb: filter
  bindVerb: bind
  enableHTTPS: true
  tlsConfig: {insecure: true}
  httpTimeout: 30s
  managedResources:
  - name: nvidia.com/gpu
    ignoredByScheduler: true
"""


def found(break_it, *arguments, **kinds):
    """What doctor finds after break_it(world): {check: [finding]}, and the exit status."""
    control_plane = world.World(**kinds)
    try:
        break_it(control_plane)
        code, findings, report = control_plane.doctor(*arguments)
    finally:
        control_plane.end()
    return code, findings, report


def expect(break_it, check, severity, *parts, arguments=(), **kinds):
    """This one check finds one thing, and says what, why and what to do."""
    code, findings, _ = found(break_it, *arguments, **kinds)
    equal(sorted(findings), [check])
    equal(len(findings[check]), 1)
    finding = findings[check][0]
    equal(finding["severity"], severity)
    for part in parts:
        has(finding["what"] + " " + finding["fix"], part)
    if not finding["why"] or not finding["fix"]:
        raise AssertionError(f"it says nothing of why, or what to do: {finding}")
    equal(code, {"error": 4, "warning": 3, "info": 0}[severity])


def configured(old, new):
    if old not in world.CONFIGURATION:
        raise AssertionError(f"no {old!r} in the right configuration")
    return lambda control_plane: control_plane.configure(world.CONFIGURATION.replace(old, new))


def nothing(_):
    pass


# ---- a right one ----

def test_a_right_set_up_passes_with_0():
    code, findings, report = found(nothing)
    equal(findings, {})
    equal((code, report["status"], report["errors"], report["warnings"]), (0, "ok", 0, 0))
    skipped = [check["check"] for check in report["checks"] if check["result"] == "skipped"]
    equal(skipped, ["hamid-ready", "plugin-versions"])


def test_people_read_each_check_on_a_line_of_its_own():
    control_plane = world.World()
    try:
        done = control_plane.hamictl("doctor")
        equal(done.returncode, 0)
        has(done.stdout, "ok         kube-scheduler asks hamid to bind\n")
        has(" ".join(done.stdout.split()),
            "ok hamid scheduler may do what it has to: as " + world.ACCOUNT)
        has(done.stdout, "0 errors, 0 warnings")
        control_plane.configure(world.CONFIGURATION.replace("600s", "5s"))
        done = control_plane.hamictl("doctor")
        equal(done.returncode, 4)
        has(done.stdout, "error      ConfigMap kube-system/hami-scheduler-newversion config.yaml:")
        has(done.stdout, "           why  ")
        has(done.stdout, "           do   extenders[0]: 'httpTimeout: 600s'")
        if "\033" in done.stdout:
            raise AssertionError("colours though it is no terminal")
    finally:
        control_plane.end()


# ---- the ten ----

def test_1_another_binder_first_is_found():
    code, findings, _ = found(configured("extenders:\n", "extenders:\n" + OTHER_ENTRY))
    equal(code, 4)
    equal(sorted(findings), ["managed-resources", "other-binder"])
    has(findings["other-binder"][0]["what"], "extenders[0] (https://127.0.0.1:443)")
    has(findings["other-binder"][0]["what"], "asked first")
    has(findings["other-binder"][0]["fix"], "remove the line 'bindVerb: bind'")


def test_1_a_binder_for_every_pod_behind_hamids_is_found():
    def break_it(control_plane):
        entry = OTHER_ENTRY.split("  managedResources")[0]
        control_plane.configure(world.CONFIGURATION + entry)
    expect(break_it, "other-binder", "error", "extenders[1]")


def test_1_hamis_own_entry_left_as_it_was_is_found():
    code, findings, _ = found(configured("http://127.0.0.1:8080", "https://127.0.0.1:443"))
    equal(code, 4)
    equal(sorted(findings), ["hamid-extender", "other-binder"])
    has(findings["hamid-extender"][0]["fix"], "urlPrefix")


def test_2_duplicate_managed_resources_are_found():
    def break_it(control_plane):
        control_plane.configure(world.CONFIGURATION + OTHER_ENTRY.replace("  bindVerb: bind\n", ""))
    expect(break_it, "managed-resources", "error", "nvidia.com/gpu",
           "extenders[0] and extenders[1]")


def test_3_a_short_http_timeout_is_found():
    expect(configured("httpTimeout: 600s", "httpTimeout: 30s"), "http-timeout", "error",
           "30s", "10m0s", "as its pod says", "'httpTimeout: 600s'")


def test_3_kube_schedulers_default_of_5_s_is_found():
    expect(configured("  httpTimeout: 600s\n", ""), "http-timeout", "error", "5s (the default)")


def test_3_a_timeout_that_fits_a_short_patience_is_a_warning():
    expect(configured("httpTimeout: 600s", "httpTimeout: 30s"), "http-timeout", "warning", "only",
           arguments=("--patience", "30s"))


def test_3_a_patience_that_is_shorter_than_it_need_be_is_a_warning():
    expect(nothing, "http-timeout", "warning", "--patience 10m0s", arguments=("--patience", "30s"))


def with_flags(*flags):
    def change(control_plane):
        control_plane.request("DELETE", "/api/v1/namespaces/kube-system/pods/"
                              + world.SCHEDULER_POD["metadata"]["name"], {"gracePeriodSeconds": 0})
        containers = [*world.SCHEDULER_POD["spec"]["containers"][:2],
                      {"name": "hamid", "image": "hamid:1", "args": ["scheduler", *flags]}]
        control_plane.add_pod({**world.SCHEDULER_POD,
                               "spec": {**world.SCHEDULER_POD["spec"], "containers": containers}})
    return change


def test_3_a_patience_that_only_hamids_file_knows_is_asked_for():
    code, findings, report = found(with_flags("--config=/etc/hamid/scheduler.yaml"))
    equal((code, findings), (0, {}))
    note = next(check["note"] for check in report["checks"] if check["check"] == "http-timeout")
    has(note, "name it by --patience")


def test_the_age_of_an_old_lock_is_hamids():
    def old(control_plane):
        with_flags("--patience=600s", "--lock-expire=9000h")(control_plane)
        control_plane.annotate("gpu-0", {"hami.io/mutex.lock": "2026-01-02T03:04:05Z,default,x"})
    equal(found(old)[:2], (0, {}))


def test_4_each_missing_right_is_found():
    for verb, resource in (("patch", "nodes"), ("watch", "pods")):
        expect(lambda plane, verb=verb, resource=resource: plane.review(verb, resource, False),
               "scheduler-rights", "error", f"{world.ACCOUNT} may not {verb} {resource}",
               f"verbs: [{verb}]")


def test_4_rights_of_a_user_that_is_named_are_asked_for():
    def break_it(control_plane):
        control_plane.answer("POST", world.REVIEW + "subjectaccessreviews",
                             {"status": {"allowed": False}}, contains='"user":"somebody"',
                             status=201)
    code, findings, _ = found(break_it, "--as", "somebody")
    equal(code, 4)
    equal(sorted(findings), ["scheduler-rights"])
    equal(len(findings["scheduler-rights"]), 12)


def test_4_a_missing_right_of_the_nodes_side_is_found():
    pod = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": "hamid-node-x", "namespace": "hami-system",
                        "labels": {"app.kubernetes.io/name": "hamid"}},
           "spec": {"serviceAccountName": "hamid-node",
                    "containers": [{"name": "hamid", "image": "hamid:1", "args": ["node"]}]}}

    def break_it(control_plane):
        control_plane.add_pod(pod)
        control_plane.answer("POST", world.REVIEW + "subjectaccessreviews",
                             {"status": {"allowed": False}}, status=201,
                             contains='"verb":"patch","group":"","version":"*","resource":"nodes"},'
                                      '"user":"system:serviceaccount:hami-system:hamid-node"')
    expect(break_it, "node-rights", "error", "hamid-node may not patch nodes")


def test_4_an_account_that_the_policies_refuse_is_found():
    def break_it(control_plane):
        control_plane.answer("POST", world.REVIEW + "subjectaccessreviews",
                             {"status": {"allowed": False}}, contains='"verb":"schedule"',
                             status=201)
    expect(break_it, "scheduler-rights", "error", "may not schedule locks.nodelock.hami.io",
           "deploy/admission/writers.yaml")


def test_4_rights_beyond_need_are_a_warning():
    expect(lambda plane: plane.review("get", "secrets", True), "excess-rights", "warning",
           "may get secrets")


def test_5_an_insecure_kubeconfig_is_found():
    def break_it(control_plane):
        text = control_plane.kubeconfig.read_text()
        line = next(line for line in text.splitlines() if "certificate-authority-data" in line)
        control_plane.kubeconfig.write_text(text.replace(
            line, line.split("certificate")[0] + "insecure-skip-tls-verify: true"))
    expect(break_it, "tls", "error", "insecure-skip-tls-verify: true")


def test_5_insecure_ways_between_the_schedulers_are_found():
    for url, tls, part in (("http://10.0.0.7:8080", "", "plain HTTP"),
                           ("https://hamid.kube-system:8080",
                            "  enableHTTPS: true\n  tlsConfig:\n    insecure: true\n",
                            "tlsConfig.insecure is true")):
        expect(configured("http://127.0.0.1:8080\n", url + "\n" + tls), "tls", "error", part,
               arguments=("--extender", url))


def test_5_insecure_flags_of_hamid_are_found():
    for flags, part in ((["--insecure-skip-tls-verify"], "--insecure-skip-tls-verify"),
                        (["--allow-remote"], "--allow-remote"),
                        (["--allow-remote", "--tls-cert-file=a", "--client-ca-file=b"], None),
                        (["--filter-url=https://10.0.0.7:443", "--filter-insecure"],
                         "without verifying it")):
        severity = "warning" if "--filter-insecure" in flags else "error"

        break_it = with_flags("--patience=600s", *flags)
        if part is None:
            equal(found(break_it)[:2], (0, {}))
        else:
            expect(break_it, "tls", severity, part)


def test_6_missing_admission_policies_are_found():
    code, findings, _ = found(lambda plane: plane.guard([], []))
    equal(code, 3)
    equal(sorted(findings), ["admission-policies"])
    equal(len(findings["admission-policies"]), 3)
    has(findings["admission-policies"][0]["what"], "hami-nodelock-nodes is missing")
    has(findings["admission-policies"][0]["fix"], "deploy/admission/")


def test_6_a_policy_that_refuses_nothing_is_found():
    policies = [world.policy(name) for name in world.NAMES]
    bindings = [world.binding(name) for name in world.NAMES]
    expect(lambda plane: plane.guard(policies, bindings[1:]), "admission-policies", "warning",
           "hami-nodelock-nodes is bound nowhere")
    bindings[1] = world.binding(world.NAMES[1], ["Audit", "Warn"])
    expect(lambda plane: plane.guard(policies, bindings), "admission-policies", "warning",
           "hami-nodelock-pods is bound nowhere")


def test_7_an_old_api_server_is_found():
    expect(nothing, "server-version", "error", "version 1.23", minor="23")
    expect(nothing, "server-version", "warning", "version 1.29", minor="29+")


def test_8_a_skewed_clock_is_found():
    expect(nothing, "clock", "error", "behind the API server's", skew=300)
    expect(nothing, "clock", "error", "ahead of the API server's", skew=-300)


def test_9_a_second_hami_scheduler_is_found():
    containers = world.SCHEDULER_POD["spec"]["containers"]
    second = {**world.SCHEDULER_POD, "spec": {"containers": [containers[1]]}}

    def break_it(control_plane):
        control_plane.add_pod(
            second, name="other-1", namespace="gpu",
            ownerReferences=[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "rs-2",
                              "name": "vgpu-7d9f", "controller": True}])
    expect(break_it, "one-scheduler", "error", "Deployment kube-system/hami-scheduler",
           "Deployment gpu/vgpu")


def test_9_replicas_of_one_scheduler_are_well():
    code, findings, _ = found(
        lambda plane: plane.add_pod(world.SCHEDULER_POD, name="hami-scheduler-7d9f-fghij"))
    equal((code, findings), (0, {}))


def test_9_hami_binding_by_itself_beside_hamid_is_found():
    containers = world.SCHEDULER_POD["spec"]["containers"]
    alone = {**world.SCHEDULER_POD, "spec": {"containers": containers[:2]}}

    def break_it(control_plane):
        control_plane.add_pod(alone, name="other-1", namespace="gpu", ownerReferences=[])
    code, findings, _ = found(break_it)
    equal(code, 4)
    equal(sorted(findings), ["one-scheduler"])
    has(findings["one-scheduler"][1]["what"], "no hamid, while hamid runs elsewhere")


def test_9_a_lock_written_over_hamids_is_found():
    def break_it(control_plane):
        control_plane.annotate("gpu-1", {
            "hami.io/mutex.lock": "2999-01-02T03:04:09Z,default,b",
            "hami.io/mutex.lease": LEASE % "2999-01-02T03:04:05Z,default,a"})
    expect(break_it, "one-scheduler", "error", "node gpu-1", "default,b", "default,a")


def test_10_locks_that_cannot_be_read_are_found():
    for lock, lease, part in (
            ("gpu-0,locked,by,me", None, "is neither a time nor"),
            ("2999-01-02T03:04:05Z,,", None, "names no pod"),
            ("2999-01-02T03:04:05Z,default,a", "{broken", "a lease that can't be read")):
        expect(lambda plane, lock=lock, lease=lease: plane.annotate("gpu-0", {
            "hami.io/mutex.lock": lock, "hami.io/mutex.lease": lease}),
            "readable-locks", "error", part, "hamictl release gpu-0 --key hami.io/mutex.lock")


# ---- and more ----

def test_ignorable_is_found():
    expect(configured("ignorable: false", "ignorable: true"), "ignorable", "error",
           "'ignorable: false'")


def test_a_resource_that_kube_scheduler_counts_too_is_found():
    expect(configured("  - name: nvidia.com/gpumem\n    ignoredByScheduler: true\n",
                      "  - name: nvidia.com/gpumem\n"), "ignored-by-scheduler", "warning",
           "nvidia.com/gpumem", "managedResources[1]")


def test_plugins_of_several_versions_are_found():
    def break_it(control_plane):
        control_plane.add_pod(world.plugin_pod("plugin-1", "v2.10.0"))
        control_plane.add_pod(world.plugin_pod("plugin-2", "v2.11.0"))
    expect(break_it, "plugin-versions", "warning", "v2.10.0 on 1", "v2.11.0 on 1")


def test_plugins_that_release_unguarded_are_told():
    def break_it(control_plane):
        control_plane.add_pod(world.plugin_pod("plugin-1", "v2.9.0"))
    expect(break_it, "plugin-versions", "info", "v2.9.0 on 1")


def test_nodes_without_an_agent_beside_others_with_one_are_found():
    def break_it(control_plane):
        control_plane.annotate("gpu-0", {"hami.io/mutex.agent": "1,free=node"})
        control_plane.annotate("gpu-1", {"hami.io/node-nvidia-register": "[]"})
    expect(break_it, "node-agents", "warning", "1 of 2 nodes", "gpu-1")


def test_an_agent_of_a_later_version_is_found():
    expect(lambda plane: plane.annotate("gpu-0", {"hami.io/mutex.agent": "7,free=nobody"}),
           "node-agents", "warning", "7,free=nobody")


def test_nodes_that_let_no_pods_go_side_by_side_are_found_where_hamid_would():
    flags = with_flags("--patience=600s", "--side-by-side=4")

    def break_it(control_plane):
        flags(control_plane)
        for node, word in (("gpu-0", ",side-by-side"), ("gpu-1", "")):
            control_plane.annotate(node, {"hami.io/mutex.agent": "1,free=scheduler" + word})
    expect(break_it, "side-by-side", "info", "1 of 2 nodes", "gpu-1", "--side-by-side")
    expect(flags, "side-by-side", "warning", "no node has hamid node")


def test_an_old_lock_is_found_with_what_would_free_it():
    code, findings, _ = found(lambda plane: plane.annotate("gpu-0", {
        "hami.io/mutex.lock": "2026-01-02T03:04:05Z,default,gone"}))
    equal(code, 3)
    equal(sorted(findings), ["old-locks"])
    has(findings["old-locks"][0]["why"], "the holder is gone")


def test_files_are_read_and_wrong_ones_are_named():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(world.CONFIGURATION.replace("600s", "600000"))
        file.flush()
        expect(nothing, "http-timeout", "error", file.name,
               arguments=("--scheduler-config", file.name))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("extenders: [\n")
        file.flush()
        expect(nothing, "scheduler-config", "error", file.name, "line 2",
               arguments=("--scheduler-config", file.name))
    expect(nothing, "scheduler-config", "error", "/does/not/exist",
           arguments=("--scheduler-config", "/does/not/exist"))


def test_a_configmap_is_read_by_its_name():
    def make(control_plane):
        control_plane.answer(
            "GET", "/api/v1/namespaces/sched/configmaps/mine",
            {"metadata": {"namespace": "sched", "name": "mine"},
             "data": {"a.yaml": world.CONFIGURATION.replace("ignorable: false",
                                                            "ignorable: true")}})
    expect(make, "ignorable", "error", "ConfigMap sched/mine a.yaml",
           arguments=("--scheduler-configmap", "sched/mine"))
    expect(nothing, "scheduler-config", "error", "sched/none",
           arguments=("--scheduler-configmap", "sched/none"))


def test_what_hamids_pod_mounts_counts_alone():
    """HAMi's own ConfigMap still stands there, with HAMi's entry in it, and nobody reads it."""
    def make(control_plane, entry="http://127.0.0.1:8080"):
        control_plane.configure(world.CONFIGURATION.replace("http://127.0.0.1:8080",
                                                            "https://127.0.0.1:443"))
        path = "/api/v1/namespaces/sched/configmaps"
        control_plane.answer("GET", path, {"items": [{
            "metadata": {"namespace": "sched", "name": "mine"},
            "data": {"a.yaml": world.CONFIGURATION.replace("http://127.0.0.1:8080", entry)}}]},
            contains="metadata.name%3Dmine")
        control_plane.request(
            "DELETE", "/api/v1/namespaces/kube-system/pods/hami-scheduler-7d9f-abcde", {})
        control_plane.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                  "metadata": {"name": "sched"}})
        pod = copy.deepcopy(world.SCHEDULER_POD)
        pod["metadata"]["namespace"] = "sched"
        pod["spec"]["volumes"] = [{"name": "configuration", "configMap": {"name": "mine"}},
                                  {"name": "again", "configMap": {"name": "mine"}}]
        control_plane.post("/api/v1/namespaces/sched/pods", pod)
    code, findings, _ = found(make)
    equal((code, findings), (0, {}))
    code, findings, _ = found(lambda control_plane: make(control_plane, "http://127.0.0.1:8081"))
    equal((code, sorted(findings)), (4, ["hamid-extender", "other-binder"]))
    has(findings["hamid-extender"][0]["what"], "ConfigMap sched/mine a.yaml")


def test_what_may_not_be_read_is_skipped_and_said():
    def forbid(control_plane):
        for kind in ("ies", "ybindings"):
            control_plane.answer("GET", world.POLICIES + kind, {"message": "forbidden"}, status=403)
        control_plane.answer("POST", world.REVIEW + "subjectaccessreviews",
                             {"message": "forbidden"}, status=403)
        control_plane.answer("GET", "/api/v1/configmaps", {"message": "forbidden"}, status=403)
        control_plane.answer("GET", "/api/v1/configmaps", {"message": "forbidden"}, status=403,
                             contains="metadata.name%3Dhami-scheduler-newversion&")
    code, findings, report = found(forbid)
    equal((code, findings), (0, {}))
    skipped = {check["check"]: check["note"] for check in report["checks"]
               if check["result"] == "skipped"}
    for check in ("scheduler-config", "scheduler-rights", "admission-policies"):
        has(skipped[check], "403")
    equal(report["skipped"], len(skipped))


def test_an_api_server_that_is_not_there_ends_with_1():
    control_plane = world.World()
    control_plane.child.terminate()
    control_plane.child.wait()
    done = control_plane.hamictl("doctor")
    equal(done.returncode, 1)
    has(done.stdout, "could not reach the API server")
    control_plane.end()


if __name__ == "__main__":
    sys.exit(tap.run([value for name, value in list(globals().items())
                      if name.startswith("test_")]))
