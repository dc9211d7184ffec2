# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The table of cases: which test shows the right behaviour in which fault, and whether it ran."""
