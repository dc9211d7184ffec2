# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What happened to each pod: created, bound, served, gone."""

from checker import events as log

PHASE = "hami.io/bind-phase"
DONE = "hami.io/mutex.done"
REVOKED = "hami.io/mutex.revoked"
DEVICES = "-devices-allocated"


class Pod:
    """One pod, known by its UID; each field is the event that made it true, or None."""

    def __init__(self, namespace, name, uid):
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.node = ""
        self.created = None
        self.bound = None
        self.done = None
        self.succeeded = None
        self.failed = None
        self.ended = None
        self.is_deleted = False
        self.has_started = False
        self.failed_binds = 0
        self.bindings = []
        self.open_bindings = []
        self.spec = None
        self.devices = {}
        self.device_changes = []
        self.announced = set()
        self.given_up = []
        self.revocations = []

    @property
    def allocated(self):
        """The write that says that the last Allocate is over.

        The done mark is written once. Without one the last success counts: some plugins
        write the phase after each container.
        """
        return self.done or self.succeeded

    @property
    def done_fence(self):
        """The fence that its done mark tells; None where there is none."""
        text = str(log.requested_annotations(self.done).get(DONE)) if self.done else ""
        return int(text) if text.isdigit() else None

    @property
    def closed(self):
        """After this event the pod no longer waits for an Allocate."""
        known = [event for event in (self.allocated, self.failed, self.ended) if event]
        first = known[0] if known else None
        for event in known[1:]:
            if log.before(event, first):
                first = event
        return first

    @property
    def is_zombie(self):
        """Bound by a Binding that kube-scheduler did not count as its own success.

        It announces each bind that it takes for done, with the node. Where a bind lands that
        it gave up, it announces nothing, or another node, or tells afterwards that it failed.
        """
        if not self.bindings:
            return False
        bound = self.bindings[0]
        return (self.announced != {self.node}
                or any(log.before(bound, event) for event in self.given_up))

    def is_waiting_at(self, event):
        """Is it bound and not yet served when event takes effect, beyond doubt?"""
        if self.bound is None or not log.before(self.bound, event):
            return False
        return self.closed is None or log.before(event, self.closed)


class Pods:
    """All pods of a log, found by UID or by the name that they had at that time."""

    def __init__(self):
        self.all = []
        self._by_uid = {}
        self._by_name = {}

    def of_name(self, namespace, name):
        """Every pod that ever had this name, the oldest first."""
        return [pod for pod in self.all if (pod.namespace, pod.name) == (namespace, name)]

    def of_uid(self, uid):
        return self._by_uid.get(uid)

    def find(self, event, uid):
        """The pod that event is about; a new one where it was never seen."""
        name = (event.namespace, event.name)
        pod = self._by_uid.get(uid) if uid else self._by_name.get(name)
        if pod is None:
            pod = Pod(event.namespace, event.name, uid or "")
            self.all.append(pod)
        if uid and not pod.uid:
            pod.uid = uid
        if pod.uid:
            self._by_uid[pod.uid] = pod
        self._by_name[name] = pod
        return pod


def collect(events):
    """Follows each pod through the log."""
    pods = Pods()
    for event in events:
        if event.resource == "events" and event.verb == "create" and event.succeeded:
            _note_announcement(pods, event)
        if event.resource != "pods" or not event.is_write:
            continue
        if event.subresource == "binding":
            _note_binding(pods, event)
        elif event.subresource == "status":
            _note_status(pods, event)
        elif event.subresource == "" and event.name and event.succeeded:
            _note_write(pods, event)
    return pods


def _note_binding(pods, event):
    if not isinstance(event.request, dict) or not (event.succeeded or _is_open(event)):
        return
    pod = pods.find(event, (event.request.get("metadata") or {}).get("uid"))
    if not event.succeeded:
        pod.open_bindings.append(event)
        return
    pod.bindings.append(event)
    if pod.bound is None:
        pod.bound = event
        pod.node = _target(event)


def _is_open(event):
    """Did it end without saying whether it was stored? So it does where its caller died."""
    return event.code >= 500 or event.code == 0


def _target(event):
    return (event.request.get("target") or {}).get("name", "")


def _note_announcement(pods, event):
    """kube-scheduler's event "Successfully assigned NAMESPACE/POD to NODE"."""
    body = event.request if isinstance(event.request, dict) else {}
    about = body.get("regarding") or body.get("involvedObject") or {}
    pod = pods.of_uid(about.get("uid"))
    if body.get("reason") == "Scheduled" and pod is not None:
        pod.announced.add((body.get("note") or body.get("message") or "").split(" ")[-1])


def _note_status(pods, event):
    if not event.succeeded:
        return
    pod = pods.find(event, event.metadata.get("uid"))
    if pod.bound is None:
        _note_placement(pod, event)
    status = event.request.get("status") if isinstance(event.request, dict) else None
    if not isinstance(status, dict):
        return
    for condition in status.get("conditions") or []:
        if (condition.get("type") == "PodScheduled" and condition.get("status") == "False"
                and condition.get("reason") == "SchedulerError"):
            pod.failed_binds += 1
            pod.given_up.append(event)
    phase = status.get("phase")
    if phase in ("Running", "Succeeded", "Failed") and pod.ended is None:
        pod.ended = event
        pod.has_started = phase != "Failed"


def _note_write(pods, event):
    pod = pods.find(event, event.metadata.get("uid"))
    _note_devices(pod, event)
    if event.verb == "create":
        pod.created = pod.created or event
        pod.spec = _spec_of(event.response) or _spec_of(event.request)
    if event.verb == "delete":
        _note_deletion(pod, event)
        return
    if pod.bound is None:
        _note_placement(pod, event)
    if event.verb == "create":
        return
    written = log.requested_annotations(event)
    if written.get(REVOKED):
        pod.revocations.append(event)
    if written.get(DONE) and pod.done is None:
        pod.done = event
    if written.get(PHASE) == "success":
        pod.succeeded = event
    elif written.get(PHASE) == "failed" and pod.failed is None:
        pod.failed = event


def _spec_of(body):
    spec = body.get("spec") if isinstance(body, dict) else None
    return spec if isinstance(spec, dict) and spec.get("containers") else None


def _note_devices(pod, event):
    """Which devices a pod has is written before it is bound; afterwards it is its own."""
    for key, value in log.requested_annotations(event).items():
        if not key.endswith(DEVICES):
            continue
        if pod.bound is not None and key in pod.devices and pod.devices[key] != value:
            pod.device_changes.append(event)
        pod.devices[key] = value


def _note_deletion(pod, event):
    """A deletion with a grace period leaves the pod there; its kubelet ends it later."""
    pod.is_deleted = True
    waits = event.metadata.get("deletionGracePeriodSeconds")
    is_bound = pod.bound is not None
    if pod.ended is None and not (is_bound and waits):
        pod.ended = event


def _note_placement(pod, event):
    """A pod created or found with a node counts as bound there, however that came.

    A Binding to that node whose end is open is then known to have been stored.
    """
    spec = event.response.get("spec") if isinstance(event.response, dict) else None
    node = spec.get("nodeName") if isinstance(spec, dict) else None
    if not node:
        return
    stored = next((one for one in pod.open_bindings if _target(one) == node), None)
    if stored is not None:
        pod.bindings.append(stored)
    pod.bound = stored or event
    pod.node = node
