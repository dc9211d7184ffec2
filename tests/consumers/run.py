# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""run.py MESON BUILD SOURCE PREFIX LIBDIR KUBESIM CONSUMER: one consumer shows the behaviours.

Installs the libraries into a temporary folder, builds the consumer against them, runs it once a
backend and judges what it printed. See README.md.
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "install"))

from installation import Exclusive, command, environment, relocate  # noqa: E402
from points import Points  # noqa: E402

import builds  # noqa: E402
import table  # noqa: E402
from kubesim import Kubesim  # noqa: E402

PODS = [f"pod-{number}" for number in range(120)]
LIMIT_SECONDS = 180


def install(meson, build, prefix, libdir, destination):
    """The environment in which the installation is found."""
    with Exclusive(build):
        subprocess.run(command(meson, build, destination), check=True)
    root = destination / prefix.lstrip("/")
    folder = root / libdir / "pkgconfig"
    relocate(folder, prefix, root)
    return environment(folder, root / libdir)


def start(program, backend, settings):
    """What it printed, and its exit code; None if it had to be ended."""
    try:
        done = subprocess.run([*map(str, program.command), backend], text=True,
                              errors="replace", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False,
                              env={**program.environment, **settings})
        return done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), None


def show(points, program, backend, work, kubesim):
    pods, settings, server = [(name, f"uid-of-{name}") for name in PODS], {}, None
    if backend == "kubesim":
        server = Kubesim(kubesim, work / "kubesim")
        pods = server.create_pods(PODS)
        settings["KUBECONFIG"] = str(server.kubeconfig)
    file = work / f"pods-{backend}.tsv"
    file.write_text("".join(f"{name}\t{uid}\n" for name, uid in pods))
    settings["HAMI_CONSUMER_PODS"] = str(file)
    settings["HAMI_CONSUMER_TABLE"] = str(HERE / "behaviours.tsv")
    output, code = start(program, backend, settings)
    if server:
        server.end()
    behaviours = table.read(HERE / "behaviours.tsv")
    for verdict in table.judge(behaviours, backend, output, code):
        points.check(verdict.good, verdict.sentence, verdict.detail)


def main():
    meson, build, source, prefix, libdir, kubesim, name = sys.argv[1:8]
    points = Points()
    with tempfile.TemporaryDirectory(prefix="hami-consumer-") as temporary:
        work = pathlib.Path(temporary)
        settings = install(meson, build, prefix, libdir, work / "destination")
        place = builds.Place(pathlib.Path(source), work / "build", settings)
        place.work.mkdir()
        try:
            program = builds.BUILDS[name](place)
        except builds.Missing as reason:
            print(f"1..0 # SKIP {reason}")
            return
        except builds.Failed as reason:
            points.check(False, f"{name} builds against the installed libraries", reason)
            points.end()
        points.check(True, f"{name} builds against the installed libraries")
        for check in program.checks:
            if check.missing:
                points.skip(f"{name}: {check.sentence}", check.missing)
            else:
                said = points.run(f"{name}: {check.sentence}", check.command,
                                  env=check.environment, timeout=LIMIT_SECONDS)
                if check.says:
                    points.check(check.says in said, f'{name}: it says "{check.says}"', said)
        for backend in table.BACKENDS:
            show(points, program, backend, work, kubesim)
    points.end()


main()
