// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

module haminodelock.test/etcd

go 1.26.0

require go.etcd.io/etcd/server/v3 v3.7.3
