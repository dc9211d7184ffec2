#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A device plugin's Allocate in Python: allocate.py SOCKET RESOURCE FOLDER ID...

Asks hamid's agent whose Allocate it is, looks for the pod's devices in FOLDER, and says done or failed.
"""

import http.client
import json
import os
import socket
import sys

TIMEOUT = 10  # the agent answers by its own limit, 2 s unless told otherwise


class Agent(http.client.HTTPConnection):
    """HTTP on the agent's unix socket."""

    def __init__(self, path):
        super().__init__("hamid", timeout=TIMEOUT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def post(self, path, body):
        self.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}


def allocate(agent, resource, ids, folder):
    """Paths of the devices for one container, or an error: then refuse the container."""
    status, found = agent.post("/v1/allocations", {"resource": resource, "containers": [ids]})
    if status != 200:
        raise RuntimeError(found["message"])  # nothing was written to any pod
    path = f"/v1/allocations/{found['allocation']}"
    print(f"pod {found['pod']['namespace']}/{found['pod']['name']}")
    devices = [os.path.join(folder, device["uuid"])
               for device in found["containers"][0]["devices"]]
    missing = [device for device in devices if not os.path.exists(device)]
    if missing:
        agent.post(f"{path}/failed", {"reason": f"no device {missing[0]}"})
        raise RuntimeError(f"no device {missing[0]}")
    status, problem = agent.post(f"{path}/done", {})
    if status != 204:
        raise RuntimeError(problem["message"])
    return devices


def main():
    path, resource, folder, *ids = sys.argv[1:]
    try:
        for device in allocate(Agent(path), resource, ids, folder):
            print(f"device {device}")
    except (OSError, RuntimeError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
