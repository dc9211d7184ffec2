# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""helm and kubectl as programs, on the chart of deploy/ and on one plane."""

import json
import os
import subprocess

from cluster import control_plane, deployment, processes, suites

CHART = deployment.FOLDER / "chart/hamid"
HAMI_CHART = deployment.ROOT / "tests/cluster/hami_chart"
HAMI_NAMESPACE = "kube-system"
PATIENCE = 120


class Tools:
    """Runs both with homes of their own, so that nothing of this computer's user is read."""

    def __init__(self, plane):
        self.plane = plane
        found = control_plane.find_programs(plane.version, ("helm", "kubectl"))
        self.helm_program, self.kubectl_program = found["helm"], found["kubectl"]
        home = plane.folder / "home"
        programs = plane.folder / "programs"
        for folder in (home, programs):
            folder.mkdir()
        found["hamictl"] = suites.BUILD / "daemon/hamictl/hamictl"
        for name, path in found.items():
            (programs / name).symlink_to(path)
        self.environment = {
            **os.environ, "HOME": str(home), "KUBECONFIG": str(plane.kubeconfig()),
            "HELM_CACHE_HOME": str(home / "cache"), "HELM_CONFIG_HOME": str(home / "config"),
            "HELM_DATA_HOME": str(home / "data"), "KUBECTL": self.kubectl_program,
            "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(self, words, text=None, folder=None):
        return subprocess.run([str(word) for word in words], input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE,
                              env=self.environment, cwd=folder)

    def helm(self, *words):
        return self.run([self.helm_program, *words])

    def need(self, *words):
        done = self.helm(*words)
        if done.returncode != 0:
            raise processes.Failed(f"helm {' '.join(map(str, words))}:\n{done.stderr}")
        return done.stdout

    def need_json(self, *words):
        return json.loads(self.need(*words, "-o", "json"))

    def template(self, values=(), namespace=deployment.NAMESPACE):
        """What helm renders of hamid's chart for the version of the plane."""
        return self.helm("template", "hamid", CHART, f"--namespace={namespace}",
                         f"--kube-version={self.plane.version}", *settings(values))

    def kustomize(self, folder):
        done = self.run([self.kubectl_program, "kustomize", folder])
        if done.returncode != 0:
            raise processes.Failed(f"kubectl kustomize {folder}:\n{done.stderr}")
        return done.stdout


def settings(values):
    """Words for helm: values as "a.b=c"."""
    return [word for value in values for word in ("--set", value)]
