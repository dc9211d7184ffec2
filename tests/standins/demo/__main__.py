# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the demo from a checkout: the checker and the control plane are its neighbours."""

import pathlib
import sys

STANDINS = pathlib.Path(__file__).resolve().parent.parent
sys.path[0:1] = [str(STANDINS), str(STANDINS.parent)]

from demo import command  # noqa: E402

sys.exit(command.main())
