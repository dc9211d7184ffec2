/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A peer of peer.h on kubesim. */
#ifndef TESTS_CASES_PEER_KUBESIM_H
#define TESTS_CASES_PEER_KUBESIM_H

#include "peer.h"

struct kubesim;

/* The nodes of this server; it must outlive the store. */
struct peer_store peer_kubesim_store(struct kubesim *sim);

#endif
