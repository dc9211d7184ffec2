# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""For MkDocs: pages that are made of other files, and links to files that are no pages.

The reference is made of the headers' comments, as the manual pages are. deploy/README.md becomes a
page. A link to a file of the tree that is no page becomes that file's name.
"""

import pathlib
import posixpath
import re
import shutil
import sys
import tempfile

from mkdocs.structure.files import File

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "man"))
sys.dont_write_bytecode = True

import pages  # noqa: E402
import reference  # noqa: E402

# Files elsewhere in the tree that are pages here.
MOVED = {"deploy/README.md": "deploy.md", "README.md": "index.md"}
KEPT = (".md", ".svg", ".png", ".json")
LEFT_OUT = ("man/", "site/")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files, config):
    """Takes away what is no page or picture, and adds what is made here."""
    for file in list(files):
        of_theme = not file.abs_src_path.startswith(config["docs_dir"])
        if not of_theme and (not file.src_path.endswith(KEPT) or file.src_path.startswith(LEFT_OUT)):
            files.remove(file)
    folder = tempfile.mkdtemp(prefix="hami-site-")
    config["hami_folder"] = folder
    made = reference.texts(pages.all_pages(ROOT / "include"))
    made["deploy.md"] = (ROOT / "deploy/README.md").read_text(encoding="utf-8")
    for name, text in made.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        files.append(File(name, folder, config["site_dir"], config["use_directory_urls"]))
    return files


def on_post_build(config):
    shutil.rmtree(config["hami_folder"])


def source_of(page_path):
    """Where a page stands in the tree."""
    for source, page in MOVED.items():
        if page == page_path and source != "README.md":
            return source
    return f"docs/{page_path}"


def on_page_markdown(markdown, page, config, files):
    path = page.file.src_path
    source = source_of(path)
    names = {file.src_path for file in files}

    def replace(match):
        mark, text, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group()
        file, _, part = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        if path.startswith("api/"):
            return match.group()
        found = MOVED.get(place, place.removeprefix("docs/") if place.startswith("docs/") else None)
        if found in names:
            relative = posixpath.relpath(found, posixpath.dirname(path) or ".")
            return f"{mark}[{text}]({relative}{'#' + part if part else ''})"
        # Not a page: its name in the tree is all there is to say.
        if not (ROOT / place).exists():
            return match.group()
        shown = place if text.strip("`") in place else f"{text} ({place})"
        return f"`{shown}`" if shown == place else shown.replace(f"({place})", f"(`{place}`)")

    markdown = re.sub(r"^<!-- .*? -->\n", "", markdown, flags=re.M)
    return LINK.sub(replace, markdown)
