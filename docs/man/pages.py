# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Which sections of the headers make which page of section 3, and of the site's reference."""

import dataclasses

import headers

LIBRARIES = {"kubernetes.h": "haminodelock-kubernetes"}

# page, what it is about, header, sections; in the order of the reference.
TABLE = [
    ("hami_nodelock", "the lock manager of nodes", "nodelock.h",
     ["", "keys, limits, plain structs", "configuration", "manager"]),
    ("hami_nodelock_acquire", "take a node's lock, or wait for it", "nodelock.h", ["acquire"]),
    ("hami_lease", "give a lock back, hand it off, or look at it", "nodelock.h", ["leases"]),
    ("hami_cancel", "flags that end many waits at once", "nodelock.h", ["cancel flags"]),
    ("hami_nodelock_observe", "tell a manager what was seen", "nodelock.h", ["news"]),
    ("hami_nodelock_snapshot", "look at holders, queues and counts", "nodelock.h", ["looking in"]),
    ("hami_strerror", "error codes and their meaning", "nodelock.h", ["errors"]),
    ("hami_transport", "the interface between the lock manager and a store", "transport.h",
     ["", "a call, as the transport sees it"]),
    ("hami_transport_call", "try a transport by itself", "transport.h",
     ["trying a transport by itself"]),
    ("hami_transport_clear", "release a lock by hand, guarded", "transport.h", ["release by hand"]),
    ("hami_memory", "a store in memory, and its transport", "memory.h", [""]),
    ("hami_kubernetes", "a client of the Kubernetes API server", "kubernetes.h", ["", "login"]),
    ("hami_kubernetes_request", "requests to the API server, and their counts", "kubernetes.h",
     ["requests"]),
    ("hami_kubernetes_transport", "locks on Node and Lease objects", "kubernetes.h",
     ["the node-annotation transport", "the Lease transport"]),
    ("hami_kubernetes_bind", "bind a lease's pod, and read pods", "kubernetes.h",
     ["binding", "pods"]),
    ("hami_handshake", "the node's side: whom an Allocate is for", "kubernetes.h",
     ["the node side's handshake"]),
    ("hami_devices", "device strings of pods", "handshake.h", [""]),
    ("hami_lock_record_parse", "the text of locks and leases", "handshake.h",
     ["lock and lease text"]),
    ("hami_version", "version of the library that is loaded", "version.h", [""]),
]


@dataclasses.dataclass
class Page:
    name: str
    about: str
    header: str
    prose: str  # of the header; on its first page only
    sections: list

    def functions(self):
        return [function for section in self.sections for function in section.functions()]

    def library(self):
        return LIBRARIES.get(self.header, "haminodelock") if self.name != "hami_handshake" \
            else "haminodelock-kubernetes"


def all_pages(include):
    """A section that no row names goes to its header's last page: nothing is left out."""
    found = []
    for header in sorted({row[2] for row in TABLE}):
        prose, sections = headers.read(include / "hami" / header)
        rows = [row for row in TABLE if row[2] == header]
        pages = [Page(name, about, header, "", []) for name, about, _, _ in rows]
        pages[0].prose = prose
        place = {title: page for page, row in zip(pages, rows) for title in row[3]}
        for section in sections:
            place.get(section.title, pages[-1]).sections.append(section)
        found += pages
    order = {row[0]: number for number, row in enumerate(TABLE)}
    return sorted(found, key=lambda page: order[page.name])
