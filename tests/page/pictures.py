# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of the status page that the documentation shows: pictures.py [BUILD [FOLDER]].

A burst of a bit more than a minute on simulated nodes: some are wanted more than they can serve,
on one another scheduler holds the lock, on one the device plugin is stuck.
"""

import os
import pathlib
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

if len(sys.argv) > 1:
    os.environ["HAMI_BUILD"] = sys.argv[1]

from page import browser, png, world  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES = [f"{kind}-{number:02}" for kind in ("a100", "h100", "l40s") for number in range(1, 17)]
SERVED = ["a100-01", "a100-02", "h100-03", "a100-05", "l40s-04", "h100-07", "a100-09", "l40s-11",
          "h100-12", "a100-14"]
WORKS = ["train-llama", "infer-chat", "finetune-7b", "embed-docs", "render-shots"]
SECONDS = 66
SIZE_MAX = 150 * 1024


def burst(scene):
    scene.play_plugins(SERVED, 2.2)
    scene.set_lock("2026-01-02T03:04:05Z,batch,etl-nightly-3", "l40s-15")
    scene.bind("train-resnet-0", "h100-16")
    number = 0
    while not scene.is_over.wait(.34):
        number += 1
        scene.ask_for_pods([f"{scene.random.choice(WORKS)}-{number}"], SERVED)


def take(chromium, folder, name):
    data = png.shrink(chromium.screenshot())
    if len(data) > SIZE_MAX:
        raise SystemExit(f"{name} has {len(data)} bytes; {SIZE_MAX} are allowed")
    (folder / name).write_bytes(data)
    print(f"{folder / name}: {len(data)} bytes")


def main():
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/images"
    folder.mkdir(parents=True, exist_ok=True)
    flags = ("--stall-limit=0", f"--lock-expire={SECONDS - 20}s")
    with world.Burst(*flags, nodes=NODES) as scene, browser.Browser(1280, 1000) as chromium:
        thread = threading.Thread(target=burst, args=(scene,))
        thread.start()
        chromium.open(scene.url)
        scene.is_over.wait(SECONDS)
        scene.bind("train-resnet-1", "h100-16")
        chromium.wait_for("return document.querySelector('#alarm-count').textContent === '1'")
        take(chromium, folder, "status-page-light.png")
        chromium.prefer(color_scheme="dark")
        chromium.run("document.querySelector('#order').value = 'queue';"
                     "document.querySelector('#order').dispatchEvent(new Event('change'))")
        chromium.wait_for("const row = [...document.querySelectorAll('#rows .line')]"
                          ".find(one => one.textContent.includes('a100-01')); row?.click(); return row")
        chromium.wait_for("return document.querySelector('#queue li')")
        take(chromium, folder, "status-page-dark.png")
        scene.is_over.set()
        thread.join()


if __name__ == "__main__":
    main()
