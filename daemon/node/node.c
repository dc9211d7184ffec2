/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid node: puts the parts together, and takes them apart again on SIGTERM.
 *
 * A start in order: the socket opens, the Node object gets its annotation, a lock that a
 * crash left is freed; then the agent says that it is ready. Plugins are served from the
 * first moment on.
 *
 * A stop in order: no new allocation; open ones get STOP_MS to be said done or failed;
 * then the socket closes, what is with the library ends (each call has a deadline), the
 * annotation goes from the Node object. Open allocations that remain are dropped: nothing
 * is written, the lock stays with the pod.
 */
#include "roles.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "agent.h"
#include "gateway/gateway.h"
#include "handed.h"
#include "log.h"
#include "mailbox.h"
#include "notify.h"
#include "options.h"
#include "presence.h"
#include "reload.h"

#define STOP_MS 3000
#define STOP_LOOK_MS 10 /* how often to look whether all is answered */
#define REMOVE_MS 2000
#define RECOVER_MS 5000

/* Where no vendor was named. */
static const struct hami_handshake_vendor nvidia = {"nvidia.com/gpu",
                                                    "hami.io/vgpu-devices-to-allocate"};

struct node {
    struct hamid_letter recovered; /* first */
    bool is_recovering;
    int recover_code;
    char recover_text[256];
    struct node_options options;
    int argc;
    char *const *argv;
    struct hamid_reload *reload;
    struct node_options *fresh; /* while a reload runs */
    bool is_ready;              /* the service manager knows */
    struct event_base *base;
    struct event *signals[2];
    struct event *stop_timer;
    uint64_t stop_until_ns;
    struct hamid_mailbox *mailbox;
    struct hamid_denials *denials;
    hami_kubernetes *client;
    hami_handshake *handshake;
    struct node_events events;
    struct handed handed;
    struct books *books;   /* NULL = not read */
    struct checks *checks; /* NULL without books */
    struct agent *agent;
    struct gateway *gateway; /* NULL = none */
    struct presence *presence;
    bool is_stopping;
};

/* ---- the gateway, where it was asked for
 * --------------------------------------------------------- */

static bool open_gateway(struct node *node, char *error, size_t error_size)
{
    const struct node_options *options = &node->options;
    struct gateway_config config = {
        .base = node->base,
        .mailbox = node->mailbox,
        .handshake = node->handshake,
        .events = &node->events,
        .books = node->books,
        .checks = node->checks,
        .node = options->node,
        .needs_books = options->needs_pod_resources,
        .front = options->gateway,
        .kubelet = options->kubelet_plugins,
        .vendors = node->handed.vendors,
        .vendor_count = node->handed.vendor_count,
        .timeout_ms = options->allocate_timeout_ms,
        .vendor_timeout_ms = options->vendor_timeout_ms,
    };

    if (options->gateway != NULL) {
        node->gateway = gateway_new(&config, error, error_size);
    }
    return options->gateway == NULL || node->gateway != NULL;
}

/* ---- stopping
 * ---------------------------------------------------------------------------------- */

/* Leaves the loop as soon as nothing waits any more, or time is up. */
static void look_whether_done(evutil_socket_t fd, short what, void *data)
{
    struct node *node = data;
    bool is_idle = agent_is_idle(node->agent) &&
                   (node->gateway == NULL || gateway_is_idle(node->gateway));

    (void)fd;
    (void)what;
    if (!is_idle && hami_kubernetes_now() >= node->stop_until_ns) {
        hamid_log_warning(
            "Stopped although allocations were open: nothing was written for them", NULL);
        is_idle = true;
    }
    if (is_idle) {
        (void)event_base_loopbreak(node->base);
    }
}

