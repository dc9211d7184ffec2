# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Clean Debian systems in folders, made from Debian's mirror; nothing of this machine is in them."""

import os
import shutil
import subprocess

from common import Stop

SUITE = "bookworm"


def made(*words):
    """mmdebstrap, which mounts this machine's folders into what it makes: where nobody else sees
    them, so that they are gone with it whatever becomes of it."""
    return ["unshare", "--mount", "mmdebstrap", "--quiet", *words]


class Root:
    """A system, which is seen as / by what is run in it, in namespaces that end with that."""

    def __init__(self, points, folder, packages, *options):
        self.folder = folder
        points.run(f"a clean {SUITE} with {len(packages)} packages is made",
                   made("--variant=buildd", f"--include={','.join(packages)}", *options, SUITE,
                        folder), timeout=1800)
        if not (folder / "usr").exists():
            raise Stop()
        # apt-get in there resolves names as this machine does.
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")

    def command(self, *words, network=True):
        mounts = (f"mount -t proc proc {self.folder}/proc && "
                  f"mount -t tmpfs tmpfs {self.folder}/run")
        for name in ("null", "zero", "full", "random", "urandom", "tty"):
            device = f"{self.folder}/dev/{name}"
            mounts += f" && {{ [ -e {device} ] || touch {device}; }} && mount --bind /dev/{name} " \
                      f"{device}"
        alone = [] if network else ["--net"]
        return ["unshare", "--mount", "--pid", "--fork", *alone, "sh", "-c",
                f'{mounts} && exec chroot {self.folder} /usr/bin/env -i PATH=/usr/sbin:/usr/bin:'
                '/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"',
                "in-root", *map(str, words)]

    def put(self, *files):
        """Copies them into /given, and returns their names there."""
        (self.folder / "given").mkdir(exist_ok=True)
        for file in files:
            subprocess.run(["cp", "-r", file, self.folder / "given"], check=True)
        return [f"/given/{os.path.basename(file)}" for file in files]


def missing():
    """Why there can be none here, or None."""
    if os.geteuid() != 0:
        return "only root can"
    return None if shutil.which("mmdebstrap") else "mmdebstrap is not installed"
