# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Lets python3 run the folder itself: python3 tests/checker LOG."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from checker import command  # noqa: E402

sys.exit(command.main())
