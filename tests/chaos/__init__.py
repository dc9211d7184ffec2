# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Real processes that are killed, stopped and attacked in the middle of a burst."""
