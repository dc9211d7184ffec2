# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the figures of a burst from an API server's audit log, and from nothing else.

It shares no code with the library or the daemon: what they say about themselves is not
asked. The log may come from a kube-apiserver or from tests/kubesim, which writes the same
form.
"""
