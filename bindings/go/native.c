/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See native.h. Everything that C calls back is handed on to the exported Go function of
 * the same name. No state but in the transports, which are read-only once made.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "_cgo_export.h"

/* ---- time, and waking ---- */

uint64_t nodelock_go_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int nodelock_go_event_open(void)
{
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void nodelock_go_event_signal(int event)
{
    uint64_t one = 1;
    ssize_t written = write(event, &one, sizeof(one));

    (void)written; /* a counter that is full wakes as well */
}

static void wakeup(void *data)
{
    nodelock_go_event_signal((int)(intptr_t)data);
}

/* ---- the manager ---- */

static void owner_lost(void *data, hami_lease *lease, const struct hami_error *error)
{
    nodelockGoLost((uintptr_t)data, lease, (struct hami_error *)error);
}

static void log_line(void *data, enum hami_log_level level, const char *line)
{
    nodelockGoLog((uintptr_t)data, (int)level, (char *)line);
}

int nodelock_go_new(struct hami_nodelock_config *config, int event, uintptr_t manager,
                    bool has_log, hami_nodelock **ret, struct hami_error *reterr)
{
    config->wakeup = wakeup;
    config->wakeup_data = (void *)(intptr_t)event;
    config->owner_lost = owner_lost;
    config->owner_lost_data = (void *)manager;
    config->log = has_log ? log_line : NULL;
    config->log_data = (void *)manager;
    return hami_nodelock_new(config, ret, reterr);
}

static void acquired(void *data, int code, hami_lease *lease,
                     const struct hami_error *error)
{
    nodelockGoAcquired((uintptr_t)data, code, lease, (struct hami_error *)error);
}

int nodelock_go_acquire_start(hami_nodelock *lock,
                              const struct hami_nodelock_request *request, bool try_only,
                              uintptr_t acquisition, hami_wait **ret,
                              struct hami_error *reterr)
{
    void *data = (void *)acquisition;
    struct hami_nodelock_request asked = *request;

    asked.reterr = reterr; /* Go's memory may not point to Go's memory */
    return try_only ? hami_nodelock_try_acquire_start(lock, &asked, acquired, data, ret)
                    : hami_nodelock_acquire_start(lock, &asked, acquired, data, ret);
}

static void completed(void *data, int code, const struct hami_error *error)
{
    nodelockGoCompleted((uintptr_t)data, code, (struct hami_error *)error);
}

int nodelock_go_release_start(hami_lease *lease, uint64_t deadline_ns,
                              uintptr_t completion)
{
    return hami_lease_release_start(
        lease, deadline_ns, completion != 0 ? completed : NULL, (void *)completion);
}

int nodelock_go_check_start(hami_lease *lease, uint64_t deadline_ns, uintptr_t completion)
{
    return hami_lease_check_start(lease, deadline_ns, completed, (void *)completion);
}

static int visit(void *data, const struct hami_node_view *view)
{
    nodelockGoVisit((uintptr_t)data, (struct hami_node_view *)view);
    return 0;
}

int nodelock_go_snapshot(hami_nodelock *lock, const char *node, uintptr_t handle)
{
    return hami_nodelock_snapshot(lock, node, visit, (void *)handle);
}

/* ---- a transport written in Go ---- */

struct go_transport {
    struct hami_transport base;
    uintptr_t carrier;
};

static uintptr_t carrier_of(const struct hami_transport *transport)
{
    return ((const struct go_transport *)transport)->carrier;
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    return nodelockGoSubmit(carrier_of(transport), call);
}

static void abort_call(struct hami_transport *transport, hami_call *call)
{
    nodelockGoAbort(carrier_of(transport), call);
}

static int inspect_owner(struct hami_transport *transport, hami_call *call)
{
    return nodelockGoInspect(carrier_of(transport), call);
}

static int revoke_owner(struct hami_transport *transport, hami_call *call)
{
    return nodelockGoRevoke(carrier_of(transport), call);
}

static int watch(struct hami_transport *transport, hami_nodelock *lock)
{
    return nodelockGoWatch(carrier_of(transport), lock);
}

static void unwatch(struct hami_transport *transport, hami_nodelock *lock)
{
    nodelockGoUnwatch(carrier_of(transport), lock);
}

struct hami_transport *nodelock_go_transport_new(const char *name, uint32_t flags,
                                                 uint32_t abilities, uintptr_t carrier)
{
    size_t bytes = strlen(name) + 1;
    struct go_transport *made = calloc(1, sizeof(*made) + bytes);

    if (made == NULL) {
        return NULL;
    }
    memcpy(made + 1, name, bytes);
    made->carrier = carrier;
    made->base.size = sizeof(made->base);
    made->base.name = (const char *)(made + 1);
    made->base.flags = flags;
    made->base.submit = submit;
    made->base.abort = abort_call;
    if ((abilities & NODELOCK_GO_OWNERS) != 0) {
        made->base.inspect = inspect_owner;
        made->base.revoke = revoke_owner;
    }
    if ((abilities & NODELOCK_GO_WATCH) != 0) {
        made->base.watch = watch;
        made->base.unwatch = unwatch;
    }
    return &made->base;
}

void nodelock_go_transport_free(struct hami_transport *transport)
{
    free(transport);
}

/* ---- single calls ---- */

static void received(void *data, const struct hami_transport_result *result)
{
    nodelockGoReceived((uintptr_t)data, (struct hami_transport_result *)result);
}

int nodelock_go_transport_call(struct hami_transport *transport, const char *node,
                               const struct hami_transport_edit *edits, size_t edit_count,
                               const char *version, uint64_t timeout_ms,
                               uintptr_t receive)
{
    return hami_transport_call(transport, node, edits, edit_count, version, timeout_ms,
                               received, (void *)receive);
}

static void received_owner(void *data, int code, const struct hami_owner_facts *facts)
{
    nodelockGoReceivedOwner((uintptr_t)data, code, (struct hami_owner_facts *)facts);
}

int nodelock_go_transport_call_owner(struct hami_transport *transport, const char *node,
                                     const struct hami_owner *owner,
                                     const char *revocation, uint64_t timeout_ms,
                                     uintptr_t receive)
{
    return hami_transport_call_owner(transport, node, owner, revocation, timeout_ms,
                                     received_owner, (void *)receive);
}
