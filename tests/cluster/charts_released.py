# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Releases of the chart on the API server: installed, upgraded, rolled back, removed; what they say runs.

kube-scheduler and hamid are started with the words, the files and the accounts that the objects on the
server have. Only what is this computer's is put in their place: paths, ports, and the way to the server.
"""

import json
import re
import shlex
import shutil
import sys

from cluster import burst, chart_pod, chart_tools, deployment, manifests

sys.path.insert(0, str(deployment.ROOT / "tests/docs"))

import blocks  # noqa: E402

RELEASE = "hamid"
CHECKSUM = "checksum/configuration"
LEASES = "hami-nodelock"
SCHEDULER = "hami-scheduler"


def run(results, plane, tools):
    client = plane.client()
    manifests.make_node(client, burst.NODE, burst.RESOURCE)
    forget_plain(client)
    run_alone(results, plane, client, tools)
    run_secure(results, plane, client, tools)
    run_beside(results, plane, client, tools)


def forget_plain(client):
    """The control plane comes with the roles of deploy/rbac, which a release makes itself."""
    for name in deployment.ROLES:
        for document in deployment.documents(name):
            client.need("DELETE", document.path)
    client.need("DELETE", f"/api/v1/namespaces/{LEASES}")


def deployment_of(client, namespace, name):
    return client.need("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}").body


def configmap_of(client, namespace, name):
    return client.need("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}").body["data"]


# ---- alone ----------------------------------------------------------------------------------------

def run_alone(results, plane, client, tools):
    namespace = deployment.NAMESPACE
    place = ("--namespace", namespace)
    # The Leases' namespace ends by a controller, which does not run here.
    values = chart_tools.settings(("mode=stand-alone", "leases.namespace=chart-leases",
                                   "scheduler.lockStore=lease+mirror"))
    chart = (RELEASE, chart_tools.CHART, *place)
    first = tools.need_json("install", *chart, *values)
    results.check(first["info"]["status"] == "deployed", "charts: alone: is installed", first["info"])
    check_values(results, tools, place)
    spec = deployment_of(client, namespace, "hamid-scheduler")["spec"]["template"]
    before = spec["metadata"]["annotations"][CHECKSUM]
    with chart_pod.Pod(plane, client, "alone", namespace, spec["spec"]) as pod:
        check_pod(results, client, pod, "charts: alone")
        results.check(pod.is_elected(), "charts: alone: kube-scheduler is elected with its role")
    leases = client.need("GET", "/apis/coordination.k8s.io/v1/namespaces/chart-leases/leases").body
    results.check(len(leases["items"]) == 1, "charts: alone: the lock stood in a Lease of its namespace",
                  leases)

    tools.need("upgrade", *chart, *values)
    same = deployment_of(client, namespace, "hamid-scheduler")
    results.check(same["metadata"]["generation"] == 1,
                  "charts: alone: an upgrade that changes nothing restarts no pod", same["metadata"])
    tools.need("upgrade", *chart, *values, "--set", "scheduler.config.stall-limit=20s")
    after = deployment_of(client, namespace, "hamid-scheduler")["spec"]["template"]["metadata"]
    text = configmap_of(client, namespace, "hamid-scheduler")["scheduler.yaml"]
    results.check(after["annotations"][CHECKSUM] != before and "stall-limit: 20s" in text,
                  "charts: alone: an upgrade of the configuration makes new pods", after)
    refused = tools.helm("upgrade", *chart, *values, "--set", "scheduler.patience=soon")
    kept = configmap_of(client, namespace, "hamid-scheduler")["scheduler.yaml"]
    results.check(refused.returncode != 0 and "'/scheduler/patience'" in refused.stderr
                  and kept == text, "charts: alone: a wrong upgrade changes nothing", refused.stderr)
    tools.need("rollback", RELEASE, "1", *place)
    back = deployment_of(client, namespace, "hamid-scheduler")["spec"]["template"]["metadata"]
    text = configmap_of(client, namespace, "hamid-scheduler")["scheduler.yaml"]
    results.check(back["annotations"][CHECKSUM] == before and "stall-limit" not in text,
                  "charts: alone: a roll-back brings pods and configuration back", back)
    history = tools.need_json("history", RELEASE, *place)
    results.check([one["status"] for one in history][-1] == "deployed" and len(history) == 4,
                  "charts: alone: the history has each step", history)
    names = [(one.kind, one.path) for one in deployment.split(tools.need("get", "manifest", RELEASE,
                                                                         *place))]
    tools.need("uninstall", RELEASE, *place)
    left = [path for kind, path in names if client.request("GET", path).code != 404]
    results.check(left == ["/api/v1/namespaces/chart-leases"],
                  "charts: alone: uninstalled, nothing is left but the namespace of locks", left)


def run_secure(results, plane, client, tools):
    """Alone, with certificates on both sides, and HAMi's extender verified; two entries."""
    namespace = deployment.NAMESPACE
    place = ("--namespace", namespace)
    keys = plane.certificates
    for name, files in {
            "hamid-tls": {"tls.crt": "server.crt", "tls.key": "server.key", "ca.crt": "ca.crt"},
            "kube-scheduler-tls": {"tls.crt": "admin.crt", "tls.key": "admin.key"},
            "hami-ca": {"ca.crt": "ca.crt"}}.items():
        client.need("POST", f"/api/v1/namespaces/{namespace}/secrets", {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {key: (keys / file).read_text() for key, file in files.items()}})
    tools.need("install", RELEASE, chart_tools.CHART, *place, *chart_tools.settings((
        "mode=stand-alone", "metrics.expose=true", "tls.secretName=hamid-tls", "filter.entry=own",
        "tls.clientSecretName=kube-scheduler-tls", f"filter.url={chart_pod.HAMI}",
        "filter.insecure=false", "filter.caSecret.name=hami-ca", "admission.enabled=true")))
    template = deployment_of(client, namespace, "hamid-scheduler")["spec"]["template"]
    check_doctor(results, client, tools, namespace, template, "charts: alone, with certificates")
    with chart_pod.Pod(plane, client, "secure", namespace, template["spec"]) as pod:
        check_pod(results, client, pod, "charts: alone, with certificates")
        results.check(pod.filtered > 0, "charts: alone, with certificates: HAMi's extender filters")
        plain = tools.run(["curl", "-s", "--cacert", keys / "ca.crt", f"https://{pod.address}/readyz"])
        results.check(plain.returncode != 0, "charts: alone, with certificates: nobody without one is "
                      "answered", plain.stdout)
    tools.need("uninstall", RELEASE, *place)


