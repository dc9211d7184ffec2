# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its own driver (W3C WebDriver: plain HTTP and JSON)."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

PATIENCE = 60
STARTS = 5
SEEN_MAX = 3000
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "ArrowDown": "\ue015",
        "ArrowUp": "\ue013", "ArrowRight": "\ue014", "End": "\ue010", "Home": "\ue011", "Shift": "\ue008", " ": " "}


def is_there():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


class Failed(Exception):
    """The browser refused."""


class Browser:
    """A context manager."""

    def __init__(self, width=1280, height=900):
        self.size = (width, height)
        self.session = None

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="hami-page-", ignore_cleanup_errors=True)
        self.root = f"http://127.0.0.1:{self.start_driver()}"
        self.root += "/session/" + self.ask("POST", "", {"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 1000 * PATIENCE, "pageLoad": 1000 * PATIENCE},
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-background-networking", "--disable-sync",
                "--disable-component-update", "--disable-extensions", "--no-proxy-server",
                "--disable-default-apps", "--hide-scrollbars", "--lang=en",
                "--window-size={},{}".format(*self.size),
                f"--user-data-dir={self.profile.name}/profile"]}}}}, "/session")["sessionId"]
        self.session = True
        self.set_size(*self.size)
        return self

    def start_driver(self):
        """Its port. It takes one that is free in one address family, and may find it taken in the
        other."""
        said = ""
        for _ in range(STARTS):
            self.driver = subprocess.Popen(
                ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, env={**os.environ, "HOME": self.profile.name,
                                "XDG_CONFIG_HOME": self.profile.name})
            for line in self.driver.stdout:
                said += line
                found = re.search(r"successfully on port (\d+)", line)
                if found:
                    # It goes on writing, and a full pipe would stop it.
                    threading.Thread(target=self.driver.stdout.read, daemon=True).start()
                    return int(found[1])
            self.driver.wait(PATIENCE)
        raise Failed(f"chromedriver did not start: {said}")

    def __exit__(self, *error):
        if self.session:
            try:
                self.ask("DELETE", "")
            except (OSError, Failed):
                pass
        self.driver.terminate()
        self.driver.wait(PATIENCE)
        self.profile.cleanup()

    def ask(self, method, path, body=None, root=""):
        request = urllib.request.Request(
            self.root + root + path, method=method,
            data=None if method in ("GET", "DELETE") else json.dumps(body or {}).encode(),
            headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            raise Failed(json.loads(error.read())["value"]["message"]) from error

    def command(self, name, **words):
        """One of the DevTools protocol."""
        return self.ask("POST", "/goog/cdp/execute", {"cmd": name, "params": words})

    def set_size(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)

    def prefer(self, **features):
        """prefer(color_scheme="dark")"""
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-" + name.replace("_", "-"), "value": value}
            for name, value in features.items()])

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *words):
        """What a script answers; it gets `words` as `arguments`."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(words)})

    def run_later(self, script, *words):
        """The same of one that calls its last argument when it is done."""
        return self.ask("POST", "/execute/async", {"script": script, "args": list(words)})

    def wait_for(self, script, *words, patience=PATIENCE):
        """Until a script answers something true: that."""
        deadline = time.monotonic() + patience
        pause = threading.Event()
        while True:
            found = self.run(script, *words)
            if found:
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"it did not come true: {script} {words}\n{self.seen()}")
            pause.wait(0.05)

    def seen(self):
        """What there is to see, for whoever reads of a failure."""
        try:
            at, text = self.run("const at = document.activeElement; return [`${location.href}, focus: "
                                "${at.tagName} ${at.id} ${at.className}`, document.body.innerText];")
            messages = "".join(f"\nconsole: {one['level']} {one['message']}" for one in self.messages())
            return f"{at}{messages}\n{text[:SEEN_MAX]}"
        except (OSError, Failed) as error:
            return f"(the browser does not tell what it shows: {error})"

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def press(self, *keys):
        """Each key down and up, wherever the focus is."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.ask("POST", "/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def messages(self):
        """What the page has written into the console since the last call."""
        return self.ask("POST", "/se/log", {"type": "browser"})

    def screenshot(self):
        return base64.b64decode(self.ask("GET", "/screenshot"))
