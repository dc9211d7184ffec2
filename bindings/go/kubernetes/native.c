/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See native.h. No state. */
#include "native.h"

#include "_cgo_export.h"

static void log_line(void *data, enum hami_log_level level, const char *line)
{
    kubernetesGoLog((uintptr_t)data, (int)level, (char *)line);
}

int nodelock_go_kubernetes_new(struct hami_kubernetes_config *config, uintptr_t client,
                               hami_kubernetes **ret, struct hami_error *reterr)
{
    config->log = client != 0 ? log_line : NULL;
    config->log_data = (void *)client;
    return hami_kubernetes_new(config, ret, reterr);
}

static void done(void *data, int code, const struct hami_error *error)
{
    kubernetesGoDone((uintptr_t)data, code, (struct hami_error *)error);
}

int nodelock_go_kubernetes_bind(hami_kubernetes *client, const hami_lease *lease,
                                uint64_t deadline_ns, uintptr_t question)
{
    return hami_kubernetes_bind_start(client, lease, deadline_ns, done, (void *)question);
}

static void pod_read(void *data, int code, const struct hami_kubernetes_pod *pod,
                     const char *text)
{
    kubernetesGoPod((uintptr_t)data, code, (struct hami_kubernetes_pod *)pod,
                    (char *)text);
}

int nodelock_go_kubernetes_read_pod(hami_kubernetes *client, const char *namespace_name,
                                    const char *name, uint64_t deadline_ns,
                                    uintptr_t question)
{
    return hami_kubernetes_read_pod_start(client, namespace_name, name, deadline_ns,
                                          pod_read, (void *)question);
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    kubernetesGoAnswer((uintptr_t)data, (struct hami_kubernetes_answer *)answer);
}

int nodelock_go_kubernetes_request(hami_kubernetes *client,
                                   const struct hami_kubernetes_request *request,
                                   uintptr_t question)
{
    return hami_kubernetes_request_start(client, request, answered, (void *)question);
}

static void begun(void *data, int code, hami_handshake_job *job,
                  const struct hami_error *error)
{
    kubernetesGoBegun((uintptr_t)data, code, job, (struct hami_error *)error);
}

int nodelock_go_handshake_begin(hami_handshake *handshake, const char *resource,
                                const struct hami_handshake_container *containers,
                                size_t container_count, uint64_t deadline_ns,
                                uintptr_t question)
{
    return hami_handshake_begin_start(handshake, resource, containers, container_count,
                                      deadline_ns, begun, (void *)question);
}

int nodelock_go_handshake_finish(hami_handshake_job *job, uint64_t deadline_ns,
                                 uintptr_t question)
{
    return hami_handshake_finish_start(job, deadline_ns, done, (void *)question);
}

int nodelock_go_handshake_fail(hami_handshake_job *job, const char *reason,
                               uint64_t deadline_ns, uintptr_t question)
{
    return hami_handshake_fail_start(job, reason, deadline_ns, done, (void *)question);
}

int nodelock_go_handshake_recover(hami_handshake *handshake, uint64_t deadline_ns,
                                  uintptr_t question)
{
    return hami_handshake_recover_start(handshake, deadline_ns, done, (void *)question);
}
