# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Where the time between two pods of one node goes, from what the API server saw.

The pods of a node follow each other: lock, Binding, what the node side reads, Allocate, success.
Each stage ends where the next begins, so that all of them together make the makespan.
"""

from checker import pods

LOCK = "write of the lock"
TO_BINDING = "until the Binding is there"
BINDING = "Binding"
TO_READS = "until the node side reads"
READS = "its reads"
ALLOCATE = "Allocate"
SUCCESS = "write of the success"
TO_NEXT = "until the next lock's write"
NAMES = (LOCK, TO_BINDING, BINDING, TO_READS, READS, ALLOCATE, SUCCESS, TO_NEXT)


def _last_before(found, moment):
    return max((event for event in found if event.finished <= moment),
               key=lambda event: event.finished, default=None)


def _of_pod(bound, done, locks, reads):
    """The moments of one pod, or None where one of its writes is not in the log."""
    lock = _last_before(locks, bound.received + 0.0005)
    if lock is None:
        return None
    own = [event for event in reads
           if bound.received <= event.received and event.finished <= done.received]
    first = min((event.received for event in own), default=bound.finished)
    last = max((event.finished for event in own), default=bound.finished)
    return (lock.received, lock.finished, bound.received, bound.finished, first, last,
            done.received, done.finished)


def stages(events, pod_prefix, user_prefix):
    """Stage -> milliseconds of each pod, for a burst on one node."""
    mine = [event for event in events if event.is_by(user_prefix)]
    locks = [event for event in mine if event.resource == "nodes" and event.verb == "patch"
             and not event.subresource and event.succeeded]
    reads = [event for event in mine if event.is_read]
    served = [pod for pod in pods.collect(events).all
              if pod.name.startswith(pod_prefix) and pod.bound and pod.allocated]
    moments = [_of_pod(pod.bound, pod.allocated, locks, reads) for pod in served]
    moments = sorted(times for times in moments if times is not None)
    found = {name: [] for name in NAMES}
    for place, times in enumerate(moments):
        ends = list(zip(times, times[1:]))
        if place + 1 < len(moments):
            ends.append((times[-1], moments[place + 1][0]))
        for name, (begin, end) in zip(NAMES, ends):
            found[name].append(1000 * max(0.0, end - begin))
    return found
