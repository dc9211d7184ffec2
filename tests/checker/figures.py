# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a burst, each with its definition."""

import dataclasses

from checker import events as log
from checker import beside, locks, pods


@dataclasses.dataclass
class Options:
    """What the log cannot tell and the caller knows."""

    prefix: str = "hamid"
    lock_keys: tuple = locks.DEFAULT_KEYS
    allocate_ms: float | None = None
    ordered: bool = False
    pod_prefix: str = ""
    resources: tuple = ()


class Report:
    """A log with everything that was derived from it."""

    def __init__(self, events, options=None):
        self.options = options or Options()
        self.events = events
        self.pods = pods.collect(events)
        self.histories = locks.collect(events, self.options.lock_keys)
        self.groups = beside.collect(self.histories)
        self.judge = beside.Judge(self.groups, self.pods, self.options.resources)

    @property
    def created(self):
        """The pods of the burst: those whose creation is in the log."""
        return [pod for pod in self.pods.all if pod.created is not None
                and pod.name.startswith(self.options.pod_prefix)]

    def by_node(self):
        """The burst's bound pods, node by node."""
        return _by_node(self.created)

    def begin(self):
        """Moment at which the first pod was sent."""
        return min((pod.created.received for pod in self.created), default=0.0)

    def last_success(self):
        return max((pod.allocated.finished for pod in self.created if pod.allocated),
                   default=self.begin())

    def end(self):
        """Moment of the last success, or of the last lock's removal where that is later."""
        end = self.last_success()
        for history in self.histories.values():
            for _, new in history.changes():
                if not new.lock:
                    end = max(end, new.event.finished)
        return end


def _by_node(found):
    nodes = {}
    for pod in found:
        if pod.bound is not None:
            nodes.setdefault(pod.node, []).append(pod)
    return nodes


def figures(report):
    """All figures by name; None where the caller gave too little to say."""
    created = report.created
    calls = _calls(report)
    makespan = report.last_success() - report.begin()
    count = len(created)
    return {
        "pods": count,
        "bound": sum(pod.bound is not None for pod in created),
        "allocated": sum(pod.allocated is not None for pod in created),
        "bound_twice": sum(len(pod.bindings) > 1 for pod in created),
        "lost": sum(pod.bound is None and not pod.is_deleted for pod in created),
        "zombie_binds": _zombie_binds(report),
        "failed_binds": sum(pod.failed_binds for pod in created),
        "api_calls_per_pod": _share(len(calls), count),
        "api_writes_per_pod": _share(sum(event.is_write for event in calls), count),
        "api_reads_per_pod": _share(sum(event.is_read for event in calls), count),
        "makespan_seconds": round(makespan, 3),
        "makespan_over_serial": _over_serial(report, makespan),
        "fifo_violations": _fifo_violations(report) if report.options.ordered else None,
        "double_holds": _double_holds(report),
        "covered_locks": _covered_locks(report),
        "cover_violations": sum(report.judge.cover_violations(group, report.options.prefix)
                                for group in report.groups),
        "double_serves": _double_serves(report),
        "in_flight_max": _in_flight_max(report),
        "stuck_pods": sum(_is_stuck(pod) for pod in created),
        "locks_left": sum(bool(history.steps and history.steps[-1].lock)
                          for history in report.histories.values()),
        "fence_violations": _fence_violations(report),
        "conflicts_409": sum(event.code == 409 for event in _object_writes(report)),
        "refused_422": _refused(report, with_lease=True),
        "refused_422_before_lease": _refused(report, with_lease=False),
        "watches": sum(event.is_watch and event.is_by(report.options.prefix)
                       for event in report.events),
    }


def _share(calls, count):
    return round(calls / count, 3) if count else 0.0


def _calls(report):
    """Requests of the daemon's roles during the burst; watches are counted apart."""
    begin, end = report.begin(), report.end()
    return [event for event in report.events
            if event.is_by(report.options.prefix) and not event.is_watch
            and begin <= event.received <= end]


def _over_serial(report, makespan):
    """Makespan over the sum of the Allocates of the node that has most of them."""
    most = max((len(found) for found in report.by_node().values()), default=0)
    if report.options.allocate_ms is None or not most or not report.options.allocate_ms:
        return None
    return round(makespan / (most * report.options.allocate_ms / 1000), 3)


def _fifo_violations(report):
    """Pods created before the one that was bound last before them, node by node, of those
    that must not be bound beside them: without the option that is each one's neighbour."""
    wrong = 0
    for found in report.by_node().values():
        by_creation = sorted(found, key=lambda pod: _order(pod.created))
        place = {pod: index for index, pod in enumerate(by_creation)}
        by_binding = sorted(found, key=lambda pod: _order(pod.bound))
        for index, pod in enumerate(by_binding):
            first = next((other for other in reversed(by_binding[:index])
                          if not report.judge.are_distinct(other, pod)), None)
            wrong += first is not None and place[first] > place[pod]
    return wrong


