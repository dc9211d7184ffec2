# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""How each consumer is built against the installed libraries, and started."""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

STRICT = ["-O1", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror"]


class Missing(Exception):
    """A toolchain is not here; the text says which."""


class Failed(Exception):
    """The consumer does not build; the text says why."""


@dataclasses.dataclass
class Place:
    """Where a build happens. @environment: finds the installation."""
    source: pathlib.Path
    work: pathlib.Path
    environment: dict


@dataclasses.dataclass
class Check:
    """What a binding shows besides: a command that ends with 0.

    @missing: why it can't run here. @says: what it has to print.
    """
    sentence: str
    command: list
    environment: dict
    missing: str = ""
    says: str = ""


@dataclasses.dataclass
class Program:
    command: list
    environment: dict
    checks: list = dataclasses.field(default_factory=list)


def need(name):
    found = shutil.which(name)
    if not found:
        raise Missing(f"there is no {name} here")
    return found


def run(place, command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False,
                          **{"env": place.environment, "cwd": place.work, **options})
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def guide(place, language, name):
    """The program of docs/embedding.md in that language, as a file below the work folder."""
    text = (place.source / "docs/embedding.md").read_text()
    match = re.search(rf"<!-- (?:run|file: \S+) -->\n```{language}\n(.*?)```", text, re.DOTALL)
    if not match:
        raise Failed(f"docs/embedding.md has no program in {language}")
    file = place.work / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(match.group(1))
    return file


def guide_check(command, environment):
    return Check("the program in docs/embedding.md binds a pod", command, environment, "",
                 "my-pod: OK")


def flags(place, *words):
    return run(place, ["pkg-config", *words, "haminodelock-kubernetes"]).split()


def static_flags(place):
    """Our archives by name; what they need comes shared, as the pkg-config files require it."""
    ours = [f"-l:lib{word[2:]}.a" if word.startswith("-lhaminodelock") else word
            for word in flags(place, "--libs")]
    needed = [line.split()[0] for line in
              run(place, ["pkg-config", "--print-requires-private",
                          "haminodelock-kubernetes"]).splitlines()]
    others = run(place, ["pkg-config", "--libs",
                         *(name for name in needed if not name.startswith("haminodelock"))])
    return [*ours, *others.split()]


def c(place, libraries):
    program = place.work / "consumer"
    sources = sorted((place.source / "tests/consumers/c").glob("*.c"))
    run(place, [need("cc"), "-std=gnu11", *STRICT, *flags(place, "--cflags"), *sources, "-o",
                program, *libraries, "-pthread"])
    shown = place.work / "guide"
    run(place, ["cc", "-std=gnu11", *STRICT, *flags(place, "--cflags"),
                guide(place, "c", "guide.c"), "-o", shown, *libraries])
    return Program([program], place.environment, [guide_check([shown], place.environment)])


def c_shared(place):
    return c(place, flags(place, "--libs"))


def c_static(place):
    made = c(place, static_flags(place))
    linked = run(place, ["readelf", "-d", *made.command])
    if "haminodelock" in linked:
        raise Failed(f"the static consumer needs the shared library:\n{linked}")
    return made


def cpp(place, standard):
    """The same sources, and a drop by scope in the place of C's."""
    program = place.work / "consumer"
    folder = place.source / "tests/consumers/c"
    sources = [*(file for file in sorted(folder.glob("*.c")) if file.name != "drop.c"),
               *sorted(folder.glob("*.cpp"))]
    run(place, [need("g++"), "-x", "c++", f"-std={standard}", *STRICT,
                *flags(place, "--cflags"), f"-I{place.source / 'examples'}", *sources, "-o",
                program, *flags(place, "--libs"), "-pthread"])
    cpp_example(place, standard)
    shown = place.work / "guide"
    run(place, ["g++", f"-std={standard}", *STRICT, *flags(place, "--cflags"),
                f"-I{place.source / 'examples'}", guide(place, "cpp", "guide.cpp"), "-o", shown,
                *flags(place, "--libs")])
    return Program([program], place.environment, [guide_check([shown], place.environment)])


def cpp_example(place, standard):
    program = place.work / "raii"
    run(place, ["g++", f"-std={standard}", *STRICT, *flags(place, "--cflags"),
                place.source / "examples/raii.cpp", "-o", program, *flags(place, "--libs")])
    said = run(place, [program])
    if "c has node-1" not in said:
        raise Failed(f"examples/raii.cpp said: {said}")


def layout(place):
    """The structs as the C compiler sees them, for languages that declare them again."""
    target = place.work / "layout.txt"
    include = run(place, ["pkg-config", "--variable=includedir", "haminodelock"]).strip()
    run(place, [sys.executable, "-B", place.source / "tests/consumers/layout.py", include, target])
    return target


def python_with(*modules):
    """An interpreter that has these: the first one in PATH, or the system's."""
    for name in ("python3", "/usr/bin/python3"):
        done = subprocess.run([name, "-c", "import " + ", ".join(modules)], check=False,
                              capture_output=True)
        if done.returncode == 0:
            return name
    return None


def python(place):
    """The wheel, made without a network, and nothing else of the source."""
    builder = python_with("setuptools", "wheel")
    if not builder:
        raise Missing("there are no setuptools and wheel for Python here")
    folder = place.work / "python"
    shutil.copytree(place.source / "bindings/python", folder,
                    ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    run(place, [builder, "-c", "import setuptools.build_meta as b; b.build_wheel('..')"],
        cwd=folder)
    [wheel] = place.work.glob("haminodelock-*.whl")
    settings = {**place.environment, "PYTHONPATH": str(wheel), "PYTHONDONTWRITEBYTECODE": "1",
                "HAMI_LAYOUT": str(layout(place))}
    consumer = place.source / "tests/consumers/python/consumer.py"
    mypy = python_with("mypy")
    shown = guide(place, "python", "guide.py")
    return Program([sys.executable, "-X", "dev", consumer], settings, [
        guide_check([sys.executable, "-X", "dev", shown], settings),
        Check("the wheel passes the package's own tests",
              [sys.executable, "-m", "unittest", "discover", "-s", folder / "tests", "-t", folder],
              settings),
        Check("mypy --strict finds nothing in the package",
              [mypy, "-m", "mypy", "--strict", "--cache-dir", place.work / "mypy", folder / "src"],
              place.environment, "" if mypy else "there is no mypy here")])


GO_MINIMUM = (1, 25)


def go_command():
    """A Go that is new enough."""
    found = need("go")
    words = subprocess.run([found, "env", "GOVERSION"], text=True, stdout=subprocess.PIPE,
                           check=True, cwd="/").stdout.strip().removeprefix("go").split(".")
    if tuple(int(word) for word in words[:2] if word.isdigit()) < GO_MINIMUM:
        raise Missing("Go is older than {}.{} here".format(*GO_MINIMUM))
    return found


def go(place):
    """Shared by pkg-config; the tag links our archives in instead."""
    command = go_command()
    settings = {**place.environment, "GOFLAGS": "-buildvcs=false", "GOPROXY": "off",
                "GOTOOLCHAIN": "local", "CGO_ENABLED": "1"}
    # Go's cache does not see that pkg-config answers otherwise; of these it knows.
    libraries = run(place, ["pkg-config", "--variable=libdir", "haminodelock"]).strip()
    settings["CGO_LDFLAGS"] = f"-O2 -g -L{libraries}"
    folder = place.source / "tests/consumers/go"
    binding = place.source / "bindings/go"
    program, static = place.work / "consumer", place.work / "static"
    run(place, [command, "build", "-o", program, "."], cwd=folder, env=settings)
    run(place, [command, "build", "-tags", "hami_static", "-o", static, "."], cwd=folder,
        env=settings)
    linked = run(place, ["readelf", "-d", static])
    if "haminodelock" in linked:
        raise Failed(f"the static consumer needs the shared library:\n{linked}")
    shown = guide(place, "go", "guide/main.go").parent
    (shown / "go.mod").write_text((folder / "go.mod").read_text().replace("../../..",
                                                                          str(place.source)))
    run(place, [command, "build", "-o", shown / "guide", "."], cwd=shown, env=settings)
    return Program([program], settings, [
        guide_check([shown / "guide"], settings),
        Check("go vet finds nothing in the package", [command, "-C", binding, "vet", "./..."],
              settings),
        Check("the package's own tests and examples pass under the race detector",
              [command, "-C", binding, "test", "-race", "-count=1", "./..."], settings)])


CARGO_MINIMUM = (1, 77)


def cargo_command():
    """A cargo that is new enough."""
    found = need("cargo")
    version = run_plain([found, "--version"]).split()[1]
    if tuple(int(word) for word in version.split(".")[:2]) < CARGO_MINIMUM:
        raise Missing("Rust is older than {}.{} here".format(*CARGO_MINIMUM))
    return found


def run_plain(command):
    """What a command prints, in the environment as it is."""
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout


def rust(place):
    """Copies of the crates, so that nothing is written into the source; no other crate is used."""
    cargo = cargo_command()
    for folder in ("bindings/rust", "tests/consumers/rust"):
        shutil.copytree(place.source / folder, place.work / folder,
                        ignore=shutil.ignore_patterns("target"))
    target = place.work / "target"
    settings = {**place.environment, "CARGO_TARGET_DIR": str(target),
                "HAMI_LAYOUT": str(layout(place))}
    crates = place.work / "bindings/rust/Cargo.toml"
    offline = ["--offline", "--locked", "--quiet"]

    def build(*words):
        run(place, [cargo, "build", *offline, "--manifest-path",
                    place.work / "tests/consumers/rust/Cargo.toml", *words],
            env={**settings, "RUSTFLAGS": "-D warnings"})

    build("--features", "haminodelock/static", "--target-dir", place.work / "static")
    linked = run(place, ["readelf", "-d", place.work / "static/debug/consumer"])
    if "haminodelock" in linked:
        raise Failed(f"the static consumer needs the shared library:\n{linked}")
    guide(place, "rust", "tests/consumers/rust/src/bin/guide.rs")
    build()
    return Program([target / "debug/consumer"], settings, [
        guide_check([target / "debug/guide"], settings),
        Check("the crates pass their own tests",
              [cargo, "test", *offline, "--manifest-path", crates, "--", "--include-ignored"],
              settings),
        Check("the crate builds and passes without Kubernetes",
              [cargo, "test", *offline, "--manifest-path", crates, "--no-default-features",
               "--lib", "--package", "haminodelock", "--target-dir", place.work / "core"],
              settings)])


BUILDS = {
    "c-shared": c_shared,
    "c-static": c_static,
    "cpp11": lambda place: cpp(place, "c++11"),
    "cpp20": lambda place: cpp(place, "c++20"),
    "python": python,
    "go": go,
    "rust": rust,
}
