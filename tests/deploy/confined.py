#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""confined.py PROFILE PROGRAM [ARGUMENT...]: runs a program under a seccomp profile of a container.

Stricter than a container runtime: what the profile does not allow ends the process by SIGSYS, so that
nothing goes unnoticed that a program merely puts up with.
"""

import ctypes
import ctypes.util
import json
import os
import sys

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
UNKNOWN = -1


def library():
    """libseccomp, or None where it is not installed."""
    name = ctypes.util.find_library("seccomp") or "libseccomp.so.2"
    try:
        found = ctypes.CDLL(name)
    except OSError:
        return None
    found.seccomp_init.argtypes = [ctypes.c_uint32]
    found.seccomp_init.restype = ctypes.c_void_p
    found.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    found.seccomp_rule_add.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int,
                                       ctypes.c_uint]
    found.seccomp_load.argtypes = [ctypes.c_void_p]
    return found


def allowed(path):
    """The names that a profile allows without looking at arguments; no other form is understood."""
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    names = []
    for rule in profile["syscalls"]:
        if rule["action"] != "SCMP_ACT_ALLOW" or rule.get("args") or set(rule) - {
                "names", "action"}:
            raise ValueError(f"a rule that is not understood: {rule}")
        names += rule["names"]
    return names


def confine(path):
    """From here on this process and what it becomes make only these calls."""
    seccomp = library()
    context = seccomp.seccomp_init(KILL_PROCESS)
    for name in allowed(path):
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        # Below 0 are calls that another architecture has.
        if number >= 0 and seccomp.seccomp_rule_add(context, ALLOW, number, 0) != 0:
            raise OSError(f"the rule for {name} was not taken")
    if seccomp.seccomp_load(context) != 0:
        raise OSError("the filter was not taken")


if __name__ == "__main__":
    confine(sys.argv[1])
    os.execv(sys.argv[2], sys.argv[2:])
