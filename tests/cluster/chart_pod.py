# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A scheduler pod played on this computer: its containers hamid and kube-scheduler, as processes.

Their words are those of the pod's spec, their files those of the ConfigMaps that it mounts, and they
log in as its service account. HAMi's container is played by a filter that takes every node.
"""

import base64
import ssl
import subprocess

from cluster import burst, deployment, manifests, probes, rbac, suites

PATIENCE = 180
HAMI = "https://127.0.0.1:443"


class SecureFilter(rbac.Filter):
    """The same over HTTPS, with a certificate that nobody verifies; and it counts."""

    def __init__(self, certificates):
        self.certificates = certificates
        self.count = 0

    def __enter__(self):
        outer = self

        class Handler(rbac.Filter.Handler):
            def do_POST(self):  # noqa: N802
                outer.count += 1
                super().do_POST()

        self.Handler = Handler  # noqa: N815
        url = super().__enter__()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificates / "server.crt", self.certificates / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        return url.replace("http:", "https:")


def _place(text, places):
    for mounted, here in places.items():
        text = text.replace(mounted, here)
    return text


class Pod:
    """A context manager; everything that it started ends with it."""

    def __init__(self, plane, client, name, namespace, spec):
        self.plane = plane
        self.client = client
        self.name = name
        self.namespace = namespace
        self.spec = spec
        self.folder = plane.folder / f"pod-{name}"
        self.filter = SecureFilter(plane.certificates)
        self.filter_url = None
        self.address = None
        self.started = []

    def __enter__(self):
        self.folder.mkdir()
        self.filter_url = self.filter.__enter__()
        return self

    def __exit__(self, *_):
        for name in reversed(self.started):
            self.plane.group.stop(self.plane.group.find(name))
        # The next one need not wait until it is over.
        self.client.request("DELETE", self.election)
        self.filter.__exit__()

    @property
    def filtered(self):
        return self.filter.count

    @property
    def log(self):
        return (self.plane.folder / f"hamid-{self.name}.log").read_text(errors="replace")

    def start(self):
        account = self.spec["serviceAccountName"]
        deployment.is_user(self.plane, account,
                           deployment.token(self.client, account, self.namespace), self.namespace)
        kubeconfig = self.plane.kubeconfig(account)
        hamid, scheduler = (next(one for one in self.spec["containers"] if one["name"] == name)
                            for name in ("hamid", "kube-scheduler"))
        self._start_hamid(hamid, kubeconfig)
        self._start_scheduler(scheduler, kubeconfig)

    def _files(self, container):
        """Writes what the container mounts; answers its words. Both name the files here."""
        volumes = {one["name"]: one for one in self.spec["volumes"]}
        written, places = [], {}
        for mount in container["volumeMounts"]:
            texts = self._read(volumes[mount["name"]])
            folder = self.folder / container["name"] / mount["name"]
            folder.mkdir(parents=True)
            places[mount["mountPath"] + "/"] = f"{folder}/"
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8")
                written.append(folder / name)
        for file in written:
            file.write_text(_place(file.read_text(encoding="utf-8"), places), encoding="utf-8")
        words = [*container.get("command", []), *container.get("args", [])][1:]
        return [_place(word, places) for word in words]

    def _read(self, volume):
        """name -> text of a ConfigMap or a Secret, as the kubelet would mount it."""
        base = f"/api/v1/namespaces/{self.namespace}"
        if "configMap" in volume:
            path = f"{base}/configmaps/{volume['configMap']['name']}"
            return self.client.need("GET", path).body["data"]
        secret = volume["secret"]
        data = self.client.need("GET", f"{base}/secrets/{secret['secretName']}").body["data"]
        items = {one["key"]: one["path"] for one in secret.get("items", [])} or {one: one for one in data}
        return {path: base64.b64decode(data[key]).decode() for key, path in items.items()}

    def _start_hamid(self, container, kubeconfig):
        words = self._files(container)
        addresses = self.folder / "addresses"
        file = next(word for word in words if word.startswith("--config=")).partition("=")[2]
        with open(file, encoding="utf-8") as opened:
            has_filter = HAMI in opened.read()
        words += ["--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0",
                  f"--address-file={addresses}", f"--kubeconfig={kubeconfig}"]
        if has_filter:
            words.append(f"--filter-url={self.filter_url}")
        name = f"hamid-{self.name}"
        child = self._start(name, [suites.BUILD / "daemon/hamid", *words])
        self.plane.group.wait_until(name, child, addresses.exists, PATIENCE)
        self.address, metrics = addresses.read_text(encoding="ascii").split()
        self.plane.group.wait_until(name, child, lambda: self._is_ready(container, metrics), PATIENCE)

    @staticmethod
    def _is_ready(container, address):
        """Asks as the pod's own probe does."""
        words = [word.replace("127.0.0.1:9397", address)
                 for word in container["readinessProbe"]["exec"]["command"][1:]]
        return subprocess.run([suites.BUILD / "daemon/hamid", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False, timeout=30).returncode == 0

    def _start_scheduler(self, container, kubeconfig):
        words = self._files(container)
        file = next(word for word in words if word.startswith("--config=")).partition("=")[2]
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        text = text.replace("127.0.0.1:8080", self.address).replace(HAMI, self.filter_url)
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(f"{text}\nclientConnection: {{kubeconfig: {kubeconfig}}}\n")
        name = f"kube-scheduler-{self.name}"
        self.plane.with_ports(1, lambda ports: self._try_scheduler(name, words, ports[0]))

    def _try_scheduler(self, name, words, port):
        child = self._start(name, [
            self.plane.programs["kube-scheduler"], *words, "--bind-address=127.0.0.1",
            f"--secure-port={port}", f"--cert-dir={self.folder / 'certificates'}"])
        # HAMi's chart does not open its health to everybody: that it answers is enough.
        self.plane.group.wait_until(
            name, child, lambda: probes.scheduler_is_healthy(port, (200, 401, 403)), PATIENCE)

    def _start(self, name, words):
        child = self.plane.group.start(name, words)
        self.started = [one for one in self.started if one != name] + [name]
        return child

    def bind_one(self, client):
        """The annotations of a pod that was bound by the two."""
        pod = manifests.pod(f"pod-{self.name}", burst.RESOURCE)
        pod["spec"]["schedulerName"] = "hami-scheduler"
        path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
        client.need("POST", "/api/v1/namespaces/default/pods", pod)
        deployment.wait_until(lambda: client.need("GET", path).body["spec"].get("nodeName"),
                              PATIENCE, f"the binding of {path}")
        annotations = client.need("GET", path).metadata.get("annotations", {})
        client.need("DELETE", path)
        return annotations

    @property
    def election(self):
        """The Lease of kube-scheduler's election, by its path."""
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/hami-scheduler"

    def is_elected(self):
        return bool(self.client.need("GET", self.election).body["spec"].get("holderIdentity"))
