# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the checker: each figure on a right log and on a broken one."""
