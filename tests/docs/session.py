# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A shell in which a page's commands are run one after the other, and what they print is compared."""

import os
import re
import selectors
import signal
import subprocess
import time
import uuid

LIMIT_SECONDS = 120


class Session:
    """One bash for all blocks of a page: folders, variables and jobs stay from one to the next.

    @exchange: what a page writes -> what stands for it here (free ports); undone in what is printed.
    """

    def __init__(self, folder, environment, exchange=(), command=("bash", "--norc", "--noprofile")):
        self.exchange = dict(exchange)
        self.child = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ)
        self.rest = b""

    def run(self, text, seconds=LIMIT_SECONDS):
        """(exit status, what was printed)"""
        for shown, real in self.exchange.items():
            text = text.replace(shown, real)
        mark = uuid.uuid4().hex
        self.child.stdin.write(f"{text}\n{{ printf '\\n{mark} %d\\n' $?; }} 2>/dev/null\n".encode())
        self.child.stdin.flush()
        printed, status = self._read(mark.encode(), seconds)
        for shown, real in self.exchange.items():
            printed = printed.replace(real, shown)
        return status, printed

    def _read(self, mark, seconds):
        end = re.compile(rb"\n" + mark + rb" (\d+)\n")
        deadline = time.monotonic() + seconds
        while True:
            match = end.search(self.rest)
            if match:
                printed = self.rest[:match.start()]
                self.rest = self.rest[match.end():]
                return printed.decode(errors="replace"), int(match.group(1))
            left = deadline - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                return self.rest.decode(errors="replace") + f"\n(still ran after {seconds} s)", -1
            part = os.read(self.child.stdout.fileno(), 65536)
            if not part:
                return self.rest.decode(errors="replace") + "\n(the shell ended)", -1
            self.rest += part

    def end(self):
        """Its jobs are in its process group, and go with it."""
        try:
            os.killpg(self.child.pid, signal.SIGTERM)
            self.child.stdin.close()
            self.child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        except (ProcessLookupError, BrokenPipeError):
            self.child.wait()
        self.selector.close()
        self.child.stdout.close()


def pattern(expected):
    """A line of three dots stands for any lines, within a line for any text."""
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            words = [r"[^\n]*".join(map(re.escape, word.split("..."))) for word in line.split()]
            parts.append(r"[ \t]*" + r"[ \t]+".join(words) + r"[ \t]*\n")
    return re.compile("".join(parts))


def matches(expected, printed):
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return pattern(expected).fullmatch(text.strip("\n") + "\n" if text.strip("\n") else "") is not None


def judge(session, block, command, seconds=LIMIT_SECONDS):
    """What is wrong with one command; "" if nothing."""
    status, printed = session.run(command.text, seconds)
    if status != block.status:
        return f"$ {command.text}\nended with {status}, not {block.status}; it printed\n{printed}"
    if not matches(command.expected, printed):
        return f"$ {command.text}\nprinted\n{printed}\nand not\n" + "\n".join(command.expected)
    return ""
