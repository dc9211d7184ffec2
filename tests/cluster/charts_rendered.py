# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the chart renders for many sets of values, and what it refuses to render.

Each object goes to the API server as a dry run in which an unknown field is an error.
"""

import json
import os
import re
import subprocess
import tempfile

from cluster import api, chart_tools, deployed, deployment, suites

STAND_ALONE = "mode=stand-alone"
EXPOSED = ("metrics.expose=true", "tls.secretName=hamid-tls", "tls.serverName=hamid.example.com")
# name -> values, each a whole way to install hamid
SETS = {
    "beside HAMi": (),
    "beside HAMi, two entries": ("filter.entry=own",),
    "beside HAMi, with everything": (
        *EXPOSED, "tls.clientSecretName=kube-scheduler-tls", "filter.url=https://127.0.0.1:9443",
        "scheduler.lockStore=lease+mirror", "scheduler.lockExpire=10m", "node.enabled=true",
        "admission.enabled=true", "rbac.operators=true", "seccomp.localhostProfile=hamid.json",
        "serviceMonitor.enabled=true", "prometheusRule.enabled=true", "filter.entry=own",
        "filter.caSecret.name=hami-ca", "scheduler.podAnnotations.a/b=c",
        "image.digest=sha256:" + "0" * 64),
    "alone": (STAND_ALONE,),
    "alone, HAMi filters": (
        STAND_ALONE, "filter.url=https://hami-scheduler.kube-system.svc:443",
        "filter.caSecret.name=hami-ca"),
    "alone, two entries": (
        STAND_ALONE, "filter.url=http://hami-scheduler.kube-system.svc", "filter.entry=own"),
    "alone, with everything": (
        STAND_ALONE, *EXPOSED, "serviceMonitor.enabled=true", "prometheusRule.enabled=true",
        "scheduler.lockStore=lease+mirror", "node.gateway=true", "admission.enabled=true",
        "admission.schedulers[0].name=hami-scheduler",
        "admission.schedulers[0].namespace=kube-system", "rbac.operators=true",
        "scheduler.config.v=4", "scheduler.config.stall-limit=10s",
        "scheduler.locks.example\\.com/npu=hami.io/mutex.lock", "imagePullSecrets[0].name=pull",
        "node.config.require-fence=true", "commonLabels.team=gpu", "scheduler.podLabels.a=b",
        "scheduler.nodeSelector.a=b", "scheduler.tolerations[0].operator=Exists",
        "kubeScheduler.extraArgs[0]=-v=4", "metrics.from[0].podSelector.matchLabels.a=b",
        "scheduler.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[0].matchExpressions[0].key=a",
        "scheduler.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[0].matchExpressions[0].operator=Exists"),
    "alone, side by side": (
        STAND_ALONE, "scheduler.config.side-by-side=4", "node.config.free=scheduler",
        "node.config.side-by-side=true"),
    "alone, plain metrics": (STAND_ALONE, "metrics.expose=true", "metrics.allowPlain=true"),
    "alone, with as little as can be": (
        STAND_ALONE, "node.enabled=false", "rbac.create=false", "serviceAccount.create=false",
        "serviceAccount.schedulerName=mine", "scheduler.podDisruptionBudget.enabled=false",
        "scheduler.networkPolicy.enabled=false", "kubeScheduler.leaderElection.enabled=false",
        "scheduler.runAsUser=null", "scheduler.replicas=1"),
}
# values -> what the refusal has to say
REFUSED = {
    ("mode=both",): "'/mode': value must be one of 'beside-hami', 'stand-alone'",
    ("scheduler.patince=10s",): "'/scheduler': additional properties 'patince' not allowed",
    ("scheduler.patience=10",): "'/scheduler/patience': got number, want string",
    ("scheduler.patience=10 minutes",): "'/scheduler/patience': '10 minutes' does not match",
    ("scheduler.config.filter-url=x",): "'/scheduler/config': additional properties 'filter-url'",
    ("scheduler.config.v=11",): "'/scheduler/config/v': maximum: got 11, want 10",
    ("scheduler.replicas=0",): "'/scheduler/replicas': minimum: got 0, want 1",
    ("scheduler.locks.gpu=x",): "'/scheduler/locks': additional properties 'gpu' not allowed",
    ("managedResources={}",): "'/managedResources/0': '' does not match",
    ("managedResources={gpu}",): "'/managedResources/0': 'gpu' does not match",
    ("filter.url=127.0.0.1:443",): "'/filter/url': '127.0.0.1:443' does not match",
    ("image.digest=sha256:abc",): "'/image/digest': 'sha256:abc' does not match",
    ("node.kubeletFolder=var/lib",): "'/node/kubeletFolder': 'var/lib' does not match",
    ("admission.schedulers[0].name=a",): "'/admission/schedulers/0': missing property 'namespace'",
    ("colour=red",): "'': additional properties 'colour' not allowed",
    ("metrics.expose=true",): "metrics.expose wants tls.secretName, or metrics.allowPlain=true",
    ("serviceMonitor.enabled=true",): "serviceMonitor.enabled wants metrics.expose=true",
    ("tls.clientSecretName=a",): "tls.clientSecretName wants tls.secretName",
    ("metrics.port=8080",): "scheduler.port and metrics.port are the same",
    ("scheduler.config.side-by-side=9",): "'/scheduler/config/side-by-side': maximum: got 9, want 8",
    ("scheduler.config.side-by-side=2", "scheduler.lockStore=lease+mirror"):
        "scheduler.config.side-by-side wants scheduler.lockStore=annotation",
    ("node.config.side-by-side=true",): "node.config.side-by-side wants node.config.free=scheduler",
    ("node.config.side-by-side=true", "node.config.free=scheduler", "node.gateway=true"):
        "node.config.side-by-side and node.gateway: ",
    ("scheduler.lockStore=lease+mirror", f"leases.namespace={deployment.NAMESPACE}"):
        "leases.namespace must hold nothing else",
}
# Options of hamid that the chart gives by other values, or that mean nothing in a pod.
OWN = {"scheduler": {"listen", "metrics-listen", "address-file", "allow-remote",
                     "metrics-allow-plain", "kubeconfig", "context", "insecure-skip-tls-verify",
                     "allow-exec-credentials", "exec-timeout", "tls-cert-file", "tls-key-file",
                     "client-ca-file", "filter-url", "filter-insecure", "filter-ca-file",
                     "filter-timeout", "patience", "lock-expire", "lock-store",
                     "lease-namespace", "scheduler-name", "managed-resource", "lock"},
       "node": {"node", "socket", "kubeconfig", "context", "insecure-skip-tls-verify",
                "allow-exec-credentials", "exec-timeout", "vendor", "pod-resources", "gateway",
                "kubelet-plugins"}}


def run(results, plane, tools):
    client = plane.client()
    for document in _prometheus_kinds():
        client.need("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document)
    for kind in ("servicemonitors", "prometheusrules"):
        path = f"/apis/monitoring.coreos.com/v1/{kind}"
        deployment.wait_until(lambda: client.request("GET", path).code == 200, 30, path)
    check_options(results)
    check_tree(results, tools)
    for name, values in SETS.items():
        check_set(results, client, tools, name, values)
    for values, text in REFUSED.items():
        done = tools.template(values)
        results.check(done.returncode != 0 and text in done.stderr,
                      f"charts: {', '.join(values)} is refused, and named", done.stderr)
    done = tools.helm("template", "hamid", chart_tools.CHART, "--kube-version=1.29.0", "--set",
                      "admission.enabled=true")
    results.check("admission.enabled wants Kubernetes 1.30" in done.stderr,
                  "charts: policies are refused where the server has none", done.stderr)
    done = tools.helm("template", "hamid", chart_tools.CHART, "--kube-version=1.24.17")
    results.check("requires kubeVersion" in done.stderr,
                  "charts: a server is refused whose kube-scheduler has other configurations",
                  done.stderr)
    check_standard(results, client, tools)
    check_kustomize(results, client, tools)


def check_standard(results, client, tools):
    """A scheduler pod, in a namespace that is held to the Pod security standard restricted."""
    namespace = "charts-restricted"
    client.need("POST", "/api/v1/namespaces", {
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {
            "pod-security.kubernetes.io/enforce": "restricted"}}})
    for name in ("alone", "alone, with everything"):
        document = next(one for one in deployment.split(tools.template(SETS[name]).stdout)
                        if one.kind == "Deployment")
        made = client.need("PATCH", document.path + deployed.STRICT, document.text, api.APPLY).body
        spec = made["spec"]["template"]["spec"]
        # Priority classes of the system are made by a controller that does not run here.
        spec.pop("priorityClassName")
        answer = client.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec})
        results.check(answer.code == 201, f"charts: {name}: its pods are restricted", answer)


def check_set(results, client, tools, name, values):
    lint = tools.helm("lint", "--strict", "--quiet", chart_tools.CHART,
                      *chart_tools.settings(values))
    results.check(lint.returncode == 0, f"charts: {name}: lint is content",
                  lint.stdout + lint.stderr)
    done = tools.template(values)
    if not results.check(done.returncode == 0, f"charts: {name}: is rendered", done.stderr):
        return
    documents = deployment.split(done.stdout)
    seen = [(one.kind, one.namespace, one.name) for one in documents]
    results.check(len(seen) == len(set(seen)), f"charts: {name}: no object is there twice", seen)
    refused = []
    for document in documents:
        answer = client.request("PATCH", document.path + deployed.STRICT, document.text, api.APPLY)
        if answer.code not in (200, 201) or "Warning" in answer.text:
            refused.append(f"{document.kind} {document.name}: {answer}")
            continue
        if document.kind in ("Deployment", "DaemonSet"):
            part = f"charts: {name}: {document.kind}"
            check_confinement(results, part, answer.body["spec"]["template"]["spec"])
    results.check(not refused, f"charts: {name}: the API server takes all {len(documents)} objects",
                  refused)
    check_words(results, name, documents, client)


def check_confinement(results, part, spec):
    loose = [one["name"] for one in spec["containers"]
             if not (one["securityContext"].get("readOnlyRootFilesystem")
                     and one["securityContext"].get("allowPrivilegeEscalation") is False
                     and one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
                     and "memory" in one["resources"]["limits"] and "livenessProbe" in one)]
    results.check(not loose, f"{part}: each container is confined, bounded and probed", loose)
    mounted = {mount["name"] for one in spec["containers"] for mount in one["volumeMounts"]}
    volumes = {volume["name"] for volume in spec["volumes"]}
    results.check(mounted == volumes, f"{part}: each volume is mounted, and each mount has one",
                  mounted ^ volumes)


def check_words(results, name, documents, client):
    """hamid understands the files that it is given."""
    for document in documents:
        if document.kind != "ConfigMap" or document.name.endswith("-patch"):
            continue
        answer = client.request("PATCH", document.path + deployed.STRICT, document.text, api.APPLY)
        for role in ("scheduler", "node"):
            text = answer.body["data"].get(f"{role}.yaml")
            if text is None:
                continue
            done = print_config(role, text)
            results.check(done.returncode == 0, f"charts: {name}: hamid {role} understands its file",
                          done.stdout)


def print_config(role, text):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return subprocess.run(
            [suites.BUILD / "daemon/hamid", role, f"--config={file.name}", "--print-config"],
            env={**os.environ, "NODE_NAME": "n"}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, timeout=30)


def check_options(results):
    """The schema knows each option of hamid, or the chart gives it by another value."""
    schema = json.loads((chart_tools.CHART / "values.schema.json").read_text(encoding="utf-8"))
    for role, own in OWN.items():
        said = print_config(role, "v: 3\n")
        options = set(re.findall(r"^#? *([a-z][a-z-]*|v):", said.stdout, re.MULTILINE))
        known = set(schema["properties"][role]["properties"]["config"]["properties"])
        results.check(options == known | own and not known & own,
                      f"charts: the schema knows the options of hamid {role}",
                      sorted(options ^ (known | own)))


def check_tree(results, tools):
    done = subprocess.run([deployment.FOLDER / "render", "--check"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    results.check(done.returncode == 0, "charts: the tree has what the chart renders",
                  done.stdout)
    values = (chart_tools.CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    bare = [line for above, line in zip(values, values[1:])
            if re.match(r"^[a-zA-Z]+:", line) and not above.startswith("#")
            and line not in ("serviceAccount:", "rbac:", "seccomp:", "image:", "prometheusRule:")]
    results.check(not bare, "charts: each value has a comment", bare)
    for name in deployment.ROLES:
        check_role(results, tools, name)


def check_role(results, tools, name):
    """A role of the chart has the rules of deploy/rbac, to the letter."""
    text = (deployment.FOLDER / name).read_text(encoding="utf-8")
    rules = re.compile(r"^kind: (?:Cluster)?Role\n(?:.*\n)*?rules:\n((?:[-# ].*\n)+)", re.MULTILINE)
    rendered = tools.template((STAND_ALONE, "scheduler.lockStore=lease+mirror")).stdout
    strip = re.compile(r"^#.*\n", re.MULTILINE)
    ours = {strip.sub("", found) for found in rules.findall(rendered)}
    theirs = {strip.sub("", found) for found in rules.findall(text)}
    results.check(theirs and theirs <= ours, f"charts: the chart's roles are those of {name}",
                  theirs - ours)


def check_kustomize(results, client, tools):
    """An overlay is what the plain manifest is."""
    for mode in ("stand-alone", "beside-hami"):
        overlay = deployment.split(tools.kustomize(deployment.FOLDER / f"kustomize/overlays/{mode}"))
        plain = deployment.documents(f"manifests/{mode}.yaml")
        left, right = ({document.path: _as_read(client, document) for document in documents}
                       for documents in (overlay, plain))
        results.check(left == right and len(left) > 5,
                      f"charts: the overlay {mode} is the manifest {mode}",
                      sorted(set(left) ^ set(right)))


def _as_read(client, document):
    body = client.need("PATCH", document.path + deployed.STRICT, document.text, api.APPLY).body
    for key in ("uid", "creationTimestamp", "managedFields", "resourceVersion", "generation"):
        body["metadata"].pop(key, None)
    return body


def _prometheus_kinds():
    """As much of the two kinds of Prometheus' operator as the chart writes; the rest is an error."""
    text = {"type": "string"}
    texts = {"type": "object", "additionalProperties": text}
    reference = {"type": "object", "properties": {"name": text, "key": text},
                 "required": ["key"]}
    tls = {"type": "object", "properties": {
        "insecureSkipVerify": {"type": "boolean"}, "serverName": text,
        "ca": {"type": "object", "properties": {"secret": reference}}}}
    endpoint = {"type": "object", "properties": {
        "port": text, "interval": text, "scheme": {"type": "string", "enum": ["http", "https"]},
        "tlsConfig": tls}}
    rule = {"type": "object", "required": ["expr"], "properties": {
        "alert": text, "expr": text, "for": text, "labels": texts, "annotations": texts}}
    group = {"type": "object", "required": ["name"], "properties": {
        "name": text, "rules": {"type": "array", "items": rule}}}
    specs = {"ServiceMonitor": {"selector": {"type": "object", "properties": {
                 "matchLabels": texts}}, "endpoints": {"type": "array", "items": endpoint}},
             "PrometheusRule": {"groups": {"type": "array", "items": group}}}
    for kind, properties in specs.items():
        plural = kind.lower() + "s"
        yield {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
               "metadata": {"name": f"{plural}.monitoring.coreos.com"},
               "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
                        "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                            "openAPIV3Schema": {"type": "object", "required": ["spec"],
                                                "properties": {"spec": {
                                                    "type": "object",
                                                    "properties": properties}}}}}]}}
