# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Pods side by side: the permits of a key and the cover, which is the key itself.

Only a key of which some permit was ever held with a lease that says calls is looked at
here; all others, and so all logs of runs without the option, are judged lock by lock.
"""

from checker import calls, locks
from checker import events as log

AGENT = "hami.io/mutex.agent"
MARK = "side-by-side"


class Moment:
    """All records of a key on a node, as one write left them; keys without one are left out."""

    __slots__ = ("event", "records", "mark")

    def __init__(self, event, records, mark):
        self.event = event
        self.records = records
        self.mark = mark


class Group:
    """The cover and the permits of one key of one node, moment by moment."""

    def __init__(self, node, key, histories):
        self.node = node
        self.key = key
        self.histories = histories
        self.moments = []
        self._records = {}
        histories[key].is_cover = True
        self._follow()

    def _follow(self):
        steps = [(step.event.version, key, step)
                 for key, history in self.histories.items() for step in history.steps]
        steps.sort(key=lambda one: one[0])
        records = {}
        for version, key, step in steps:
            records = {**records, key: step}
            if self.moments and self.moments[-1].event.version == version:
                self.moments.pop()
            mark = (step.event.metadata.get("annotations") or {}).get(AGENT) or ""
            self.moments.append(Moment(step.event, records, mark))
            if step.uid is not None:
                self._records.setdefault(step.uid, []).append(self.moments[-1])

    def changes(self):
        first = Moment(None, {}, "")
        return zip([first] + self.moments, self.moments)

    def permits(self, moment):
        """The records of the permits that are held."""
        return [step for key, step in moment.records.items() if key != self.key and step.lock]

    def cover(self, moment):
        step = moment.records.get(self.key)
        return step if step is not None and step.lock else None

    def came_beside(self, pod):
        """Did the pod's last record before its Binding stand in a permit, with its calls? None
        where it had no record here."""
        found = None
        for moment in self._records.get(pod.uid, []):
            if pod.bound is not None and not log.before(moment.event, pod.bound):
                break
            own = {key: step for key, step in moment.records.items()
                   if step.uid is not None and step.uid == pod.uid}
            if own:
                found = any(key != self.key and step.is_beside for key, step in own.items())
        return found


def collect(histories):
    """The groups in which somebody was beside, by (node, key)."""
    groups = {}
    for (node, key), history in histories.items():
        base = key.rpartition(".")[0]
        if locks.is_permit(key, base) and any(step.is_beside for step in history.steps):
            members = {other: one for (there, other), one in histories.items()
                       if there == node and (other == base or locks.is_permit(other, base))}
            members.setdefault(base, locks.History(node, base))
            groups.setdefault((node, base), members)
    return [Group(node, base, members) for (node, base), members in groups.items()]


class Judge:
    """What may be side by side, by the pods' specs and the records under which they came."""

    def __init__(self, groups, pods, chosen=()):
        self.groups = groups
        self.pods = pods
        self.chosen = chosen
        self._came_beside = {}

    def are_distinct(self, one, other):
        """May both be between bind and success on their node?"""
        return (self._is_beside(one) and self._is_beside(other)
                and self._have_distinct_calls(one, other))

    def _have_distinct_calls(self, one, other):
        return calls.are_distinct(calls.of_spec(one.spec, self.chosen),
                                  calls.of_spec(other.spec, self.chosen))

    def _is_beside(self, pod):
        if pod not in self._came_beside:
            found = [group.came_beside(pod) for group in self.groups if group.node == pod.node]
            self._came_beside[pod] = True in found and False not in found
        return self._came_beside[pod]

    # Grants that must not have been.
    def robbed(self, group):
        """(pod, record): a record that was taken while the pod was bound here and not served,
        though the two are not distinct."""
        found = []
        seen = set()
        for before, after in group.changes():
            for key, step in _new_grants(group, before, after, seen):
                found += [(pod, step) for pod in self._waiting(group, before, after.event)
                          if pod.uid != step.uid and not self._may_join(group, key, step, pod)]
        return found

    def _may_join(self, group, key, step, pod):
        newcomer = self.pods.of_uid(step.uid)
        return (key != group.key and step.is_beside and newcomer is not None
                and self._is_beside(pod) and self._have_distinct_calls(newcomer, pod))

    def _waiting(self, group, moment, event):
        """Owners of held permits who are bound here and not served when event takes effect."""
        found = (self.pods.of_uid(step.uid) for step in group.permits(moment) if step.uid)
        return [pod for pod in found if pod is not None and pod.node == group.node
                and pod.is_waiting_at(event)]

    # The cover.
    def cover_violations(self, group, prefix):
        """Writes of ours that left other records than a cover that is a copy of the pair in
        the last taken of the permits that are held, or none where nobody needs one of them
        any more. A take counts where it was written."""
        wrong = 0
        seen = set()
        for before, after in group.changes():
            takes = _new_grants(group, before, after, seen)
            if not after.event.is_by(prefix):
                continue
            # One whose writer died has no answer in the log: the next write is the first to show
            # it.
            written = log.requested_annotations(after.event)
            takes = [(key, step) for key, step in takes if key in written]
            is_wrong = any(self._is_wrong_take(group, after, key, step) for key, step in takes)
            if self._is_uncovered(group, after, after.event):
                is_wrong |= bool(takes) or not self._is_uncovered(group, before, after.event)
            wrong += is_wrong
        return wrong

    def _is_wrong_take(self, group, after, key, step):
        """Beside others only on a node that says so, and into the cover as well."""
        if key == group.key:
            return step.is_beside and not _is_copied(group, after, step)
        cover = group.cover(after)
        return step.is_beside and (MARK not in after.mark.split(",")
                                   or cover is None or _pair(cover) != _pair(step))

    def _is_uncovered(self, group, moment, event):
        cover = group.cover(moment)
        if cover is not None and cover.is_beside:
            return not _is_copied(group, moment, cover)
        if cover is not None and _pair(cover) in map(_pair, group.permits(moment)):
            return False  # of a permit whose lease somebody has spoilt: it keeps all off
        return any(self._needs(group, step, event) for step in group.permits(moment)
                   if cover is None or cover.uid is None or cover.uid != step.uid)

    def _needs(self, group, step, event):
        """Is the owner bound here and not served, or may it still be bound under this lock?"""
        pod = self.pods.of_uid(step.uid) if step.uid else None
        if pod is None or (pod.closed is not None and not log.before(event, pod.closed)):
            return False
        if pod.bound is not None and log.before(pod.bound, event):
            return pod.node == group.node
        return not any(log.before(step.event, one) and log.before(one, event)
                       for one in pod.revocations)


