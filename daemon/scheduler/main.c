/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler: starts its parts in the order in which they need each other, turns the
 * loop, and takes them apart in the reverse order.
 *
 * On SIGTERM or SIGINT: not ready, new binds are refused, queued ones are answered at
 * once; what is posted to the API server is waited for up to DRAIN_MS; then the process
 * ends with 0. A second signal ends the wait.
 */
#include "service.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <curl/curl.h>

#include "log.h"
#include "notify.h"
#include "roles.h"

#define BINDING_LEAST_MS 2000
#define DRAIN_MS 10000
#define DRAIN_LOOK_MS 20
#define SHUTDOWN_MS 2000
#define READY_LOOK_MS 100

/* ---- the manager on the loop ---------------------------------------------------- */

static void arm_dispatch(struct service *service)
{
    uint64_t next = hami_nodelock_next_deadline(service->lock);
    if (next == HAMI_DEADLINE_NEVER) {
        (void)event_del(service->dispatch_timer);
        return;
    }
    uint64_t now = hami_nodelock_now(service->lock);
    uint64_t wait_us = next > now ? (next - now + 999) / 1000 : 0;
    struct timeval when = {.tv_sec = (time_t)(wait_us / 1000000),
                           .tv_usec = (suseconds_t)(wait_us % 1000000)};
    (void)event_add(service->dispatch_timer, &when);
}

static void dispatch(void *data)
{
    struct service *service = data;
    if (service->lock != NULL) {
        (void)hami_nodelock_dispatch(service->lock);
        arm_dispatch(service);
    }
}

static void on_dispatch_timer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    dispatch(data);
}

/* ---- the end -------------------------------------------------------------------- */

static void look_whether_drained(evutil_socket_t fd, short what, void *data)
{
    struct service *service = data;
    struct timeval again = {.tv_usec = DRAIN_LOOK_MS * 1000};
    (void)fd;
    (void)what;
    bool is_over = hami_nodelock_now(service->lock) - service->drain_started_ns >
                   DRAIN_MS * 1000000ull;
    bool is_idle = binder_in_flight(service->binder) == 0 &&
                   hamid_http_server_busy(service->server) == 0;
    if (is_over || is_idle) {
        (void)event_base_loopbreak(service->base);
        return;
    }
    (void)event_add(service->drain_timer, &again);
}

static void on_signal(evutil_socket_t number, short what, void *data)
{
    struct service *service = data;
    (void)number;
    (void)what;
    if (service->draining) {
        (void)event_base_loopbreak(service->base);
        return;
    }
    hamid_log_info(0, "Shutting down; waiting binds are answered", NULL);
    hamid_notify("STOPPING=1\nSTATUS=Answering the binds that wait");
    service->draining = true;
    service->drain_started_ns = hami_nodelock_now(service->lock);
    binder_drain(service->binder);
    /* Only says so: the past deadline makes it return at once, the waits end by dispatch.
     */
    (void)hami_nodelock_shutdown(service->lock, 0);
    dispatch(service);
    look_whether_drained(-1, 0, service);
}

/* ---- starting ------------------------------------------------------------------- */

/* Tells the service manager, if there is one, when the first bind could be served. */
static void look_whether_ready(evutil_socket_t fd, short what, void *data)
{
    struct service *service = data;
    struct timeval again = {.tv_usec = READY_LOOK_MS * 1000};
    const char *reason = NULL;
    (void)fd;
    (void)what;
    if (service->draining) {
        return;
    }
    if (service_is_ready(service, &reason)) {
        service->was_ready = true;
        hamid_notify("READY=1\nSTATUS=Serving binds");
        return;
    }
    (void)event_add(service->ready_timer, &again);
}

static int start_transport(struct service *service)
{
    struct hami_error error = HAMI_ERROR_INIT;
    const struct scheduler_options *options = &service->options;
    int code;
    if (!options->keeps_leases) {
        struct hami_kubernetes_transport_config config =
            HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
        config.scheduler_names = options->scheduler_names.values;
        config.scheduler_name_count = options->scheduler_names.count;
        code = hami_kubernetes_transport_new(service->client, &config,
                                             &service->transport, &error);
    } else {
        struct hami_kubernetes_lease_transport_config config =
            HAMI_KUBERNETES_LEASE_TRANSPORT_CONFIG_INIT;
        config.flags = HAMI_KUBERNETES_LEASE_MIRROR;
        const char *keys[HAMI_NODELOCK_KEYS_MAX];
        config.mirror_key_count = lock_table_keys(options->locks, keys);
        config.mirror_keys = keys;
        config.namespace_name = options->lease_namespace;
        config.scheduler_names = options->scheduler_names.values;
        config.scheduler_name_count = options->scheduler_names.count;
        code = hami_kubernetes_lease_transport_new(service->client, &config,
                                                   &service->transport, &error);
    }
    return code == 0 ? 0
                     : service_fail("Could not make the store of the locks", error.text);
}