def _order(event):
    return (event.sequence if event.sequence is not None else 0, event.finished,
            event.position)


def _entries(report):
    """Each bound pod, with those of its node that surely were bound and not served then."""
    for found in _by_node(report.pods.all).values():
        open_ones = []
        for later in sorted(found, key=lambda pod: _order(pod.bound)):
            open_ones = [(pod, closed) for pod, closed in open_ones
                         if closed is None or log.before(later.bound, closed)]
            yield later, [pod for pod, _ in open_ones if log.before(pod.bound, later.bound)]
            open_ones.append((later, later.closed))


def _double_holds(report):
    """Pods that came into a window in which another pod of the node still was.

    A window goes from the answer of the Binding to the success of the last Allocate. A pod
    that got the lock while its owner needed it counts too, unless it is counted already.
    Pods outside the burst count as well: the lock is for all of them. Two that were taken
    beside each other, and have no call in common by their specs, may meet.
    """
    entrants = set()
    for later, waiting in _entries(report):
        if not all(report.judge.are_distinct(earlier, later) for earlier in waiting):
            entrants.add((later.namespace, later.name))
    for history in report.histories.values():
        for _, new in locks.taken_while_waiting(history, report.pods):
            entrants.add(new.owner)
    for group in report.groups:
        entrants.update(step.owner for _, step in report.judge.robbed(group))
    return len(entrants)


def _covered_locks(report):
    """Writes that took a lock from an owner that needed it; an exclusive pod's lock over a
    cover takes those of all permits."""
    alone = sum(len({step for _, step in report.judge.robbed(group) if not step.is_beside})
                for group in report.groups)
    return alone + sum(len(locks.covered(history, report.pods))
                       for history in report.histories.values())


def _fence_violations(report):
    grouped = {id(history) for group in report.groups for history in group.histories.values()}
    return (sum(beside.fence_violations(group) for group in report.groups)
            + sum(locks.fence_violations(history) for history in report.histories.values()
                  if id(history) not in grouped))


def _in_flight_max(report):
    """Most pods between bind and success at one moment on one node, by the server's clock: from
    the answer of the Binding, for several may be answered together, until the closing write
    came in."""
    most = 0
    for found in _by_node(report.pods.all).values():
        moments = [(pod.bound.finished, 1) for pod in found]
        moments += [(max(pod.closed.received, pod.bound.finished), -1)
                    for pod in found if pod.closed is not None]
        count = 0
        for _, change in sorted(moments):
            count += change
            most = max(most, count)
    return most


def _double_serves(report):
    """Pods that were served with what is another's, as far as the API server can see: under a
    fence that was granted to another pod there, with other devices than were chosen for it
    before it was bound, or where it is not bound at all."""
    owners = {}
    for (node, _), history in report.histories.items():
        for step in history.steps:
            if step.uid is not None and step.fence is not None:
                owners.setdefault((node, step.fence), set()).add(step.uid)
    return sum(_is_served_wrongly(report, pod, owners) for pod in report.pods.all)


def _is_served_wrongly(report, pod, owners):
    prefix = report.options.prefix
    if any(event.is_by(prefix) for event in pod.device_changes):
        return True
    if pod.done is None or not pod.done.is_by(prefix):
        return False
    granted = owners.get((pod.node, pod.done_fence), {pod.uid})
    return pod.uid not in granted or pod.bound is None or log.before(pod.done, pod.bound)


def _zombie_binds(report):
    """None where the log has no announcement of kube-scheduler's at all."""
    if not any(pod.announced for pod in report.pods.all):
        return None
    return sum(pod.is_zombie for pod in report.created)


def _is_stuck(pod):
    """Never served, though nobody deleted it and no kubelet said that it runs."""
    return pod.allocated is None and not pod.is_deleted and not pod.has_started


def _object_writes(report):
    return [event for event in report.events
            if event.is_write and event.resource in ("nodes", "pods")]


def _refused(report, with_lease):
    """422 answers, those on nodes that had a lease apart from those before."""
    first = {}
    for (node, _), history in report.histories.items():
        for step in history.steps:
            if step.lease:
                known = first.get(node)
                if known is None or log.before(step.event, known):
                    first[node] = step.event
                break
    count = 0
    for event in _object_writes(report):
        if event.code != 422:
            continue
        had_lease = event.resource == "pods" or (
            event.name in first and log.before(first[event.name], event))
        count += had_lease == with_lease
    return count
