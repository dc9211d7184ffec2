# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Pods that ask for several devices, of one vendor or of two, and what a filter assigns to them.

A kind of pod is what each of its containers asks for: a tuple of {resource: count}. Kinds differ in
what the kubelet's calls say of them, or they do not: that is what the pods of a burst are mixed by.
"""

import dataclasses
import time


@dataclasses.dataclass(frozen=True)
class Vendor:
    """One of HAMi's: its resource, its annotations, its word in the device strings."""

    resource: str
    stem: str
    word: str

    @property
    def to_allocate(self):
        return f"hami.io/{self.stem}-devices-to-allocate"

    @property
    def allocated(self):
        return f"hami.io/{self.stem}-devices-allocated"


NVIDIA = Vendor("nvidia.com/gpu", "vgpu", "NVIDIA")
DCU = Vendor("hygon.com/dcunum", "dcu", "DCU")
VENDORS = (NVIDIA, DCU)
RESOURCES = tuple(vendor.resource for vendor in VENDORS)
AGENT_FLAGS = tuple(f"--vendor={vendor.resource}={vendor.to_allocate}" for vendor in VENDORS)
KUBELET_FLAGS = tuple(f"--resource={resource}" for resource in RESOURCES)
BINDER_FLAGS = tuple(f"--managed-resource={resource}" for resource in RESOURCES)


def _gpus(count):
    return ({NVIDIA.resource: count},)


def _dcus(count):
    return ({DCU.resource: count},)


EQUAL = (_gpus(1),)
ONE_VENDOR = (_gpus(1), _gpus(2), _gpus(3))
TWO_VENDORS = (_gpus(1), _dcus(1), _gpus(2), ({NVIDIA.resource: 3, DCU.resource: 2},))
EIGHT = tuple(make(count) for count in (1, 2, 3, 4) for make in (_gpus, _dcus))
# Two containers, of which each has calls of its own, beside pods of one.
SEVERAL = (_gpus(1), ({NVIDIA.resource: 2}, {NVIDIA.resource: 3}), _dcus(1))


def annotations(spec, node, tag):
    """What HAMi's filter writes; device ids begin with their vendor's word and the tag."""
    containers = [*(spec.get("initContainers") or []), *spec["containers"]]
    found = {"hami.io/vgpu-node": node, "hami.io/vgpu-time": str(int(time.time()))}
    for vendor in VENDORS:
        counts = [_count(container, vendor.resource) for container in containers]
        if not any(counts):
            continue
        text = "".join("".join(f"{vendor.word}-{tag}-{place}-{index},{vendor.word},1000,10:"
                               for index in range(count)) + ";"
                       for place, count in enumerate(counts))
        found.update({vendor.to_allocate: text, vendor.allocated: text})
    return found


def _count(container, resource):
    return int(((container.get("resources") or {}).get("limits") or {}).get(resource, 0))


def pod(name, kind, node=None):
    """One of that kind; with a node, as the filter leaves it."""
    spec = {"terminationGracePeriodSeconds": 0, "containers": [
        {"name": f"main-{place}", "image": "none.invalid/none:1",
         "resources": {"limits": {resource: str(count) for resource, count in asks.items()}}}
        for place, asks in enumerate(kind)]}
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": {"name": name, "namespace": "default",
                         "annotations": annotations(spec, node, name) if node else {}}}
