# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""How large a burst is, on whichever server."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    pods: int
    nodes: int

    @property
    def text(self):
        return (f"{self.pods} pod{'s' if self.pods > 1 else ''} on "
                f"{self.nodes} node{'s' if self.nodes > 1 else ''}")
