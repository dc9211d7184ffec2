// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

module bench/semaphore

go 1.21

require golang.org/x/sync v0.10.0
