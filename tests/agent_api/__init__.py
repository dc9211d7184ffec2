# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The agent's HTTP interface: its description against its answers, and plugins that use it."""
