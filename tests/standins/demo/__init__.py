# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts/demo does: builds, runs one burst, shows it, and says what came out."""
