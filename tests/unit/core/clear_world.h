/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in memory for tests of releases by hand, behind a transport that fails where a
 * test says so.
 */
#ifndef TESTS_CORE_CLEAR_WORLD_H
#define TESTS_CORE_CLEAR_WORLD_H

#include <check.h>

#include <hami/handshake.h>
#include <hami/memory.h>

#define LOCK "2026-01-02T03:04:05Z,default,a"
#define LEASE(uid)                                                                       \
    "{\"version\":1,\"lock\":\"" LOCK "\",\"uid\":\"" uid "\",\"fence\":\"41\","         \
    "\"holder\":\"h_1\",\"attempt\":\"7\",\"hold_ms\":15000,\"free\":\"node\"}"

#define MEMORY "{\"version\":1,\"fence\":\"41\"}"

enum step { READ, WRITE, INSPECT, REVOKE, STEPS };

extern hami_memory *store;
extern struct hami_transport played;
extern struct hami_error error;
extern unsigned counts[STEPS];
extern int answers[STEPS];         /* code to answer with; 0 = carried out */
extern bool applies[STEPS];        /* carried out all the same */
extern void (*before_write)(void); /* what others do before the write arrives */
extern bool says_nothing;          /* inspect knows nothing */

extern const struct hami_owner pod_a;

int inspect(struct hami_transport *transport, hami_call *call);

/* Fixture. */
void start(void);
void stop(void);

/* The pair, and pod a, as they stand. */
void put(const char *lock, const char *lease);
void put_pod(struct hami_owner_facts facts);
/* What stands; "-" = absent. */
const char *value_of(const char *key);
void assert_stands(const char *lock, const char *lease);

/* Clears the key's own record, or a permit, by the token of this pair. */
int clear_with(const char *lock, const char *lease, uint32_t flags);
int clear_permit(uint32_t permit, const char *lock, const char *lease);

#endif
