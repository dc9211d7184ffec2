# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that never outlive this one, and free ports for them.

The kernel kills each child when its parent dies, however that happens; a child
that is still there when the group is closed gets SIGTERM, and SIGKILL after some seconds.
"""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """A program did not do what was needed; the text says which and shows its last words."""


class Group:
    """Children in the order in which they were started; closed in the opposite one.

    Start them from the main thread: the kernel ties a child to the thread that made it.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.children = []
        self.commands = {}

    def start(self, name, arguments, environment=None):
        self.commands[name] = (arguments, environment)
        log = open(self.folder / f"{name}.log", "ab")
        child = subprocess.Popen(
            [str(word) for word in arguments], stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
            preexec_fn=end_with_parent(os.getpid()), start_new_session=True)
        log.close()
        self.children.append((name, child))
        return child

    def last_words(self, name, count=12):
        try:
            text = (self.folder / f"{name}.log").read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join("    " + line[:300] for line in text.splitlines()[-count:])

    def wait_until(self, name, child, is_ready, seconds):
        """Asks is_ready until it says so; fails when the child ends or time is over."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            if child.poll() is not None:
                raise Failed(f"{name} ended with code {child.returncode}:\n"
                             + self.last_words(name))
            if time.monotonic() > deadline:
                raise Failed(f"{name} was not ready within {seconds} s:\n"
                             + self.last_words(name))
            time.sleep(0.05)

    def stop(self, child, patience=10.0):
        self.children = [pair for pair in self.children if pair[1] is not child]
        if child.poll() is not None:
            return
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def find(self, name):
        """The running child of that name."""
        for known, child in self.children:
            if known == name:
                return child
        raise Failed(f"{name} was not started")

    def kill(self, name):
        """As the kernel does when memory is short: without a last word."""
        child = self.find(name)
        self.children = [pair for pair in self.children if pair[1] is not child]
        child.kill()
        child.wait()

    def start_again(self, name):
        """With the words of its last start."""
        return self.start(name, *self.commands[name])

    def close(self):
        # One that was started again keeps its place: what needs it ends before it. Whoever
        # was added by its starter came last.
        order = {name: place for place, name in enumerate(self.commands)}
        self.children.sort(key=lambda pair: order.get(pair[0], len(order)))
        for _, child in self.children:
            # One that was stopped could not hear that it is to end.
            child.send_signal(signal.SIGCONT)
        while self.children:
            self.stop(self.children[-1][1])


def free_ports(count):
    """Ports that were free a moment ago; all are held at once so that they differ."""
    sockets = []
    try:
        for _ in range(count):
            one = socket.socket()
            one.bind(("127.0.0.1", 0))
            sockets.append(one)
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def exit_on_signals():
    """Turns SIGTERM and SIGHUP into SystemExit, so that everything is closed on the way out."""
    def leave(number, _frame):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def end_with_parent(parent):
    """For preexec_fn: the kernel ends the child when its parent goes, however it goes."""
    def prepare():
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    return prepare
