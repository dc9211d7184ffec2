/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See config.h. Pure but for the system's clocks, which are the default. */
#include "config.h"

#include <time.h>

#include "errors.h"
#include "internal.h"
#include "memory.h"
#include "names.h"

static uint64_t system_monotonic_ns(void *data)
{
    struct timespec now;

    (void)data;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int64_t system_realtime_s(void *data)
{
    struct timespec now;

    (void)data;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

bool hami_internal_config_has_system_clock(const struct hami_nodelock_config *config)
{
    return config->clock.monotonic_ns == system_monotonic_ns;
}

static void default_number(uint64_t *number, uint64_t value)
{
    *number = *number ? *number : value;
}

/* Permits above 0 are the ones beside, and their locks are this side's to free. */
static int check_side_by_side(const struct hami_nodelock_config *config,
                              struct hami_error *error)
{
    if (config->side_by_side == 0) {
        return 0;
    }
    if (config->side_by_side > HAMI_NODELOCK_SIDE_BY_SIDE_MAX || config->permits > 1 ||
        !(config->flags & HAMI_NODELOCK_FREE_BY_SCHEDULER)) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL,
            "side_by_side must be 1 to %d, with one permit and "
            "HAMI_NODELOCK_FREE_BY_SCHEDULER",
            HAMI_NODELOCK_SIDE_BY_SIDE_MAX);
    }
    return 0;
}

static int check_numbers(struct hami_nodelock_config *config, struct hami_error *error)
{
    if (config->permits > HAMI_NODELOCK_PERMITS_MAX) {
        return hami_internal_errors_set(error, HAMI_E_INVAL, "permits must be 1 to %d",
                                        HAMI_NODELOCK_PERMITS_MAX);
    }
    const uint32_t flags = HAMI_NODELOCK_EXPIRE_BOUND_OWNERS |
                           HAMI_NODELOCK_REFUSE_EARLY | HAMI_NODELOCK_FREE_BY_SCHEDULER;
    if (config->flags & ~flags) {
        return hami_internal_errors_set(error, HAMI_E_INVAL, "unknown flags 0x%x",
                                        config->flags);
    }
    if (config->hold_limit_ms > 600000 || config->call_timeout_ms > 600000) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL, "hold_limit_ms and call_timeout_ms must be 1 to 600000");
    }
    if (config->expire_ms > UINT64_C(1000000000000) ||
        config->stall_limit_ms > UINT64_C(1000000000000)) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL, "expire_ms and stall_limit_ms must be below 10^12");
    }
    if (config->overtaken_max > 1000000) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "overtaken_max must be 1 to 1000000");
    }
    return check_side_by_side(config, error);
}

bool hami_internal_config_is_transport(const struct hami_transport *transport)
{
    /* The struct of 0.1 is the smallest that there is. */
    return transport && transport->size >= sizeof(*transport) && transport->submit;
}

static int check_functions(const struct hami_nodelock_config *config,
                           struct hami_error *error)
{
    const struct hami_transport *transport = config->transport;
    const struct hami_allocator *allocator = &config->allocator;
    int allocator_functions = (allocator->allocate != NULL) +
                              (allocator->reallocate != NULL) +
                              (allocator->release != NULL);

    if (!hami_internal_config_is_transport(transport) || !transport->name ||
        (transport->watch && !transport->unwatch)) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL,
            "a transport with name and submit (and unwatch beside watch) "
            "is required");
    }
    if (!config->clock.monotonic_ns != !config->clock.realtime_s) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "clock: both functions or none");
    }
    if (config->clock.monotonic_ns && !config->wakeup) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL,
            "a clock of one's own needs a wakeup: the manager's thread "
            "sleeps by the system's clock");
    }
    if (allocator_functions != 0 && allocator_functions != 3) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "allocator: all functions or none");
    }
    if ((config->key && !hami_internal_names_is_key(config->key)) ||
        (config->holder && !hami_internal_names_is_subdomain(config->holder))) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL,
            "key must be an annotation key, holder an RFC 1123 subdomain");
    }
    if (config->permits > 1 && (transport->flags & HAMI_TRANSPORT_ONE_PERMIT)) {
        return hami_internal_errors_set(
            error, HAMI_E_NOTSUP, "transport \"%s\": other readers know one lock a node",
            transport->name);
    }
    return 0;
}

int hami_internal_config_read(const struct hami_nodelock_config *config,
                              struct hami_nodelock_config *known,
                              struct hami_error *error)
{
    if (!config) {
        return hami_internal_errors_set(error, HAMI_E_INVAL, "config is required");
    }
    int code = hami_internal_errors_read_struct(
        known, sizeof(*known), config, offsetof(struct hami_nodelock_config, key));
    if (code < 0) {
        return hami_internal_errors_set(error, code, "config: %s", hami_strerror(code));
    }
    code = check_numbers(known, error);
    code = code < 0 ? code : check_functions(known, error);
    if (code < 0) {
        return code;
    }
    known->permits = known->permits ? known->permits : 1;
    default_number(&known->hold_limit_ms, 15000);
    default_number(&known->expire_ms, 300000);
    default_number(&known->call_timeout_ms, 5000);
    known->waiters_per_node_max =
        known->waiters_per_node_max ? known->waiters_per_node_max : 100000;
    known->nodes_max = known->nodes_max ? known->nodes_max : 65536;
    known->overtaken_max =
        known->overtaken_max ? known->overtaken_max : HAMI_NODELOCK_OVERTAKEN;
    if (!known->allocator.allocate) {
        known->allocator = hami_internal_memory_default;
    }
    if (!known->clock.monotonic_ns) {
        known->clock = (struct hami_clock){system_monotonic_ns, system_realtime_s, NULL};
    }
    return 0;
}