def check_values(results, tools, place):
    """Each name that the schema knows has a default in values.yaml, which is its documentation."""
    values = tools.need_json("get", "values", RELEASE, "--all", *place)
    schema = json.loads((chart_tools.CHART / "values.schema.json").read_text(encoding="utf-8"))
    text = (chart_tools.CHART / "values.yaml").read_text(encoding="utf-8")
    missing = [name for name in names_of(schema) if not is_there(values, name, text)]
    results.check(not missing, "charts: each value that the schema knows is in values.yaml", missing)


def names_of(schema, before=()):
    for name, one in schema.get("properties", {}).items():
        if name == "global":
            continue
        yield (*before, name)
        if name != "config":
            yield from names_of(one, (*before, name))


def is_there(values, name, text):
    for word in name:
        if word not in values:
            # helm leaves out what is null.
            return f"  {word}: null\n" in text
        values = values[word]
    return True


def check_doctor(results, client, tools, namespace, template, part):
    """What the notes say to look with finds nothing wrong, once there is a pod of the template."""
    spec = {**template["spec"]}
    # Priority classes of the system are made by a controller that does not run here.
    spec.pop("priorityClassName", None)
    path = f"/api/v1/namespaces/{namespace}/pods"
    client.need("POST", path, {"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {
        "name": "looked-at", "labels": template["metadata"]["labels"]}})
    notes = tools.need("get", "notes", RELEASE, "--namespace", namespace)
    lines = re.findall(r"^     (hamictl doctor.*)$", notes, re.MULTILINE)
    done = tools.run(["bash", "-euc", "\n".join(lines)])
    results.check(len(lines) == 1 and done.returncode == 0 and ", 0 warnings" in done.stdout,
                  f"{part}: hamictl doctor is content", done.stdout + done.stderr)
    client.need("DELETE", f"{path}/looked-at?gracePeriodSeconds=0")


def check_pod(results, client, pod, part):
    pod.start()
    results.check(True, f"{part}: kube-scheduler and hamid start as the pod has them")
    annotations = pod.bind_one(client)
    results.check(annotations.get("hami.io/mutex.fence"),
                  f"{part}: a pod is bound under the lock, by the accounts of the pod", annotations)
    results.check("Missing permission" not in pod.log, f"{part}: hamid lacks no permission", pod.log)


# ---- beside HAMi ----------------------------------------------------------------------------------