static int start_client(struct service *service)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    const struct scheduler_options *options = &service->options;
    hamid_login_put(&options->login, &config);
    (void)hami_kubernetes_config_from_environment(&config);
    config.user_agent = "hamid-scheduler/" HAMI_VERSION_STRING;
    config.log = hamid_log_library;
    service->denials = hamid_denials_new();
    if (service->denials == NULL) {
        return service_fail("Could not start", "out of memory");
    }
    config.denied = hamid_denials_told;
    config.denied_data = service->denials;
    if (hami_kubernetes_new(&config, &service->client, &error) != 0) {
        return service_fail(
            "Could not set up the login to the API server; see --kubeconfig", error.text);
    }
    return 0;
}

static int start_lock(struct service *service)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    const struct scheduler_options *options = &service->options;
    config.transport = service->transport;
    config.flags = options->expire_bound_owners ? HAMI_NODELOCK_EXPIRE_BOUND_OWNERS : 0;
    /* Without a watch of its pods it would not be told when one is served. */
    if (options->scheduler_names.count > 0) {
        config.flags |= HAMI_NODELOCK_FREE_BY_SCHEDULER;
    }
    if (strcmp(options->admission, "patience") == 0) {
        config.flags |= HAMI_NODELOCK_REFUSE_EARLY;
    }
    config.waiters_per_node_max = (uint32_t)options->waiters_per_node;
    config.waiters_per_namespace_max = (uint32_t)options->waiters_per_namespace;
    config.overtaken_max = (uint32_t)options->overtaken_max;
    config.side_by_side = (uint32_t)options->side_by_side;
    config.hold_limit_ms = options->hold_limit_ms;
    config.expire_ms = options->lock_expire_ms;
    config.stall_limit_ms = options->stall_limit_ms;
    config.wakeup = hamid_mailbox_ring;
    config.wakeup_data = service->mailbox;
    config.owner_lost = binder_owner_lost;
    config.owner_lost_data = status_history(service->status);
    config.log = hamid_log_library;
    config.changed = changes_told;
    config.changed_data = service->changes;
    if (hami_nodelock_new(&config, &service->lock, &error) != 0) {
        return service_fail("Could not make the lock manager", error.text);
    }
    struct binder_config binder = {
        .lock = service->lock,
        .client = service->client,
        .transport = service->transport,
        .mailbox = service->mailbox,
        .metrics = &service->metrics,
        .history = status_history(service->status),
        .patience_ms = options->patience_ms,
        .binding_ms = options->hold_limit_ms > BINDING_LEAST_MS ? options->hold_limit_ms
                                                                : BINDING_LEAST_MS,
        .lock_expire_ms = options->lock_expire_ms,
        .scheduler_names = options->scheduler_names.values,
        .scheduler_name_count = options->scheduler_names.count,
        .locks = options->locks,
        .side_by_side = options->side_by_side > 0,
        .lanes = options->lanes,
    };
    service->binder = binder_new(&binder);
    return service->binder != NULL ? 0 : service_fail("Could not start", "out of memory");
}

static int start_events(struct service *service)
{
    uint64_t after_ms = service->options.event_after_ms;
    if (after_ms == 0) {
        return 0;
    }
    service->pod_events = pod_events_new(service->base, service->lock, service->client,
                                         &service->metrics, after_ms);
    return service->pod_events != NULL ? 0
                                       : service_fail("Could not start", "out of memory");
}

static int start_upstream(struct service *service)
{
    const struct scheduler_options *options = &service->options;
    struct upstream_config config = {
        .url = options->filter_url,
        .insecure = options->filter_insecure,
        .ca_file = options->filter_ca_file,
        .timeout_ms = options->filter_timeout_ms,
    };
    if (options->filter_url == NULL) {
        return 0;
    }
    if (options->filter_insecure) {
        hamid_log_warning(
            "The certificate of the extender behind --filter-url is not verified", "url",
            options->filter_url, NULL);
    }
    service->upstream = upstream_new(service->base, &config);
    return service->upstream != NULL ? 0
                                     : service_fail("Could not start", "out of memory");
}

static int start_loop(struct service *service)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    struct event_config *config = event_config_new();
    if (config != NULL) {
        (void)event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
        service->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    if (service->base == NULL) {
        return service_fail("Could not start", "no event loop");
    }
    service->mailbox = hamid_mailbox_new(service->base, dispatch, service);
    service->dispatch_timer = evtimer_new(service->base, on_dispatch_timer, service);
    service->drain_timer = evtimer_new(service->base, look_whether_drained, service);
    service->ready_timer = evtimer_new(service->base, look_whether_ready, service);
    service->status = status_new(service);
    service->changes = changes_new();
    if (service->mailbox == NULL || service->changes == NULL || service->status == NULL ||
        service->dispatch_timer == NULL || service->drain_timer == NULL ||
        service->ready_timer == NULL) {
        return service_fail("Could not start", "out of memory");
    }
    for (size_t i = 0; i < 2; i++) {
        service->signals[i] = evsignal_new(service->base, numbers[i], on_signal, service);
        if (service->signals[i] == NULL || event_add(service->signals[i], NULL) != 0) {
            return service_fail("Could not start", "no signal handler");
        }
    }
    return 0;
}

