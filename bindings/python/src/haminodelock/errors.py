# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""One exception class for each way in which a call can fail.

All derive from :class:`HamiError`, and from Python's own class where there is one that says the
same:
``except TimeoutError`` catches a passed deadline, ``except ValueError`` a bad argument.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AbiMismatch", "AccessRefused", "Busy", "Cancelled", "Closed", "ForkedChild", "HamiError",
    "Held",
    "InDoubt", "InvalidArgument", "LimitReached", "Lost", "NoSuchNode", "NotSupported",
    "OutOfMemory",
    "ProtocolError", "TimedOut", "Unreachable",
]


class HamiError(Exception):
    """A call failed. After a failed acquire nothing is held.

    :ivar code: the library's number, negative
    :ivar text: one line for people: who is in the way, what is wrong with an argument
    :ivar status: HTTP status where there was one, else 0
    :ivar position: of an acquire that reached a limit or timed out: waiters that stood before it
    :ivar waiting: likewise: waiters of the node
    :ivar expected: likewise: seconds from then on until its turn, by the node's pace; None if that
        is not measured
    """

    code: ClassVar[int] = 0
    name: ClassVar[str] = "?"

    def __init__(self, text: str = "", status: int = 0) -> None:
        super().__init__(f"{self.name}: {text}" if text else self.name)
        self.text = text
        self.status = status
        self.position = 0
        self.waiting = 0
        self.expected: float | None = None


class InvalidArgument(HamiError, ValueError):
    """An argument is out of range; nothing was done."""
    code, name = -1, "INVAL"


class OutOfMemory(HamiError, MemoryError):
    """There was no memory; nothing was done."""
    code, name = -2, "NOMEM"


class TimedOut(HamiError, TimeoutError):
    """The timeout passed. The text says behind whom."""
    code, name = -3, "TIMEDOUT"


class Cancelled(HamiError):
    """The wait's :class:`Cancel` was fired. (A cancelled asyncio task gets
    asyncio.CancelledError.)"""
    code, name = -4, "CANCELED"


class Busy(HamiError):
    """A try met a holder, or waiters, of this very manager."""
    code, name = -5, "BUSY"


class Held(HamiError):
    """A try met another owner in the store; the text names it."""
    code, name = -6, "HELD"


class Lost(HamiError):
    """The lock is not, or no longer, the owner's; or the pod can't use one (gone, bound,
    deleted)."""
    code, name = -7, "LOST"


class NoSuchNode(HamiError, LookupError):
    """The store has no such node, or lost it meanwhile."""
    code, name = -8, "NODE"


class AccessRefused(HamiError, PermissionError):
    """The store refused access."""
    code, name = -9, "ACCESS"


class InDoubt(HamiError):
    """The outcome was not known by the deadline; the library goes on resolving it."""
    code, name = -10, "IN_DOUBT"


class Unreachable(HamiError, ConnectionError):
    """The store could not be reached; surely nothing was applied."""
    code, name = -11, "TRANSPORT"


class ProtocolError(HamiError):
    """The store answered something that makes no sense."""
    code, name = -12, "PROTO"


class LimitReached(HamiError):
    """A limit is reached: the queue is full, the holder stalls, the turn would come too late, too
    many nodes."""
    code, name = -13, "LIMIT"


class Closed(HamiError):
    """The manager is shutting down, or is shut down."""
    code, name = -14, "CLOSED"


class ForkedChild(HamiError):
    """Called in a forked child: a lock belongs to the process that took it."""
    code, name = -15, "FORKED"


class NotSupported(HamiError, NotImplementedError):
    """The transport can't do this."""
    code, name = -16, "NOTSUP"


class AbiMismatch(HamiError):
    """The loaded library is older than this package."""
    code, name = -17, "ABI"


_CLASSES: dict[int, type[HamiError]] = {one.code: one for one in HamiError.__subclasses__()}


def make_error(code: int, text: str = "", status: int = 0) -> HamiError:
    """The exception for a code of the library."""
    return _CLASSES.get(code, HamiError)(text, status)