def run_beside(results, plane, client, tools):
    namespace = chart_tools.HAMI_NAMESPACE
    place = ("--namespace", namespace)
    hami = ("hami", chart_tools.HAMI_CHART, *place)
    ours = (RELEASE, chart_tools.CHART, *place, "--set", "admission.enabled=true")
    early = tools.need("install", *ours)
    results.check("There is no Deployment hami-scheduler in namespace kube-system" in early,
                  "charts: beside HAMi: without a HAMi the notes say so", early)
    tools.need("install", *hami)
    original = deployment_of(client, namespace, SCHEDULER)["spec"]
    notes = tools.need("get", "notes", RELEASE, *place)
    again = tools.need("upgrade", *ours)
    results.check("There is no Deployment" not in again, "charts: beside HAMi: with one they do not",
                  again)
    put, away = commands(notes)
    follow(results, plane, tools, put, "puts hamid in")
    check_beside(results, plane, client, namespace, "charts: beside HAMi")
    check_doctor(results, client, tools, namespace,
                 deployment_of(client, namespace, SCHEDULER)["spec"]["template"],
                 "charts: beside HAMi")
    follow(results, plane, tools, put, "may be said twice")

    tools.need("upgrade", *hami, "--set", "extenderImage=registry.example.com/hami:v2.10.1")
    names = containers(client, namespace)
    results.check(names["vgpu-scheduler-extender"].endswith(":v2.10.1") and "hamid" in names,
                  "charts: beside HAMi: hamid stays where HAMi is upgraded", names)
    follow(results, plane, tools, away, "takes hamid out")
    tools.need("rollback", "hami", "1", *place)
    results.check(deployment_of(client, namespace, SCHEDULER)["spec"] == original,
                  "charts: beside HAMi: the way back leaves what HAMi's chart had made",
                  deployment_of(client, namespace, SCHEDULER)["spec"])

    render = deployment.FOLDER / "kustomize/post-render"
    tools.need(*shown_upgrade(plane, hami))
    check_beside(results, plane, client, namespace, "charts: HAMi rendered with hamid")
    tools.need("rollback", "hami", "1", *place)
    results.check("hamid" not in containers(client, namespace),
                  "charts: HAMi rendered with hamid: HAMi's own roll-back takes hamid out")
    other = tools.helm("upgrade", *hami, "--post-renderer", render, "--post-renderer-args",
                       deployment.FOLDER / "pods/node.yaml")
    results.check(other.returncode != 0 and "patches no Deployment" in other.stderr,
                  "charts: HAMi rendered with hamid: a wrong patch stops the upgrade", other.stderr)
    check_component(results, tools, plane)
    tools.need("uninstall", RELEASE, *place)
    tools.need("uninstall", "hami", *place)


def shown_upgrade(plane, hami):
    """The words for helm in deploy/README.md, with HAMi's release in the place of the dots."""
    [command] = blocks.shown_commands(deployment.FOLDER / "README.md", "--post-renderer ")
    words = shlex.split(command)
    end = words.index("...")
    places = {"deploy/kustomize/post-render": deployment.FOLDER / "kustomize/post-render",
              "hamid-put.yaml": plane.folder / "hamid-put.yaml"}
    return [*words[1:end - 1], *hami, *(places.get(word, word) for word in words[end + 1:])]


def commands(notes):
    """The commands of the notes that change something: to put hamid in, and to take it away."""
    lines = re.findall(r"^     (kubectl .*)$", notes, re.MULTILINE)
    put = [line for line in lines if "put" in line]
    away = [line for line in lines if "away" in line]
    return put, away


def follow(results, plane, tools, lines, what):
    """Says to a shell what the notes say."""
    done = tools.run(["bash", "-euc", "\n".join(lines)], folder=plane.folder)
    results.check(len(lines) == 2 and done.returncode == 0,
                  f"charts: beside HAMi: what the notes say {what}", done.stdout + done.stderr)


def containers(client, namespace):
    spec = deployment_of(client, namespace, SCHEDULER)["spec"]["template"]["spec"]
    return {one["name"]: one["image"] for one in spec["containers"]}


def check_beside(results, plane, client, namespace, part):
    spec = deployment_of(client, namespace, SCHEDULER)["spec"]["template"]["spec"]
    names = sorted(one["name"] for one in spec["containers"])
    results.check(names == ["hamid", "kube-scheduler", "vgpu-scheduler-extender"],
                  f"{part}: HAMi's pod has hamid besides its own containers", names)
    with chart_pod.Pod(plane, client, part.rpartition(" ")[2].lower(), namespace, spec) as pod:
        check_pod(results, client, pod, part)
        results.check(pod.filtered > 0, f"{part}: HAMi's extender filters, over HTTPS", pod.filtered)


def check_component(results, tools, plane):
    """The component of kustomize, in a folder as its first lines say."""
    folder = plane.folder / "component"
    folder.mkdir()
    (folder / "hami.yaml").write_text(tools.need("template", *("hami", chart_tools.HAMI_CHART)))
    shutil.copytree(deployment.FOLDER / "kustomize", folder / "kustomize")
    (folder / "kustomization.yaml").write_text(
        "resources:\n- hami.yaml\n- kustomize/overlays/beside-hami\ncomponents:\n- kustomize/hami\n")
    text = tools.kustomize(folder)
    results.check("/usr/bin/hamid" in text and text.count("kind: Deployment") == 1
                  and "name: hamid-scheduler" in text,
                  "charts: kustomize's component puts hamid into HAMi's manifests", text[-800:])
