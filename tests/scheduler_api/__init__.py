# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""/api/v1 of hamid scheduler: its description against its answers."""
