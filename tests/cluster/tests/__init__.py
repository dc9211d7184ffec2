# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the parts of the cluster test that can lie: counting and ending."""
