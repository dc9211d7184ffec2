# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Which calls of a kubelet's Allocate a pod's spec leads to."""

import re

# What HAMi's vendors count of a device; no device plugin is asked for it.
ATTRIBUTES = re.compile(r"(mem|memory|cores?|percentage|priority)$", re.IGNORECASE)


def is_device(resource, chosen=()):
    """Is the kubelet's Allocate called for it? Chosen names, where there are some, decide."""
    if chosen:
        return resource in chosen
    domain, slash, _ = resource.partition("/")
    return (slash != "" and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")
            and not ATTRIBUTES.search(resource))


def of_spec(spec, chosen=()):
    """The set of (resource, count) of all containers; None where it can't be told."""
    found = set()
    if not isinstance(spec, dict) or not isinstance(spec.get("containers"), list):
        return None
    for container in spec["containers"] + (spec.get("initContainers") or []):
        asked = container.get("resources") or {}
        amounts = {**(asked.get("requests") or {}), **(asked.get("limits") or {})}
        for resource, amount in amounts.items():
            if not is_device(resource, chosen) or str(amount) == "0":
                continue
            if not re.fullmatch(r"[1-9][0-9]*", str(amount)):
                return None
            found.add((resource, int(amount)))
    return frozenset(found)


def are_distinct(one, other):
    """No call of the one could be taken for one of the other. None = unknown: it could."""
    return one is not None and other is not None and not one & other
