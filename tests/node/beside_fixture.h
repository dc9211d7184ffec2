/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods side by side on node n1, for tests of the node side's client: a test writes what a
 * manager would have written.
 */
#ifndef TESTS_NODE_BESIDE_FIXTURE_H
#define TESTS_NODE_BESIDE_FIXTURE_H

#include <check.h>

#include "client_fixture.h"

#define COVER 0 /* permit 0 */
#define MEMORY(fence) "{\"version\":1,\"fence\":\"" fence "\"}"
#define CALL(count) WORLD_GPU "=" count

/* A pod with one container that asks so many devices, which are named after it. */
void pod_of(const char *name, unsigned count);

/* Writes the pair of a permit. @calls NULL: of an exclusive pod */
void put(unsigned permit, const char *pod, const char *fence, const char *calls);

/* As a manager takes a lock beside others: the permit, and the cover with it. */
void take(unsigned permit, const char *pod, const char *fence, const char *calls);

/* Any value of HAMI_NODELOCK_KEY or HAMI_NODELOCK_LEASE_KEY; NULL: absent. */
void set(const char *key, unsigned permit, const char *value);

/* The name of that key's permit; good until the fourth call after. */
const char *key_of(const char *key, unsigned permit);

void expect_held(unsigned permit, const char *pod, const char *fence, const char *calls);
void expect_free(unsigned permit, const char *memory);

/* A whole Allocate with that many devices is for that pod, under that fence. */
void serve(size_t count, const char *name, uint64_t fence);
void fail_well(hami_handshake_job *job);

/* Refused, and nothing was written to anything. */
void expect_refusal(size_t count, int expected);

/* The node side begins anew; then what it does at its start. */
void restart(void);
void recover(void);

/* Pods a, b and c of one, two and three devices, in permits 1 to 3. */
void set_up_three(void);

/* A case of the suite with that fixture, and time for one that waits for its server. */
TCase *beside_case(Suite *suite, const char *name, void (*start)(void));

#endif