static void told_to_stop(evutil_socket_t number, short what, void *data)
{
    struct node *node = data;
    struct timeval often = {0, STOP_LOOK_MS * 1000};

    (void)what;
    if (node->is_stopping) {
        (void)event_base_loopbreak(node->base);
        return;
    }
    node->is_stopping = true;
    hamid_notify("STOPPING=1");
    hamid_log_info(0, "Stopping", "signal", number == SIGTERM ? "SIGTERM" : "SIGINT",
                   NULL);
    agent_stop(node->agent);
    if (node->gateway != NULL) {
        gateway_stop(node->gateway);
    }
    presence_stop(node->presence);
    node->stop_until_ns = hami_kubernetes_in_ms(STOP_MS);
    (void)event_add(node->stop_timer, &often);
}

/* Each call that is with the library ends by its deadline; its letter has to be opened.
 */
static void drain(struct node *node)
{
    while (agent_pending(node->agent) > 0 || presence_is_pending(node->presence) ||
           (node->gateway != NULL && gateway_pending(node->gateway) > 0) ||
           node->is_recovering) {
        if (event_base_loop(node->base, EVLOOP_ONCE) != 0) {
            return;
        }
    }
}

/* ---- starting
 * ---------------------------------------------------------------------------------- */

static void say_ready(struct node *node)
{
    agent_set_ready(node->agent, true);
    node->is_ready = true;
    hamid_notify("READY=1\nSTATUS=Serving device plugins");
    hamid_log_info(0, "Ready: the Node object says that an agent is here", "node",
                   node->options.node, "annotation", HAMI_HANDSHAKE_AGENT_KEY, "value",
                   node_options_mark(&node->options), NULL);
}

static void recovered_opened(struct hamid_letter *letter)
{
    struct node *node = (struct node *)letter;

    node->is_recovering = false;
    if (node->recover_code < 0) {
        hamid_log_warning("Could not look whether a lock was left by a crash", "code",
                          hami_errname(node->recover_code), "err", node->recover_text,
                          NULL);
    }
    say_ready(node);
}

/* On the client's thread. */
static void recovered(void *data, int code, const struct hami_error *error)
{
    struct node *node = data;

    node->recover_code = code;
    (void)snprintf(node->recover_text, sizeof(node->recover_text), "%.255s",
                   error != NULL ? error->text : "");
    hamid_mailbox_post(node->mailbox, &node->recovered);
}

static void presence_written(void *data)
{
    struct node *node = data;
    uint64_t deadline = hami_kubernetes_in_ms(RECOVER_MS);

    node->recovered.open = recovered_opened;
    node->is_recovering = true;
    if (hami_handshake_recover_start(node->handshake, deadline, recovered, node) < 0) {
        node->is_recovering = false;
        say_ready(node);
    }
}

static int open_client(struct node *node, struct hami_error *error)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_handshake_config handshake = HAMI_HANDSHAKE_CONFIG_INIT;
    int code;

    hamid_login_put(&node->options.login, &config);
    config.user_agent = "hamid-node/" HAMI_VERSION_STRING;
    config.log = hamid_log_library;
    config.denied = hamid_denials_told;
    config.denied_data = node->denials;
    code = hami_kubernetes_config_from_environment(&config);
    if (code == 0) {
        code = hami_kubernetes_new(&config, &node->client, error);
    }
    if (code < 0) {
        return code;
    }
    handshake.node = node->options.node;
    handshake.key = node->options.key;
    handshake.flags = node->options.require_fence ? HAMI_HANDSHAKE_REQUIRE_FENCE : 0;
    handshake.vendors = node->options.vendor_count > 0 ? node->options.vendors : NULL;
    handshake.vendor_count = node->options.vendor_count;
    return hami_handshake_new(node->client, &handshake, &node->handshake, error);
}

static bool add_signals(struct node *node)
{
    static const int numbers[2] = {SIGTERM, SIGINT};

    for (size_t i = 0; i < 2; i++) {
        node->signals[i] = evsignal_new(node->base, numbers[i], told_to_stop, node);
        if (node->signals[i] == NULL || event_add(node->signals[i], NULL) != 0) {
            return false;
        }
    }
    node->stop_timer = event_new(node->base, -1, EV_PERSIST, look_whether_done, node);
    return node->stop_timer != NULL;
}

