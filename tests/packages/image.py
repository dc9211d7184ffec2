# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The Containerfile, built by buildah on a base that comes from Debian's mirror; run by chroot.

The libraries come from the cache that scripts/static-build has, so that they are built once.
"""

import json
import shutil
import tarfile

import roots
import static
from common import CACHE, HERE, need, output

BASE = "localhost/debian:bookworm"
NAME = "localhost/hamid:tested"


def buildah(work, *words):
    return ["buildah", "--root", work / "storage", "--runroot", work / "run", "--storage-driver",
            "vfs", *words]


def base(points, work):
    """What the Containerfile calls debian:bookworm, of the packages that are it."""
    archive = work / "base.tar"
    points.run("a base image is made", roots.made("--variant=minbase", roots.SUITE, archive),
               timeout=900)
    name = output(buildah(work, "from", "scratch")).strip()
    points.run("it is taken in", buildah(work, "add", "--quiet", name, archive, "/"), timeout=300)
    points.run("and named", buildah(work, "commit", "--quiet", "--rm", name, BASE), timeout=300)


def run(points, work, release):
    reason = roots.missing() or (None if shutil.which("buildah") else "buildah is not installed")
    if reason:
        points.skip("the image is built", reason)
        return
    base(points, work)
    tree = release.unpack(points, work / "context")
    cache = CACHE / "static"
    cache.mkdir(parents=True, exist_ok=True)
    points.run("the image is built", buildah(
        work, "build", "--isolation", "chroot", "--build-arg", f"BASE={BASE}", "--volume",
        f"{cache}:/root/.cache/haminodelock/static", "--tag", NAME, tree), timeout=3600)
    settings = json.loads(output(buildah(work, "inspect", "--type", "image", NAME)))
    config = settings["OCIv1"]["config"]
    points.check(config.get("Entrypoint") == ["/usr/bin/hamid"] and
                 config.get("User") == "65532:65532", "it runs hamid, and not as root", config)
    layout = work / "image"
    points.run("it is written out", buildah(work, "push", "--quiet", NAME, f"oci:{layout}"))
    root = work / "image-root"
    root.mkdir()
    unpack(layout, root)
    files = sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.is_file())
    points.check(files == ["usr/bin/hamictl", "usr/bin/hamid"],
                 "there is nothing in it but the two programs", files)
    points.run("its hamid binds a pod", [
        "python3", "-B", HERE / "one_bind.py", "--kubesim", static.kubesim(points, work, release),
        "--root", root, "/usr/bin/hamid"])


def unpack(layout, root):
    """The layers of an OCI layout's one image, one over the other."""
    def blob(name):
        return layout / "blobs" / name.replace(":", "/")

    index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
    manifest = json.loads(blob(index["manifests"][0]["digest"]).read_text(encoding="utf-8"))
    need(manifest["layers"])
    for layer in manifest["layers"]:
        with tarfile.open(blob(layer["digest"])) as archive:
            archive.extractall(root)
