# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""site.py MKDOCS ROOT: the documentation's site can be made, its links lead somewhere, it loads nothing."""

import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "install"))

from points import Points  # noqa: E402

# What a browser fetches by itself; links of <a> are followed by people.
LOADING = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "srcset"), ("iframe", "src"),
           ("form", "action")}
NOT_LOADED = {"canonical", "prev", "next"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        for name in ("id", "name"):
            if found.get(name):
                self.anchors.add(found[name])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        for name, value in attributes:
            if (tag, name) in LOADING and value and found.get("rel") not in NOT_LOADED:
                self.loaded.append(value)


def is_elsewhere(target):
    return bool(re.match(r"(?i)(https?:)?//", target))


def broken(path, target, pages, site):
    """Why a link leads nowhere; None if it does lead somewhere."""
    file, _, anchor = target.partition("#")
    place = (path.parent / urllib.parse.unquote(file)).resolve() if file else path
    if place.is_dir():
        place = place / "index.html"
    if not place.is_file() or not place.is_relative_to(site):
        return f"{path.relative_to(site)}: no file {target}"
    if anchor and place in pages and urllib.parse.unquote(anchor) not in pages[place].anchors:
        return f"{path.relative_to(site)}: no anchor {target}"
    return None


def check(points, site, root):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    pages.pop(site / "404.html", None)  # its links count from the site's root, wherever that is
    lost, outside = [], []
    for path, page in pages.items():
        for target in page.links + page.loaded:
            if not is_elsewhere(target) and not re.match(r"[a-z]+:", target):
                lost += filter(None, [broken(path, target, pages, site)])
        outside += [f"{path.relative_to(site)}: {target}" for target in page.loaded if is_elsewhere(target)]
    outside += [f"{path.relative_to(site)}: {found}" for path in site.rglob("*.css")
                for found in re.findall(r"(?:@import|url\()\s*[\"']?(https?:[^\"')]*)",
                                        path.read_text(encoding="utf-8", errors="replace"))]
    points.check(len(pages) > 30 and not lost, "each link leads to a page and to a place on it", "\n".join(lost))
    points.check(not outside, "a reader's browser loads nothing from elsewhere", "\n".join(outside))
    names = {one for text in root.glob("lib/**/*.map")
             for one in re.findall(r"^    (hami_\w+);", text.read_text(encoding="utf-8"), re.M)}
    shown = set().union(*(page.anchors for path, page in pages.items() if path.parent.name == "api"))
    points.check(names and names <= shown, "the reference has each exported function", names - shown)


def main():
    mkdocs, root = sys.argv[1], pathlib.Path(sys.argv[2])
    points = Points()
    with tempfile.TemporaryDirectory(prefix="hami-site-") as folder:
        site = pathlib.Path(folder).resolve() / "site"
        made = subprocess.run([mkdocs, "build", "--strict", "--quiet", "-d", site], cwd=root,
                              capture_output=True, text=True, check=False, timeout=120)
        if points.check(made.returncode == 0, "mkdocs build --strict", made.stdout + made.stderr):
            check(points, site, root)
    points.end()


main()
