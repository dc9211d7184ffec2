/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* As ../native.h: functions whose address C wants. The last argument is a cgo handle. */
#ifndef NODELOCK_GO_KUBERNETES_NATIVE_H
#define NODELOCK_GO_KUBERNETES_NATIVE_H

#include <hami/kubernetes.h>

int nodelock_go_kubernetes_new(struct hami_kubernetes_config *config, uintptr_t client,
                               hami_kubernetes **ret, struct hami_error *reterr);
int nodelock_go_kubernetes_bind(hami_kubernetes *client, const hami_lease *lease,
                                uint64_t deadline_ns, uintptr_t question);
int nodelock_go_kubernetes_read_pod(hami_kubernetes *client, const char *namespace_name,
                                    const char *name, uint64_t deadline_ns,
                                    uintptr_t question);
int nodelock_go_kubernetes_request(hami_kubernetes *client,
                                   const struct hami_kubernetes_request *request,
                                   uintptr_t question);
int nodelock_go_handshake_begin(hami_handshake *handshake, const char *resource,
                                const struct hami_handshake_container *containers,
                                size_t container_count, uint64_t deadline_ns,
                                uintptr_t question);
int nodelock_go_handshake_finish(hami_handshake_job *job, uint64_t deadline_ns,
                                 uintptr_t question);
int nodelock_go_handshake_fail(hami_handshake_job *job, const char *reason,
                               uint64_t deadline_ns, uintptr_t question);
int nodelock_go_handshake_recover(hami_handshake *handshake, uint64_t deadline_ns,
                                  uintptr_t question);

#endif
