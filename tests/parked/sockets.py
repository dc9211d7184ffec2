# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of a process: its established connections, its memory, its limits."""

import os
import pathlib
import re
import resource

ESTABLISHED = "01"
# What each side needs besides the connections: listeners, logs, libraries, the API server's.
SPARE = 256


class TooFew(Exception):
    """The hard limit of open files does not allow what was asked; the text says how many."""


def raise_file_limit(count):
    """Lets this process and its children have that many connections each."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + SPARE
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise TooFew(f"{count} connections at a time need {needed} open files, and the hard limit "
                     f"is {hard}: raise it (ulimit -Hn, LimitNOFILE=) or ask for fewer")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed if hard < 0 else hard, hard))


def _inodes(pid):
    """Of all sockets that the process has open."""
    found = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry.path))
        except OSError:  # closed meanwhile
            continue
        if match:
            found.add(match[1])
    return found


def established(pid, port):
    """Connections to this port that are established, and are the process's own."""
    own = _inodes(pid)
    count = 0
    for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        count += (int(words[1].rpartition(":")[2], 16) == port and words[3] == ESTABLISHED
                  and words[9] in own)
    return count


def memory_mb(pid, name="VmHWM"):
    """The most that the process has had in memory at a time, in MiB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) / 1024
