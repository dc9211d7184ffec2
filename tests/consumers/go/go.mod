// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

module haminodelock.test/consumer

go 1.25

require haminodelock.test/nodelock v0.0.0

replace haminodelock.test/nodelock => ../../../bindings/go
