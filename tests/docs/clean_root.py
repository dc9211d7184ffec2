# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A Debian root with nothing in it but what debootstrap puts there, and what a reader brings along."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

RELEASE = "bookworm"
HOME = "root"
SOURCES = "libhaminodelock"


class Missing(Exception):
    """It can't be made on this computer; the text says why."""


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "haminodelock/newcomer"


def mirror():
    """Where this computer itself gets Debian's packages."""
    for path in [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]:
        if path.exists():
            found = re.search(r"^(?:deb(?: \[[^]]*\])? |URIs: )(\S+/debian)/?(?=\s|$)",
                              path.read_text(encoding="utf-8"), re.M)
            if found:
                return found.group(1)
    return None


def prepare(fresh):
    """The archive of an untouched root; made once, or again."""
    if os.geteuid() != 0:
        raise Missing("a root has to be made by root")
    if shutil.which("debootstrap") is None:
        raise Missing("debootstrap is not installed")
    archive = cache() / f"{RELEASE}.tar"
    if archive.exists() and not fresh:
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hami-root-") as folder:
        where = mirror()
        done = subprocess.run(["debootstrap", "--variant=minbase", RELEASE, folder, *([where] if where else [])],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Missing("debootstrap failed:\n" + "\n".join(done.stdout.splitlines()[-5:]))
        unfinished = archive.with_suffix(".new")
        subprocess.run(["tar", "-C", folder, "-cf", unfinished, "."], check=True)
        unfinished.rename(archive)
    return archive


class Root:
    """One reader's computer. A context manager; it is gone afterwards."""

    def __init__(self, archive, source):
        self.temporary = tempfile.TemporaryDirectory(prefix="hami-newcomer-", ignore_cleanup_errors=True)
        self.folder = pathlib.Path(self.temporary.name)
        subprocess.run(["tar", "-C", self.folder, "-xf", archive], check=True)
        self.folder.chmod(0o755)
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
        for file in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
            shutil.copy(file, self.folder / "etc/apt/apt.conf.d")
        self._bring_sources(source)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def _bring_sources(self, source):
        """The tree as it is checked out, without what was built in it."""
        names = subprocess.run(["git", "-C", source, "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout
        target = self.folder / HOME / SOURCES
        target.mkdir()
        packed = subprocess.Popen(["tar", "-C", source, "--null", "-T", "-", "-cf", "-"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        unpacked = subprocess.Popen(["tar", "-C", target, "-xf", "-"], stdin=packed.stdout)
        packed.stdout.close()
        packed.stdin.write(names)
        packed.stdin.close()
        if packed.wait() != 0 or unpacked.wait() != 0:
            raise Missing("the sources could not be copied")

    def bring_go(self):
        where = shutil.which("go")
        if where is None:
            raise Missing("there is no Go to bring along")
        root = subprocess.run(["go", "env", "GOROOT"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        subprocess.run(["cp", "-a", root, self.folder / "usr/local/go"], check=True)

    def bring_cluster(self, kubeconfig, files, programs):
        """kubectl and its like, with a login. The files that it names stay where they are."""
        (self.folder / HOME / ".kube").mkdir()
        shutil.copy(kubeconfig, self.folder / HOME / ".kube/config")
        for path in files:
            place = self.folder / str(path).lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        for name, path in programs.items():
            shutil.copy(pathlib.Path(path).resolve(), self.folder / "usr/local/bin" / name)

    def shell(self):
        """Words that start a shell in it: no process outlives the first one."""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.folder / 'proc'}",
                "chroot", str(self.folder), "/bin/bash", "--norc", "--noprofile", "-c",
                f"cd /{HOME} && exec /bin/bash --norc --noprofile"]

    @staticmethod
    def environment():
        """What a login as root has, and nothing of the one who runs this."""
        return {"HOME": f"/{HOME}", "USER": "root", "TERM": "dumb", "LANG": "C.UTF-8",
                "PATH": "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
