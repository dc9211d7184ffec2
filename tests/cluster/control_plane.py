# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Starts etcd, kube-apiserver and kube-scheduler on loopback and ends them again.

Nothing is fixed: ports are free ones, and a start that loses one to somebody else is tried
again with others. Everything lives in one folder: kubeconfigs, logs, the audit log.
"""

import http.client
import json
import pathlib
import secrets
import shutil
import subprocess
import tempfile

from cluster import api, certificates, deployment, manifests, probes, processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_VERSION = "1.37.2"
START_ATTEMPTS = 4


def find_programs(version, names=()):
    """Paths of the programs by name; builds what is missing, with progress on stderr."""
    found = subprocess.run([str(ROOT / "scripts/build-kubernetes"), "--version", version, *names],
                           stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode != 0:
        raise processes.Failed("scripts/build-kubernetes could not provide a control plane")
    return dict(line.split(" ", 1) for line in found.stdout.splitlines())


def find_program(version, name):
    """The path of one more program, such as kubelet."""
    return find_programs(version, (name,))[name]


class ControlPlane:
    """One API server with its store and, when asked, its scheduler. A context manager."""

    def __init__(self, version=DEFAULT_VERSION, folder=None, server_flags=(),
                 audit_policy=None, separate_events=False):
        self.version = version.removeprefix("v")
        self.minor = int(self.version.split(".")[1])
        self.programs = find_programs(self.version)
        self.is_temporary = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="hami-cluster-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.group = processes.Group(self.folder)
        self.tokens = {user: secrets.token_hex(16) for user in manifests.USERS}
        self.server_flags = server_flags
        self.audit_policy = audit_policy or manifests.AUDIT_POLICY
        self.separate_events = separate_events
        self.port = 0
        self.store = None
        self.certificates = None
        self.scheduler = None
        self.probes = {}

    def __enter__(self):
        try:
            self.certificates = certificates.make(self.folder / "certificates")
            self._write_files()
            self.store = self._start_store("etcd")
            if self.separate_events:
                # As clusters of some size have it: a consistent list of pods then never waits
                # for the news that the store's last revision was an event.
                events = self._start_store("etcd-events")
                self.server_flags = (*self.server_flags,
                                     f"--etcd-servers-overrides=/events#{events}")
            self._start_server(self.store)
            self._write_kubeconfigs()
            self._prepare()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def audit_log(self):
        return self.folder / "audit.log"

    def kubeconfig(self, user="admin"):
        return self.folder / f"{user}.kubeconfig"

    def client(self, user="admin"):
        return api.Client(self.port, self.certificates / "ca.crt", self.tokens[user],
                          f"cluster-test/{user}")

    def start_scheduler(self, extenders, name="default-scheduler"):
        """Starts kube-scheduler with these extenders and waits until it is healthy.

        It serves pods of that schedulerName.
        """
        program = "kube-scheduler" if name == "default-scheduler" else f"kube-scheduler-{name}"
        words = {"profiles": [{"schedulerName": name}], "extenders": extenders}
        self.with_ports(1, lambda ports: self.try_scheduler(
            program, self.programs["kube-scheduler"], words, ports[0]))

    def start_again(self, name):
        """After a kill: etcd with its data, kube-apiserver on its port; waits for it."""
        child = self.group.start_again(name)
        self.group.wait_until(name, child, self.probes[name], 120)

    def close(self):
        self.group.close()
        if self.is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write_files(self):
        tokens = [f'{self.tokens[user]},{name},{name},"{groups}"'
                  for user, (name, groups) in manifests.USERS.items()]
        path = self.folder / "tokens.csv"
        path.touch(mode=0o600)
        path.write_text("\n".join(tokens) + "\n")
        (self.folder / "audit-policy.json").write_text(json.dumps(self.audit_policy))

    def with_ports(self, count, start):
        """Runs start with free ports, with others again if somebody took one meanwhile."""
        for attempt in range(START_ATTEMPTS):
            try:
                return start(processes.free_ports(count))
            except processes.Failed as error:
                if "address already in use" not in str(error) or attempt + 1 == START_ATTEMPTS:
                    raise
        return None

    def _start_store(self, name):
        return self.with_ports(2, lambda ports: self._try_store(name, ports))

    def _try_store(self, name, ports):
        url, peer = (f"http://127.0.0.1:{port}" for port in ports)
        data = tempfile.mkdtemp(prefix="etcd-", dir=self.folder)
        child = self.group.start(name, [
            self.programs["etcd"], "--name=test", f"--data-dir={data}", "--unsafe-no-fsync",
            f"--listen-client-urls={url}", f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=test={peer}", "--log-level=warn"])

        def is_ready():
            connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=2)
            try:
                connection.request("GET", "/health")
                return b"true" in connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                return False
            finally:
                connection.close()

        self.probes[name] = is_ready
        self.group.wait_until(name, child, is_ready, 60)
        return url

    def _start_server(self, store):
        self.with_ports(1, lambda ports: self._try_server(store, ports[0]))

    def start_second_server(self):
        """Another API server on the same store, with an audit log of its own; answers its port.

        Nothing uses it before something in front of both is put into the kubeconfigs.
        """
        first = self.port
        try:
            self.with_ports(1, lambda ports: self._try_server(
                self.store, ports[0], "kube-apiserver-2", self.second_audit_log))
            return self.port
        finally:
            self.port = first

    @property
    def second_audit_log(self):
        return self.folder / "audit-2.log"

    def use_server(self, port):
        """Clients and kubeconfigs that are made from here on go to that port."""
        self.port = port
        self._write_kubeconfigs()

    def _try_server(self, store, port, name="kube-apiserver", audit_log=None):
        keys = self.certificates
        child = self.group.start(name, [
            self.programs["kube-apiserver"], f"--etcd-servers={store}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={port}", "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            f"--client-ca-file={keys / 'ca.crt'}",
            f"--tls-cert-file={keys / 'server.crt'}",
            f"--tls-private-key-file={keys / 'server.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={keys / 'token.pub'}",
            f"--service-account-signing-key-file={keys / 'token.key'}",
            "--disable-admission-plugins=ServiceAccount",
            f"--cert-dir={self.folder / 'apiserver'}",
            f"--audit-policy-file={self.folder / 'audit-policy.json'}",
            f"--audit-log-path={audit_log or self.audit_log}", "--audit-log-maxsize=10000",
            *self.server_flags])
        self.port = port
        self.probes[name] = self.client().is_ready
        self.group.wait_until(name, child, self.probes[name], 120)

    def _write_kubeconfigs(self):
        for user, token in self.tokens.items():
            self._write_kubeconfig(user, {"token": token})
        self._write_kubeconfig("admin-certificate", {
            "client-certificate": str(self.certificates / "admin.crt"),
            "client-key": str(self.certificates / "admin.key")})

    def write_kubeconfig(self, name, user, port):
        """One for that user by another way to the server, such as a proxy's port."""
        self._write_kubeconfig(name, {"token": self.tokens[user]}, port)

    def _write_kubeconfig(self, name, user, port=None):
        # JSON is YAML: both our reader and client-go take it.
        path = self.kubeconfig(name)
        path.touch(mode=0o600)
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": f"https://127.0.0.1:{port or self.port}",
                "certificate-authority": str(self.certificates / "ca.crt")}}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
        }, indent=2) + "\n")

    def _prepare(self):
        """The namespace that the server itself makes, and roles for our users."""
        client = self.client()
        deployment.wait_until(
            lambda: client.request("GET", "/api/v1/namespaces/default").code == 200, 30,
            "namespace default")
        deployment.apply(client, "namespaces.yaml", *deployment.ROLES)
        for path, body in manifests.roles():
            client.need("POST", path, body)

    def try_scheduler(self, name, path, words, port, environment=None):
        """Starts that kube-scheduler on that port, with words in its configuration."""
        group_version = "v1" if self.minor >= 25 else "v1beta3"
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({
            "apiVersion": f"kubescheduler.config.k8s.io/{group_version}",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig("kube-scheduler"))},
            "leaderElection": {"leaderElect": False}, **words}, indent=2))
        self.run_scheduler(name, path, file, port, environment)

    def run_scheduler(self, name, path, file, port, environment=None):
        """Starts that kube-scheduler with that configuration file and waits for its health."""
        self.scheduler = self.group.start(name, [
            path, f"--config={file}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--cert-dir={self.folder / 'scheduler'}", "--v=2",
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"], environment)
        self.group.wait_until(name, self.scheduler,
                              lambda: probes.scheduler_is_healthy(port), 60)