static bool open_books(struct node *node)
{
#ifdef HAMID_WITH_KUBELET
    if (*node->options.pod_resources == '\0') {
        return true;
    }
    node->books = books_new(node->base, node->options.pod_resources);
    if (node->books != NULL) {
        node->checks = checks_new(node->base, node->books, &node->events, &node->handed);
    }
    return node->checks != NULL;
#else
    (void)node;
    return true;
#endif
}

static bool open_agent(struct node *node, char *error, size_t error_size)
{
    struct agent_config config = {
        .base = node->base,
        .mailbox = node->mailbox,
        .client = node->client,
        .denials = node->denials,
        .handshake = node->handshake,
        .node = node->options.node,
        .socket = node->options.socket,
        .timeout_ms = node->options.allocate_timeout_ms,
        .lifetime_ms = node->options.allocation_lifetime_ms,
        .events = &node->events,
        .books = node->books,
        .checks = node->checks,
        .needs_books = node->options.needs_pod_resources,
        .more_metrics = node->gateway != NULL ? gateway_metrics : NULL,
        .more_data = node->gateway,
    };

    node->agent = agent_new(&config, error, error_size);
    if (node->agent == NULL) {
        return false;
    }
    node->presence =
        presence_new(node->base, node->mailbox, node->client, node->options.node,
                     node_options_mark(&node->options), presence_written, node);
    if (node->presence == NULL) {
        (void)snprintf(error, error_size, "out of memory");
    }
    return node->presence != NULL;
}

/* ---- SIGHUP: the log's level, and the login ------------------------------------- */

static struct hamid_config *begin_reload(void *data, struct hamid_problems *problems)
{
    struct node *node = data;

    node->fresh = calloc(1, sizeof(*node->fresh));
    if (node->fresh == NULL) {
        return NULL;
    }
    (void)node_options_read(node->fresh, node->argc, node->argv, problems);
    return &node->fresh->config;
}

static void end_reload(void *data, bool is_taken)
{
    struct node *node = data;

    if (is_taken) {
        hamid_log_setup((unsigned)node->options.verbosity, node->options.log_json);
    }
    node_options_done(node->fresh);
    free(node->fresh);
    node->fresh = NULL;
}

static enum hamid_reload_outcome renew_login(void *data, char *error)
{
    struct node *node = data;
    struct hami_error why = HAMI_ERROR_INIT;

    if (hami_kubernetes_reload(node->client, &why) == 0) {
        return HAMID_RELOAD_NEW;
    }
    (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "%.500s", why.text);
    return HAMID_RELOAD_WRONG;
}

static bool is_reload_open(void *data)
{
    const struct node *node = data;

    return !node->is_stopping;
}

static bool is_told_ready(void *data)
{
    const struct node *node = data;

    return node->is_ready;
}

static bool open_reload(struct node *node)
{
    struct hamid_reload_config config = {
        .base = node->base,
        .config = &node->options.config,
        .begin = begin_reload,
        .end = end_reload,
        .is_open = is_reload_open,
        .is_ready = is_told_ready,
        .data = node,
    };

    node->reload = hamid_reload_new(&config);
    return node->reload != NULL &&
           hamid_reload_add(node->reload, "login to the API server", renew_login, node);
}

