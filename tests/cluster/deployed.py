# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Everything in deploy/ that others than hamid read: the API server, and kube-scheduler.

The manifests are applied to the server as a dry run in which an unknown field is an error. The pods
are held against the server's own Pod security standards. kube-scheduler starts with each of the
configurations, and a pod is bound through hamid by it.
"""

import os
import re
import subprocess

from cluster import api, burst, deployment, manifests, probes, rbac, suites

STRICT = "?dryRun=All&fieldValidation=Strict&fieldManager=cluster-test&force=true"
CONFIGURATIONS = ("kube-scheduler/one-entry.yaml", "kube-scheduler/two-entries.yaml")
# manifest -> (kind of what makes its pods, what the Pod security standards say of them)
PODS = {"pods/scheduler.yaml": ("Deployment", "restricted"),
        "pods/node.yaml": ("DaemonSet", "privileged")}
PATIENCE = 180


def run(results, plane):
    client = plane.client()
    names = deployment.manifests()
    for name in names:
        check_manifest(results, client, name)
    for name, (kind, standard) in PODS.items():
        check_pods(results, client, name, kind, standard)
    if plane.minor < 25:
        results.skip("deployed: kube-scheduler", "its configuration is v1 from 1.25 on")
        return {"manifests": len(names)}
    manifests.make_node(client, burst.NODE, burst.RESOURCE)
    with rbac.Filter() as url:
        for name in CONFIGURATIONS:
            check_scheduler(results, plane, client, name, url)
    return {"manifests": len(names)}


def check_manifest(results, client, name):
    for document in deployment.documents(name):
        minor = int(client.need("GET", "/version").body["minor"].rstrip("+"))
        if "admissionregistration" in document.version and minor < 30:
            results.skip(f"deployed: {name}: {document.kind}", "from Kubernetes 1.30 on")
            continue
        answer = client.request("PATCH", document.path + STRICT, document.text, api.APPLY)
        results.check(answer.code in (200, 201) and "Warning" not in answer.text,
                      f"deployed: {name}: {document.kind} {document.name} is taken", answer)


def check_pods(results, client, name, kind, standard):
    """A pod as the controller would make it, in a namespace that is held to that standard."""
    namespace = f"standard-{standard}"
    client.need("POST", "/api/v1/namespaces", {
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {
            "pod-security.kubernetes.io/enforce": standard}}})
    document = next(one for one in deployment.documents(name) if one.kind == kind)
    made = client.need("PATCH", document.path + STRICT, document.text, api.APPLY).body
    template = made["spec"]["template"]
    # Priority classes of the system are made by a controller that does not run here.
    template["spec"].pop("priorityClassName", None)
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
           "metadata": {"name": "one", "labels": template["metadata"]["labels"]}}
    answer = client.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    results.check(answer.code == 201, f"deployed: {name}: its pods are {standard}", answer)
    check_confinement(results, name, template["spec"])
    check_words(results, name, template["spec"])


def check_confinement(results, name, spec):
    profile = spec["securityContext"]["seccompProfile"]["type"]
    results.check(profile == "RuntimeDefault", f"deployed: {name}: the runtime's seccomp profile",
                  profile)
    results.check(spec["terminationGracePeriodSeconds"] == 30,
                  f"deployed: {name}: hamid has the time that it needs to stop")
    for container in spec["containers"]:
        context = container["securityContext"]
        results.check(
            context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
            and context["capabilities"] == {"drop": ["ALL"]} and not context.get("privileged"),
            f"deployed: {name}: {container['name']} can write nothing and has no capability",
            context)
        results.check("livenessProbe" in container and "memory" in container["resources"]["limits"],
                      f"deployed: {name}: {container['name']} is probed and bounded", container)


def check_words(results, name, spec):
    """What hamid is told in a manifest is what it understands."""
    words = next(one for one in spec["containers"] if one["name"] == "hamid")
    done = subprocess.run(
        [suites.BUILD / "daemon/hamid", *words["command"][1:], *words["args"], "--print-config"],
        env={**os.environ, "NODE_NAME": "n"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False, timeout=30)
    results.check(done.returncode == 0, f"deployed: {name}: hamid understands its words",
                  done.stdout)
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        probe = words[kind]["exec"]["command"]
        where = probe[2]
        results.check(probe[:2] == ["/usr/bin/hamid", "probe"] and where in done.stdout,
                      f"deployed: {name}: its {kind} asks where hamid listens", (probe, done.stdout))


def check_scheduler(results, plane, client, name, filter_url):
    part = name.partition("/")[2].partition(".")[0]
    program = f"hamid-{part}"
    addresses = plane.folder / f"{program}.address"
    child = plane.group.start(program, [
        suites.BUILD / "daemon/hamid", "scheduler", "--listen=127.0.0.1:0",
        f"--kubeconfig={plane.kubeconfig('hamid-scheduler')}", f"--address-file={addresses}",
        "--scheduler-name=hami-scheduler", "--patience=600s", f"--filter-url={filter_url}"])
    plane.group.wait_until(program, child, addresses.exists, PATIENCE)
    address = addresses.read_text(encoding="ascii").split()[0]
    plane.group.wait_until(program, child, lambda: probes.binder_is_ready(address), PATIENCE)
    file = plane.folder / f"{part}.yaml"
    file.write_text(adjust((deployment.FOLDER / name).read_text(encoding="utf-8"), plane, address,
                           filter_url), encoding="utf-8")
    plane.with_ports(1, lambda ports: plane.run_scheduler(
        f"kube-scheduler-{part}", plane.programs["kube-scheduler"], file, ports[0]))
    results.check(True, f"deployed: {name}: kube-scheduler starts with it")
    pod = manifests.pod(f"pod-{part}", burst.RESOURCE)
    pod["spec"]["schedulerName"] = "hami-scheduler"
    path = client.need("POST", "/api/v1/namespaces/default/pods", pod)
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
    deployment.wait_until(lambda: client.need("GET", path).body["spec"].get("nodeName"), PATIENCE,
                          f"the binding of a pod under {name}")
    fence = client.need("GET", path).metadata["annotations"].get("hami.io/mutex.fence")
    results.check(fence, f"deployed: {name}: hamid binds its pods, under the lock", fence)
    client.need("DELETE", path)
    for one in (f"kube-scheduler-{part}", program):
        plane.group.stop(plane.group.find(one))


def adjust(text, plane, address, filter_url):
    """The same configuration for this computer: its login, its ports, no election."""
    text = text.replace("/etc/kubernetes/scheduler.conf", str(plane.kubeconfig("kube-scheduler")))
    text = text.replace("http://127.0.0.1:8080", f"http://{address}")
    text = text.replace("leaderElect: true", "leaderElect: false")
    # The stand-in for HAMi speaks plain HTTP.
    text = text.replace("https://127.0.0.1:443", filter_url)
    return re.sub(r"enableHTTPS: true\n  tlsConfig:\n.*\n", "enableHTTPS: false\n", text)
