# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The same burst on a real control plane: etcd, kube-apiserver, kube-scheduler."""

import tempfile

from cluster import burst, control_plane
from demo import options


class Burst:
    """One control plane with one burst. A context manager."""

    def __init__(self, asked, screen):
        self.asked = asked
        self.screen = screen
        self.plane = None
        self.folder = tempfile.mkdtemp(prefix="hami-demo-") if asked.keep else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.plane is not None:
            self.plane.close()

    def run(self):
        """Answers the checker's report of what the server saw."""
        self.screen.say(f"looking for Kubernetes {self.asked.version}; where it was never "
                        "built, building it takes about 12 minutes on two cores, once")
        self.plane = control_plane.ControlPlane(self.asked.version, self.folder)
        self.screen.say(f"starting Kubernetes {self.asked.version}")
        self.plane.__enter__()
        return burst.Burst(self.plane, self.screen.say, pods=self.asked.pods,
                           allocate_ms=self.asked.allocate_ms,
                           patience=options.duration_text(self.asked.patience)).run()