/* False with a line in error. */
static bool start(struct node *node, char *error, size_t error_size)
{
    struct hami_error detail = HAMI_ERROR_INIT;

    (void)signal(SIGPIPE, SIG_IGN);
    node->base = event_base_new();
    node->mailbox = node->base != NULL ? hamid_mailbox_new(node->base, NULL, NULL) : NULL;
    node->denials = hamid_denials_new();
    if (node->mailbox == NULL || node->denials == NULL || !add_signals(node) ||
        !open_reload(node)) {
        (void)snprintf(error, error_size, "out of memory or file descriptors");
        return false;
    }
    if (open_client(node, &detail) < 0) {
        (void)snprintf(error, error_size, "%s", detail.text);
        return false;
    }
    node_events_init(&node->events, node->client, node->options.node,
                     hami_kubernetes_now());
    node->handed = (struct handed){
        .mailbox = node->mailbox,
        .client = node->client,
        .vendors = node->options.vendor_count > 0 ? node->options.vendors : &nvidia,
        .vendor_count = node->options.vendor_count > 0 ? node->options.vendor_count : 1,
    };
    if (!open_books(node)) {
        (void)snprintf(error, error_size, "out of memory");
        return false;
    }
    return open_gateway(node, error, error_size) && open_agent(node, error, error_size);
}

static void stop(struct node *node)
{
    node->reload = hamid_reload_free(node->reload);
    if (node->agent != NULL) {
        agent_close(node->agent);
    }
    if (node->gateway != NULL) {
        gateway_close(node->gateway);
    }
    if (node->presence != NULL) {
        drain(node);
        presence_remove(node->presence, REMOVE_MS);
    }
    presence_free(node->presence);
    agent_free(node->agent);
    node->gateway = gateway_free(node->gateway);
    checks_free(node->checks);
    books_free(node->books);
    hami_handshake_free(node->handshake);
    hami_kubernetes_free(node->client);
    hamid_denials_free(node->denials);
    if (node->mailbox != NULL) {
        hamid_mailbox_free(node->mailbox);
    }
    for (size_t i = 0; i < 2; i++) {
        if (node->signals[i] != NULL) {
            event_free(node->signals[i]);
        }
    }
    if (node->stop_timer != NULL) {
        event_free(node->stop_timer);
    }
    if (node->base != NULL) {
        event_base_free(node->base);
    }
}

static void say_hello(const struct node *node)
{
    const struct node_options *options = &node->options;
    char lease[HAMI_NODELOCK_KEY_MAX + 8] = "";

    (void)hami_lease_key(options->key, lease, sizeof(lease));
    hamid_log_info(0, "Serving device plugins", "node", options->node, "socket",
                   options->socket, "server", hami_kubernetes_server(node->client),
                   "lockKey", options->key, "leaseKey", lease, "requireFence",
                   options->require_fence ? "true" : "false", "podResources",
                   node->books != NULL ? options->pod_resources : "", NULL);
    if (options->vendor_count == 0) {
        hamid_log_info(0, "Serving a resource", "resource", "nvidia.com/gpu",
                       "annotation", "hami.io/vgpu-devices-to-allocate", NULL);
    }
    for (size_t i = 0; i < options->vendor_count; i++) {
        hamid_log_info(0, "Serving a resource", "resource", options->vendors[i].resource,
                       "annotation", options->vendors[i].to_allocate_key, NULL);
    }
}

int hamid_node_main(int argc, char **argv)
{
    struct node *node = calloc(1, sizeof(*node));
    char error[640] = "out of memory";
    int status = 1;

    if (node == NULL) {
        (void)fprintf(stderr, "hamid node: %s\n", error);
        return 1;
    }
    static struct hamid_problems problems;
    enum hamid_flags_result result =
        node_options_read(&node->options, argc, argv, &problems);
    node->argc = argc;
    node->argv = argv;
    int shown = hamid_config_show(&node->options.config, result, &problems);
    if (shown >= 0) {
        node_options_done(&node->options);
        free(node);
        return shown;
    }
    hamid_log_setup((unsigned)node->options.verbosity, node->options.log_json);
    if (start(node, error, sizeof(error))) {
        say_hello(node);
        status = event_base_dispatch(node->base) < 0 ? 1 : 0;
    } else {
        hamid_log_error("Could not start", "err", error, NULL);
    }
    stop(node);
    if (status == 0) {
        hamid_log_info(0, "Stopped", NULL);
    }
    node_options_done(&node->options);
    free(node);
    return status;
}
