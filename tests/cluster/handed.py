# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Were the devices that containers got those that were assigned to them?

Two sources are held against each other, and neither is hamid's: what the API server's log has of a
pod's spec and of the annotations in which the filter assigned devices, and what the simulated
kubelet wrote down of each Allocate (standin-kubelet --record).
"""

import dataclasses
import json

from cluster import mixed


@dataclasses.dataclass(frozen=True)
class Call:
    """One Allocate, as the kubelet knows it."""

    node: str
    pod: str
    uid: str
    container: int
    resource: str
    count: int
    begin: float  # seconds since the epoch
    seconds: float  # that the kubelet waited for its answer
    served: str  # the uid of the pod that was answered for, None without an answer
    devices: tuple
    problem: str

    @property
    def end(self):
        return self.begin + self.seconds

    @property
    def place(self):
        return self.uid, self.container, self.resource


def read(path, offset=0):
    """The kubelet's record from there on, in the order of its Allocates."""
    with open(path, encoding="utf-8") as file:
        file.seek(offset)
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    fields = [field.name for field in dataclasses.fields(Call)]
    return [Call(**{**{name: line[name] for name in fields}, "devices": tuple(line["devices"])})
            for line in lines]


def assigned(pod, found):
    """(uid, container, resource) -> device ids, for each container of that pod that asks.

    By the newest object of the pod in the log: nobody but a filter writes these annotations.
    """
    keys = {}
    for event in found:
        if event.resource == "pods" and event.metadata.get("uid") == pod.uid:
            written = event.metadata.get("annotations") or {}
            keys.update({vendor.allocated: written[vendor.allocated]
                         for vendor in mixed.VENDORS if vendor.allocated in written})
    spec = pod.created.response["spec"]
    containers = [*(spec.get("initContainers") or []), *spec["containers"]]
    places = {}
    for vendor in mixed.VENDORS:
        entries = keys.get(vendor.allocated, "").split(";")
        for place, container in enumerate(containers):
            limits = (container.get("resources") or {}).get("limits") or {}
            if int(limits.get(vendor.resource, 0)):
                entry = entries[place] if place < len(entries) else ""
                places[pod.uid, place, vendor.resource] = tuple(
                    device.split(",")[0] for device in entry.split(":") if device)
    return places


def judge(calls, pods, found):
    """Figures of these pods' Allocates.

    A container has the right devices if one Allocate alone was answered for it, with the ids that
    were assigned, all of them, and its pod was the one that was meant. Any answer after the first
    for the same container, or with an id that some container had before, is a double serve.
    """
    wanted = {}
    for pod in pods:
        wanted.update(assigned(pod, found))
    uids = {pod.uid for pod in pods}
    calls = [call for call in calls if call.uid in uids]
    answers = {}
    given = set()
    doubles = 0
    for call in calls:
        if call.served is None:
            continue
        doubles += call.place in answers or bool(given & set(call.devices))
        answers.setdefault(call.place, []).append(call)
        given.update(call.devices)
    right = sum(len(answers.get(place, ())) == 1 and _is_right(answers[place][0], ids)
                for place, ids in wanted.items())
    return {"containers": len(wanted), "right_devices": right, "double_serves": doubles,
            "refused_allocates": sum(bool(call.problem) for call in calls),
            "allocates": len(calls),
            "allocate_sum_seconds": sum(call.seconds for call in calls)}


def _is_right(call, ids):
    return (not call.problem and call.served == call.uid and call.count == len(ids)
            and sorted(call.devices) == sorted(ids))