def fence_violations(group):
    """Grants whose fence is not above each one before it in the cover and all permits, and
    writes by which the highest fence is forgotten everywhere."""
    wrong = 0
    highest = None
    seen = set()
    for before, after in group.changes():
        fences = [step.fence for step in after.records.values() if step.fence is not None]
        grants = {step.grant: step.fence for _, step in _new_grants(group, before, after, seen)
                  if step.fence is not None}
        if highest is not None:
            wrong += sum(fence <= highest for fence in grants.values())
            wrong += not grants and _is_lower(before, after) and max(fences) < highest
        highest = max(fences + ([] if highest is None else [highest]), default=None)
    return wrong


def _new_grants(group, before, after, seen):
    """(key, record) of each lock that was not there before; one in a permit stands for its copy
    in the cover. Adds them to seen."""
    found = {}
    for key, step in after.records.items():
        if step is before.records.get(key) or step.grant is None or step.grant in seen:
            continue
        if step.grant not in found or key != group.key:
            found[step.grant] = (key, step)
    seen.update(found)
    return list(found.values())


def _is_lower(before, after):
    """Did a lease's fence become a lower one?"""
    for key, step in after.records.items():
        old = before.records.get(key)
        if old is not None and None not in (old.fence, step.fence) and step.fence < old.fence:
            return True
    return False


def _pair(step):
    return (step.lock, step.lease)


def _is_copied(group, moment, step):
    """Is it a copy of the pair with the highest fence of the permits that are held? With any
    other one somebody could take the cover for unchanged though others came meanwhile."""
    held = [one for one in group.permits(moment) if one.fence is not None]
    return bool(held) and _pair(max(held, key=lambda one: one.fence)) == _pair(step)
