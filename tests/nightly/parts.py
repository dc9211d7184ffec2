# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts/nightly runs: each part a command, and what is noted of what it ran with."""

import dataclasses
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACQUIRES = 1000000
FUZZ_SECONDS = 60
LATEST = "1.37.2"
WRITTEN = ("docs/nightly.md", "docs/newcomer-runs.md")


@dataclasses.dataclass
class Part:
    """A command of the checkout; {seed} in it is the run's."""
    name: str
    command: str
    about: str
    tools: tuple = ()    # programs whose version is noted
    facts: str = ""      # what else is; {seed} as above
    needs: tuple = ()    # programs without which it can't run

    def arguments(self, seed):
        return [word.replace("{seed}", str(seed)) for word in self.command.split()]

    def missing(self, root=ROOT):
        """What it lacks here, or an empty text."""
        script = self.command.split()[0]
        if not (root / script).is_file():
            return script
        return next((name for name in self.needs if shutil.which(name) is None), "")

    def versions(self, seed):
        found = [version(tool) for tool in self.tools]
        return ", ".join(filter(None, [*found, self.facts.replace("{seed}", str(seed))]))


PARTS = [
    Part("model", "tests/model/run",
         "the protocol in its full bounds, and every mutant of it", ("spin", "cc"), "",
         ("spin",)),
    Part("soak", f"scripts/soak --acquires {ACQUIRES} --json --seed {{seed}}",
         f"{ACQUIRES} acquires of the shipped core with faults", ("cc",), "seed {seed}"),
    Part("parked", "scripts/soak --parked 10000 --nodes 100 --json",
         "10,000 binds that wait in one hamid, over HTTP and TLS; 2 min", ("cc",)),
    Part("footprint", "scripts/bench --quick --only kubesim --only footprint --only growth",
         "bursts on a simulated server, memory and growth, as docs/footprint.md has them; 5 min", ("cc",)),
    Part("mutants", "tests/mutants/run --jobs 2",
         "faults put into the library, each seen by the simulation", ("cc",)),
    Part("fuzz", f"scripts/fuzz --seconds {FUZZ_SECONDS} --jobs 2",
         f"each fuzz target for {FUZZ_SECONDS} s", ("clang",)),
    Part("chaos", "scripts/test-cluster --only chaos --rounds all --seed {seed}",
         "every fault once on a real control plane, at moments that the seed draws", (),
         f"Kubernetes {LATEST}, seed {{seed}}"),
    Part("interplay", "scripts/test-cluster --only startup --only rolling --only http-timeout "
         "--only replicas --seed {seed}",
         "what scripts/test-cluster leaves out by default, and httpTimeout in full; 5 min", (),
         f"Kubernetes {LATEST}, seed {{seed}}"),
    Part("kubelet", "scripts/test-cluster --only kubelet --side-by-side",
         "each scene on a real kubelet with pods side by side; 4 min", (), f"Kubernetes {LATEST}"),
    Part("kubernetes_1_30", "scripts/test-cluster --version 1.30.14",
         "scripts/test-cluster on Kubernetes 1.30.14", (), "Kubernetes 1.30.14"),
    Part("kubernetes_1_24", "scripts/test-cluster --version 1.24.17",
         "the same on 1.24.17, the oldest", (), "Kubernetes 1.24.17"),
    Part("reproducible", "scripts/reproducible",
         "release and packages made twice, in two ways, byte for byte; 5 min", ("cc",)),
    Part("autopkgtest", "scripts/packages --only autopkgtest",
         "Debian's packages on a clean Debian, by autopkgtest", ("autopkgtest",), "",
         ("mmdebstrap", "autopkgtest")),
    Part("static", "scripts/packages --only static --only image",
         "hamid and hamictl static on musl for two CPUs, and the container image", ("cc",), "",
         ("mmdebstrap", "buildah", "qemu-aarch64-static")),
    Part("cross", "scripts/packages --only cross",
         "hamid for arm64 with Debian's libraries of it, run under qemu", ("cc",), "",
         ("mmdebstrap", "qemu-aarch64-static")),
    Part("newcomer", "scripts/newcomer --write",
         "what newcomers read, done word for word on a fresh Debian; 12 min", (), "",
         ("debootstrap",)),
]
NAMES = [part.name for part in PARTS]


def version(tool):
    """Name and version of a program, as it says itself; empty without it."""
    flag = "-V" if tool == "spin" else "--version"
    try:
        said = subprocess.run([tool, flag], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False).stdout
    except OSError:
        return ""
    line = said.strip().splitlines()[0] if said.strip() else ""
    name = {"cc": line.split(" ")[0] or "cc"}.get(tool, tool)
    found = re.search(r"\d+(\.\d+)+", re.sub(r"\([^)]*\)", "", line))
    return f"{name} {found[0]}" if found else ""


def commit(root=ROOT):
    """The checkout's, with + if something of it is not committed; empty outside git."""
    def ask(*words):
        return subprocess.run(["git", "-C", str(root), *words], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    # What the parts themselves write down changes while they run.
    changed = [line for line in ask("status", "--porcelain", "--untracked-files=no").splitlines()
               if not line.endswith(WRITTEN)]
    name = ask("rev-parse", "--short=10", "HEAD")
    return name + "+" if name and changed else name
