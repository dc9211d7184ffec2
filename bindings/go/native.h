/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Go can't say itself: functions whose address C wants, and words of callback data
 * that are cgo handles. A handle is a number, so it is carried as uintptr_t and never
 * looked into.
 */
#ifndef NODELOCK_GO_NATIVE_H
#define NODELOCK_GO_NATIVE_H

#include <hami/memory.h>
#include <hami/transport.h>

/* Nanoseconds of the clock that managers go by. */
uint64_t nodelock_go_now(void);

/* An eventfd that does not block; -1 with errno. */
int nodelock_go_event_open(void);
void nodelock_go_event_signal(int event);

/* The manager wakes by `event`; owner_lost and, if `has_log`, log go to `manager`. */
int nodelock_go_new(struct hami_nodelock_config *config, int event, uintptr_t manager,
                    bool has_log, hami_nodelock **ret, struct hami_error *reterr);

int nodelock_go_acquire_start(hami_nodelock *lock,
                              const struct hami_nodelock_request *request, bool try_only,
                              uintptr_t acquisition, hami_wait **ret,
                              struct hami_error *reterr);
/* Handle 0: nobody is told. */
int nodelock_go_release_start(hami_lease *lease, uint64_t deadline_ns,
                              uintptr_t completion);
int nodelock_go_check_start(hami_lease *lease, uint64_t deadline_ns,
                            uintptr_t completion);
int nodelock_go_snapshot(hami_nodelock *lock, const char *node, uintptr_t visit);

/* What a transport written in Go can do beside submit. */
#define NODELOCK_GO_OWNERS 0x1u
#define NODELOCK_GO_WATCH 0x2u

struct hami_transport *nodelock_go_transport_new(const char *name, uint32_t flags,
                                                 uint32_t abilities, uintptr_t carrier);
void nodelock_go_transport_free(struct hami_transport *transport);

int nodelock_go_transport_call(struct hami_transport *transport, const char *node,
                               const struct hami_transport_edit *edits, size_t edit_count,
                               const char *version, uint64_t timeout_ms,
                               uintptr_t receive);
int nodelock_go_transport_call_owner(struct hami_transport *transport, const char *node,
                                     const struct hami_owner *owner,
                                     const char *revocation, uint64_t timeout_ms,
                                     uintptr_t receive);

#endif