/* Parked binds cost a descriptor each. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* With blanks between them. */
static void describe_keys(const struct lock_table *locks, char *buffer, size_t size)
{
    const char *keys[HAMI_NODELOCK_KEYS_MAX];
    size_t count = lock_table_keys(locks, keys);
    size_t length = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < count && length < size; i++) {
        int written =
            snprintf(buffer + length, size - length, "%s%s", i > 0 ? " " : "", keys[i]);
        length += written > 0 ? (size_t)written : 0;
    }
}

static void log_start(const struct service *service)
{
    const struct scheduler_options *options = &service->options;
    char expire[32];
    char patience[32];
    char keys[1024];
    char most[24];
    describe_keys(options->locks, keys, sizeof(keys));
    hamid_duration_format(options->lock_expire_ms, expire, sizeof(expire));
    hamid_duration_format(options->patience_ms, patience, sizeof(patience));
    if (options->config.warning[0] != '\0') {
        hamid_log_warning("Did not follow the environment", "err",
                          options->config.warning, NULL);
    }
    if (options->ignored.count > 0) {
        char names[1024];
        size_t length = 0;
        for (size_t i = 0; i < options->ignored.count && length < sizeof(names); i++) {
            length += (size_t)snprintf(names + length, sizeof(names) - length, "%s--%s",
                                       i > 0 ? " " : "", options->ignored.values[i]);
        }
        hamid_log_info(0, "Ignored flags that mean nothing here", "flags", names, NULL);
    }
    if (options->side_by_side > 0) {
        hamid_log_info(0, "Lets pods go side by side", "most",
                       hamid_log_number(most, options->side_by_side), NULL);
    }
    hamid_log_info(0, "Serving", "version", hami_version(), "listen",
                   service->addresses[0], "metrics",
                   service->metrics_server != NULL ? service->addresses[1] : NULL, "tls",
                   service->certificates != NULL ? service->options.tls_cert_file : NULL,
                   "clientAuthorities", service->options.client_ca_file, "apiServer",
                   hami_kubernetes_server(service->client), "key", keys, "holder",
                   hami_nodelock_holder(service->lock), "lockExpire", expire, "patience",
                   patience, "filter", options->filter_url, NULL);
}

static int start(struct service *service)
{
    int status = start_loop(service);
    status = status != 0 ? status : start_client(service);
    status = status != 0 ? status : start_transport(service);
    status = status != 0 ? status : start_lock(service);
    status = status != 0 ? status : start_events(service);
    status = status != 0 ? status : start_upstream(service);
    status = status != 0 ? status : service_start_reload(service);
    status = status != 0 ? status : service_listen(service);
    return status != 0 ? status : service_write_addresses(service);
}

/* In an order in which nobody calls what is gone; each part may be missing. */
static void stop(struct service *service)
{
    service_stop_reload(service);
    pod_events_stop(service->pod_events);
    if (service->lock != NULL) {
        (void)hami_nodelock_shutdown(service->lock,
                                     hami_nodelock_in_ms(service->lock, SHUTDOWN_MS));
        service->lock = hami_nodelock_free(service->lock);
    }
    (void)hami_kubernetes_transport_free(service->transport);
    (void)hami_kubernetes_free(service->client);
    service->denials = hamid_denials_free(service->denials);
    (void)pod_events_free(service->pod_events);
    (void)hamid_mailbox_free(service->mailbox);
    (void)hamid_http_server_free(service->server);
    (void)hamid_http_server_free(service->metrics_server);
    service->certificates = certificates_free(service->certificates);
    (void)status_free(service->status);
    (void)changes_free(service->changes);
    (void)upstream_free(service->upstream);
    (void)binder_free(service->binder);
    struct event *events[] = {service->dispatch_timer, service->drain_timer,
                              service->ready_timer, service->signals[0],
                              service->signals[1]};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (events[i] != NULL) {
            event_free(events[i]);
        }
    }
    if (service->base != NULL) {
        event_base_free(service->base);
    }
}

int hamid_scheduler_main(int argc, char **argv)
{
    static struct service service;
    static struct hamid_problems problems;
    enum hamid_flags_result result =
        scheduler_options_read(&service.options, argc, argv, &problems);
    service.argc = argc;
    service.argv = argv;
    int shown = hamid_config_show(&service.options.config, result, &problems);
    if (shown >= 0) {
        scheduler_options_done(&service.options);
        return shown;
    }
    hamid_log_setup((unsigned)service.options.verbosity, service.options.log_json);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    raise_file_limit();
    int status = start(&service);
    if (status == 0) {
        log_start(&service);
        dispatch(&service);
        look_whether_ready(-1, 0, &service);
        (void)event_base_dispatch(service.base);
    }
    stop(&service);
    scheduler_options_done(&service.options);
    if (status == 0) {
        hamid_log_info(0, "Stopped", NULL);
    }
    return status;
}
