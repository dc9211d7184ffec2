# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Where commands of the documentation are run: with the programs installed, before an API server."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "install"))

import installation  # noqa: E402

PORTS = ("127.0.0.1:8080", "127.0.0.1:9397", "localhost:9397", "0.0.0.0:8443")
AGENT = "/run/hamid/agent.sock"
AGENT_SECONDS = 60
KEPT = ("HOME", "LANG", "GOCACHE", "GOMODCACHE", "GOPATH", "CARGO_HOME", "XDG_CACHE_HOME")


def free_ports(count):
    """Ports that were free a moment ago, kept apart from one another."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def exchange():
    """The addresses that pages write, and free ones: two pages may be tested at a time."""
    extender, other, secure = free_ports(3)
    real = (f"127.0.0.1:{extender}", f"127.0.0.1:{other}", f"localhost:{other}", f"0.0.0.0:{secure}")
    return dict(zip(PORTS, real))


def folders(folder, build):
    """Folders of a node, of a reader's shells and of the build, and what stands for them."""
    for name in ("node-exporter", "plugins", "zsh", "config/fish/completions"):
        (folder / name).mkdir(parents=True)
    return {AGENT: str(folder / "agent.sock"), "/var/lib/node-exporter": str(folder / "node-exporter"),
            "/var/lib/hamid/plugins": str(folder / "plugins"), '"${fpath[1]}': f'"{folder / "zsh"}',
            "~/.config/": f"{folder / 'config'}/", "build/examples/": f"{build}/examples/"}


SHIM = """\
#!/bin/bash
# Without a port of its own a scheduler takes those of the pages, and two pages may be tested at a time.
if [[ ${{1:-}} == scheduler && " $* " != *" --print-config "* && " $* " != *" --help "* ]]; then
    [[ " $*" == *" --listen"* ]] || set -- "$@" --listen={extender}
    [[ " $*" == *" --metrics-listen"* ]] || set -- "$@" --metrics-listen={other}
fi
# There is no kubelet here, nor a folder of it.
if [[ ${{1:-}} == node && " $* " == *" --gateway "* ]]; then
    set -- "$@" --kubelet-plugins={folder} --socket={folder}/agent.sock
fi
exec {hamid} "$@"
"""


def shim(folder, hamid, changes):
    """A folder for PATH with a hamid whose default ports are free ones."""
    place = folder / "bin"
    place.mkdir()
    path = place / "hamid"
    path.write_text(SHIM.format(hamid=hamid, extender=changes[PORTS[0]], other=changes[PORTS[1]],
                                 folder=place),
                    encoding="ascii")
    path.chmod(0o755)
    return place


class Installed:
    """The checkout's programs and libraries below a temporary folder."""

    def __init__(self, meson, build, prefix, libdir):
        self.folder = tempfile.TemporaryDirectory(prefix="hami-docs-")
        destination = pathlib.Path(self.folder.name) / "destination"
        with installation.Exclusive(build):
            subprocess.run(installation.command(meson, build, destination), check=True)
        root = destination / prefix.lstrip("/")
        packages = root / libdir / "pkgconfig"
        self.hamid = root / "bin/hamid"
        installation.relocate(packages, prefix, root)
        self.environment = {
            **{name: os.environ[name] for name in KEPT if name in os.environ},
            "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "SHELL": shutil.which("bash") or "/bin/bash",
            "PKG_CONFIG_PATH": str(packages), "LD_LIBRARY_PATH": str(root / libdir),
            "GOPROXY": "off", "GOTOOLCHAIN": "local", "TERM": "dumb"}

    def scratch(self, name):
        """An empty folder with the checkout beside it, as a reader has it."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder.name))
        (folder / "libhaminodelock").symlink_to(ROOT)
        return folder

    def end(self):
        self.folder.cleanup()


class Kubesim:
    """A simulated API server with two nodes."""

    def __init__(self, program, folder):
        self.child = subprocess.Popen(
            [program, "--directory", folder, "--node", "gpu-0", "--node", "gpu-1", "--exit-with-parent"],
            stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()
        self.environment = {"KUBECONFIG": str(folder / "kubeconfig")}
        text = (folder / "kubeconfig").read_text(encoding="utf-8")
        self.environment["KUBESIM"] = re.search(r"server:\s*\"?([^\s\"]+)", text).group(1)

    def end(self):
        self.child.terminate()
        self.child.wait()
        self.child.stdout.close()


class Agent:
    """hamid node of the node gpu-0, as it runs where a reader looks at one."""

    def __init__(self, hamid, kubesim, socket_path):
        self.child = subprocess.Popen(
            [hamid, "node", "--node", "gpu-0", "--socket", socket_path],
            env={**os.environ, **kubesim.environment}, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + AGENT_SECONDS
        while not answers(socket_path) and time.monotonic() < deadline and self.child.returncode is None:
            try:
                self.child.wait(0.05)
            except subprocess.TimeoutExpired:
                continue

    def end(self):
        self.child.terminate()
        self.child.wait()


def answers(path):
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(path) == 0
