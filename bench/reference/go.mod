// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

module bench/reference

go 1.25.0

require golang.org/x/time v0.15.0
