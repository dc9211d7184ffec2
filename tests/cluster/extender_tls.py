# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler calls hamid over HTTPS and shows a certificate of its own.

One burst, in the middle of which hamid's certificate is replaced; then pods of a kube-scheduler
without a certificate, and of one whose certificate has another name: they are bound by nobody.
"""

import http.client
import json
import os
import pathlib
import re
import shutil
import ssl

from checker import figures
from cluster import burst, certificates, interplay_world, manifests

ROOT = pathlib.Path(__file__).resolve().parents[2]
PODS = 40
WITHIN = 60.0
NAME = "system:kube-scheduler"
CLIENT = "extendedKeyUsage=clientAuth\n"
SERVER = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n"
RELOADS = 'hamid_tls_reloads_total{outcome="taken"}'
FAILED = 'hamid_tls_handshakes_total{listener="extender",outcome="failed"}'
DONE = 'hamid_tls_handshakes_total{listener="extender",outcome="done"}'


def documented_members():
    """enableHTTPS and the members of tlsConfig, as docs/tls.md has them."""
    text = (ROOT / "docs/tls.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```yaml\n(extenders:.*?)```", text, re.DOTALL)
    return dict(re.findall(r"(enableHTTPS|\w+File): (\S+)", block))


class World(interplay_world.World):
    """With an authority for hamid and its callers alone."""

    def __init__(self, plane, say):
        super().__init__(plane, say)
        self.files = certificates.make(plane.folder / "extender-certificates")
        certificates.sign(self.files, "hamid", "/CN=hamid", SERVER)
        certificates.sign(self.files, "scheduler", f"/CN={NAME}", CLIENT)
        certificates.sign(self.files, "other", "/CN=somebody-else", CLIENT)
        self.context = ssl.create_default_context(cafile=str(self.files / "ca.crt"))
        self.metrics = None

    def start_binder_with_tls(self):
        self.start_binder("hamid-a", flags=(
            f"--tls-cert-file={self.files / 'hamid.crt'}",
            f"--tls-key-file={self.files / 'hamid.key'}",
            f"--client-ca-file={self.files / 'ca.crt'}", f"--client-name={NAME}",
            "--scheduler-name=without", "--scheduler-name=other"))
        text = (self.plane.folder / "hamid-a.address").read_text(encoding="ascii")
        self.metrics = text.split()[1]
        self.group.wait_until("hamid-a", self.group.find("hamid-a"),
                              lambda: self.page("/readyz")[0] == 200,
                              interplay_world.START_SECONDS)

    def page(self, path):
        """Status and text of a page of hamid's second listener."""
        connection = http.client.HTTPSConnection(self.metrics, timeout=5, context=self.context)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def metric(self, line):
        for text in self.page("/metrics")[1].splitlines():
            if text.startswith(line + " "):
                return float(text.split()[-1])
        return 0.0

    def start_caller(self, name, scheduler, certificate):
        """kube-scheduler with an extender entry as the documentation has it."""
        entry = manifests.extender(f"https://{self.addresses['hamid-a']}", burst.RESOURCE,
                                   self.filter_url is not None, interplay_world.PATIENCE)
        shown = documented_members()
        entry["enableHTTPS"] = shown.pop("enableHTTPS") == "true"
        entry["tlsConfig"] = {
            member: path.replace("/hamid/scheduler", f"/hamid/{certificate}").replace("/hamid", str(self.files))
            for member, path in shown.items() if certificate or member == "caFile"}
        words = {"profiles": [{"schedulerName": scheduler}], "extenders": [entry]}
        self.plane.with_ports(1, lambda ports: self.plane.try_scheduler(
            name, self.plane.programs["kube-scheduler"], words, ports[0]))

    def replace_certificate(self):
        new = self.plane.folder / "extender-certificates-new"
        shutil.copytree(self.files, new)
        certificates.sign(new, "hamid", "/CN=hamid", SERVER)
        for name in ("hamid.key", "hamid.crt"):
            os.replace(new / name, self.files / name)

    def is_bound(self, name):
        return any("nodeName" in pod["spec"] for pod in self.pods(name))


def _burst(results, world):
    def check(is_good, text, found=""):
        results.check(is_good, f"extender-tls: {text}", found)
    world.start_caller("kube-scheduler-a", interplay_world.DEFAULT, "scheduler")
    world.begin_chapter()
    world.create("secure", PODS)
    world.until("a quarter is bound", lambda: (world.counts("secure") or (0,))[0] >= PODS // 4,
                WITHIN, 0.05)
    world.replace_certificate()
    world.until("the new certificate is taken", lambda: world.metric(RELOADS) == 1, 20)
    is_done = world.served("secure", PODS, WITHIN)
    world.wait_for_announcements("secure", PODS)
    values = figures.figures(world.report("secure"))
    results.say("extender-tls: " + json.dumps(values))
    check(is_done, f"all is done within {WITHIN:.0f} s", world.counts("secure"))
    for figure in ("pods", "bound", "allocated"):
        check(values[figure] == PODS, f"{figure} is {PODS}", values[figure])
    check(values["failed_binds"] == 0, "no bind fails while the certificate is replaced",
          values["failed_binds"])
    for text, figure in interplay_world.ZERO:
        check(values[figure] == 0, text, values[figure])
    check(world.metric(DONE) > 0, "kube-scheduler came over TLS")
    return values


def _strangers(results, world):
    """Neither is let in, and nothing else binds their pods."""
    failed = world.metric(FAILED)
    world.start_caller("kube-scheduler-without", "without", None)
    world.create("without", 1, ("without",))
    world.until("its handshakes fail", lambda: world.metric(FAILED) > failed, WITHIN)
    results.check(not world.is_bound("without"),
                  "extender-tls: a kube-scheduler without a certificate binds nothing")
    done = world.metric(DONE)
    world.start_caller("kube-scheduler-other", "other", "other")
    world.create("other", 1, ("other",))
    world.until("it is told so", lambda: _was_refused(world, "other"), WITHIN)
    results.check(world.metric(DONE) > done and not world.is_bound("other"),
                  "extender-tls: one whose certificate has another name binds nothing")


def _was_refused(world, name):
    """kube-scheduler tells on the pod what its extender said."""
    found = world.admin.need("GET", "/api/v1/namespaces/default/events").body["items"]
    return any(event["involvedObject"]["name"].startswith(f"{name}-")
               and event["reason"] == "FailedScheduling" and "403" in event.get("message", "")
               for event in found)


def run(results, plane):
    world = World(plane, results.say)
    world.start_nodes()
    world.start_binder_with_tls()
    try:
        values = _burst(results, world)
        _strangers(results, world)
    finally:
        world.stop_all()
    return values
