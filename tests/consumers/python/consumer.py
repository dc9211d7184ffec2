# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""consumer.py memory|kubesim: the behaviours through Python; see tests/consumers/README.md."""

import asyncio
import sys
import traceback
import warnings

import blocking
import on_loop
from world import World

IDS = {
    "deadline-queued": "deadline_queued", "deadline-past": "deadline_past",
    "cancel-queued": "cancel_queued", "cancel-in-flight": "cancel_in_flight",
    "cancel-after-grant": "cancel_after_grant", "grant-cancel-race": "grant_cancel_race",
    "drop": "drop", "release": "release", "hand-off": "hand_off", "order": "order",
    "lanes": "lanes", "limit": "limit",
    "try": "try_held", "many-nodes": "many_nodes", "callback-thread": "callback_thread",
    "close": "close", "fork": "fork", "lost": "lost", "re-entry": "re_entry",
    "arguments": "arguments", "transport": "transport", "look": "look",
}


def show(world, name):
    """Both forms, where the asyncio form has a test of its own."""
    getattr(blocking, name)(world)
    if hasattr(on_loop, name):
        asyncio.run(getattr(on_loop, name)(world), debug=True)


def main():
    backend = sys.argv[1]
    warnings.simplefilter("error", ResourceWarning)
    world, bad = World(backend), 0
    ids = [id for id in IDS if id != "transport" or not world.is_kubesim]
    for number, id in enumerate(ids, 1):
        try:
            show(world, IDS[id])
            print(f"ok {number} - {backend} {id}", flush=True)
        except Exception:
            bad += 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {number} - {backend} {id}", flush=True)
    print(f"1..{len(ids)}", flush=True)
    world.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
