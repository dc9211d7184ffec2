/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami-device-plugin: puts the parts together, and takes them apart again on SIGTERM.
 *
 * A stop in order: no new call of the kubelet; Allocates that run get STOP_MS to end;
 * then the socket goes. The Node's annotations stay: pods that run go on having their
 * devices.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include <hami/kubernetes.h>

#include "allocate.h"
#include "node/checks.h"
#include "node/handed.h"
#include "health.h"
#include "log.h"
#include "mailbox.h"
#include "node/node_events.h"
#include "node_register.h"
#include "options.h"
#include "registration.h"
#include "service.h"
#include "settings.h"

#define STOP_MS 3000
#define STOP_LOOK_MS 10
#define RECOVER_MS 5000

struct plugin {
    struct hamid_letter recovered; /* first */
    bool is_recovering;
    int recover_code;
    struct plugin_options options;
    struct plugin_settings settings;
    char endpoint[108];
    struct event_base *base;
    struct event *signals[2];
    struct event *stop_look;
    uint64_t stop_until_ns;
    bool is_stopping;
    struct hamid_mailbox *mailbox;
    hami_kubernetes *client;
    hami_handshake *handshake;
    struct node_events events;
    struct handed handed;
    struct books *books;
    struct checks *checks;
    struct allocate *allocate;
    struct service *service;
    struct registration *registration;
    struct health *health;
    struct node_register *node_register;
};

/* ---- stopping ---------------------------------------------------------------------- */

static void look_whether_done(evutil_socket_t fd, short what, void *data)
{
    struct plugin *plugin = data;

    (void)fd;
    (void)what;
    if (allocate_pending(plugin->allocate) == 0 ||
        hami_kubernetes_now() >= plugin->stop_until_ns) {
        (void)event_base_loopbreak(plugin->base);
    }
}

static void told_to_stop(evutil_socket_t number, short what, void *data)
{
    struct plugin *plugin = data;
    struct timeval often = {0, STOP_LOOK_MS * 1000};

    (void)what;
    if (plugin->is_stopping) {
        (void)event_base_loopbreak(plugin->base);
        return;
    }
    plugin->is_stopping = true;
    hamid_log_info(0, "Stopping", "signal", number == SIGTERM ? "SIGTERM" : "SIGINT",
                   NULL);
    registration_stop(plugin->registration);
    if (plugin->node_register != NULL) {
        node_register_stop(plugin->node_register);
    }
    plugin->stop_until_ns = hami_kubernetes_in_ms(STOP_MS);
    (void)event_add(plugin->stop_look, &often);
}

/* Each call that is with the library ends by its deadline; its letter has to be opened.
 */
static void drain(struct plugin *plugin)
{
    while (plugin->is_recovering ||
           (plugin->allocate != NULL && allocate_pending(plugin->allocate) > 0) ||
           (plugin->node_register != NULL &&
            node_register_is_pending(plugin->node_register))) {
        if (event_base_loop(plugin->base, EVLOOP_ONCE) != 0) {
            return;
        }
    }
}

static void stop(struct plugin *plugin)
{
    plugin->registration = registration_free(plugin->registration);
    plugin->health = health_free(plugin->health);
    if (plugin->node_register != NULL) {
        node_register_stop(plugin->node_register);
    }
    drain(plugin);
    plugin->node_register = node_register_free(plugin->node_register);
    plugin->service = service_free(plugin->service);
    plugin->allocate = allocate_free(plugin->allocate);
    plugin->checks = checks_free(plugin->checks);
    plugin->books = books_free(plugin->books);
    plugin->handshake = hami_handshake_free(plugin->handshake);
    plugin->client = hami_kubernetes_free(plugin->client);
    plugin->mailbox = hamid_mailbox_free(plugin->mailbox);
    for (size_t i = 0; i < 2; i++) {
        if (plugin->signals[i] != NULL) {
            event_free(plugin->signals[i]);
        }
    }
    if (plugin->stop_look != NULL) {
        event_free(plugin->stop_look);
    }
    if (plugin->base != NULL) {
        event_base_free(plugin->base);
    }
    plugin_settings_done(&plugin->settings);
}

/* ---- starting ---------------------------------------------------------------------- */

static void recovered_opened(struct hamid_letter *letter)
{
    struct plugin *plugin = (struct plugin *)letter;

    plugin->is_recovering = false;
    if (plugin->recover_code < 0) {
        hamid_log_warning("Could not look whether a lock was left by a crash", "code",
                          hami_errname(plugin->recover_code), NULL);
    }
}

/* On the client's thread. */
static void recovered(void *data, int code, const struct hami_error *error)
{
    struct plugin *plugin = data;

    (void)error;
    plugin->recover_code = code;
    hamid_mailbox_post(plugin->mailbox, &plugin->recovered);
}

static void devices_changed(void *data)
{
    struct plugin *plugin = data;

    service_devices_changed(plugin->service);
    if (plugin->node_register != NULL) {
        node_register_changed(plugin->node_register);
    }
}

static int open_client(struct plugin *plugin, struct hami_error *error)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_handshake_config handshake = HAMI_HANDSHAKE_CONFIG_INIT;
    const struct plugin_options *options = &plugin->options;
    int code;

    config.kubeconfig = options->kubeconfig;
    config.context = options->context;
    config.flags = options->insecure ? HAMI_KUBERNETES_INSECURE : 0;
    config.user_agent = "hami-device-plugin/" HAMI_VERSION_STRING;
    config.log = hamid_log_library;
    code = hami_kubernetes_config_from_environment(&config);
    if (code == 0) {
        code = hami_kubernetes_new(&config, &plugin->client, error);
    }
    if (code < 0) {
        return code;
    }
    handshake.node = options->node;
    handshake.key = options->key;
    handshake.flags = options->require_fence ? HAMI_HANDSHAKE_REQUIRE_FENCE : 0;
    handshake.vendors = plugin->settings.vendors;
    handshake.vendor_count = plugin->settings.vendor_count;
    return hami_handshake_new(plugin->client, &handshake, &plugin->handshake, error);
}

/* What a crash left is freed, and the Node is told of the devices. */
static bool open_cluster(struct plugin *plugin, struct hami_error *error)
{
    if (open_client(plugin, error) < 0) {
        return false;
    }
    plugin->recovered.open = recovered_opened;
    plugin->is_recovering =
        hami_handshake_recover_start(plugin->handshake, hami_kubernetes_in_ms(RECOVER_MS),
                                     recovered, plugin) == 0;
    plugin->node_register = node_register_new(
        plugin->base, plugin->mailbox, plugin->client, plugin->options.node,
        &plugin->settings, plugin->options.report_period_ms);
    return plugin->node_register != NULL;
}

/* What the kubelet writes down of our answers. */
static bool open_books(struct plugin *plugin)
{
    if (*plugin->options.pod_resources == '\0') {
        return true;
    }
    node_events_init(&plugin->events, plugin->client, plugin->options.node,
                     hami_kubernetes_now());
    plugin->handed = (struct handed){.mailbox = plugin->mailbox,
                                     .client = plugin->client,
                                     .vendors = plugin->settings.vendors,
                                     .vendor_count = plugin->settings.vendor_count};
    plugin->books = books_new(plugin->base, plugin->options.pod_resources);
    plugin->checks = plugin->books != NULL ? checks_new(plugin->base, plugin->books,
                                                        &plugin->events, &plugin->handed)
                                           : NULL;
    return plugin->checks != NULL;
}

static bool add_signals(struct plugin *plugin)
{
    static const int numbers[2] = {SIGTERM, SIGINT};

    for (size_t i = 0; i < 2; i++) {
        plugin->signals[i] = evsignal_new(plugin->base, numbers[i], told_to_stop, plugin);
        if (plugin->signals[i] == NULL || event_add(plugin->signals[i], NULL) != 0) {
            return false;
        }
    }
    plugin->stop_look =
        event_new(plugin->base, -1, EV_PERSIST, look_whether_done, plugin);
    return plugin->stop_look != NULL;
}

/* The slash of a resource's name can't be in a file's. */
static void name_endpoint(struct plugin *plugin)
{
    if (plugin->options.endpoint == NULL) {
        (void)snprintf(plugin->endpoint, sizeof(plugin->endpoint), "hami-%.80s.sock",
                       plugin->settings.resource);
        for (char *c = plugin->endpoint; *c != '\0'; c++) {
            *c = *c == '/' ? '-' : *c;
        }
        plugin->options.endpoint = plugin->endpoint;
    }
}

static bool open_kubelet(struct plugin *plugin)
{
    struct registration_config config = {.base = plugin->base,
                                         .folder = plugin->options.folder,
                                         .resource = plugin->settings.resource,
                                         .streams = service_streams};
    struct allocate_config allocate = {.mailbox = plugin->mailbox,
                                       .settings = &plugin->settings,
                                       .handshake = plugin->handshake,
                                       .books = plugin->books,
                                       .checks = plugin->checks,
                                       .needs_books =
                                           plugin->options.needs_pod_resources &&
                                           *plugin->options.pod_resources != '\0',
                                       .timeout_ms = plugin->options.allocate_timeout_ms};

    name_endpoint(plugin);
    plugin->allocate = allocate_new(&allocate);
    plugin->service =
        plugin->allocate != NULL
            ? service_new(&plugin->settings, plugin->allocate, plugin->checks,
                          plugin->options.allocate_timeout_ms)
            : NULL;
    if (plugin->service == NULL) {
        return false;
    }
    plugin->health = health_new(plugin->base, &plugin->settings, devices_changed, plugin);
    config.endpoint = plugin->options.endpoint;
    config.has_pre_start = service_wants_pre_start(plugin->service);
    config.service = service_methods(plugin->service);
    config.data = plugin->service;
    plugin->registration = registration_new(&config);
    return plugin->health != NULL && plugin->registration != NULL;
}

static bool start(struct plugin *plugin, char *text, size_t size)
{
    struct hami_error error = HAMI_ERROR_INIT;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)snprintf(text, size, "out of memory or file descriptors");
    plugin->base = event_base_new();
    plugin->mailbox =
        plugin->base != NULL ? hamid_mailbox_new(plugin->base, NULL, NULL) : NULL;
    if (plugin->mailbox == NULL || !add_signals(plugin)) {
        return false;
    }
    if (!plugin->options.without_handshake &&
        (!open_cluster(plugin, &error) || !open_books(plugin))) {
        if (error.text[0] != '\0') {
            (void)snprintf(text, size, "%s", error.text);
        }
        return false;
    }
    return open_kubelet(plugin);
}

static void say_hello(const struct plugin *plugin)
{
    char count[24];

    hamid_log_info(0, "Starting hami-device-plugin " HAMI_VERSION_STRING, "node",
                   plugin->options.node, "resource", plugin->settings.resource, "devices",
                   hamid_log_number(count, plugin->settings.device_count), "lockKey",
                   plugin->handshake != NULL ? plugin->options.key : NULL, "server",
                   plugin->client != NULL ? hami_kubernetes_server(plugin->client) : NULL,
                   NULL);
}

static int show(const struct plugin *plugin)
{
    char *text = node_register_text(&plugin->settings);

    if (text == NULL) {
        return 1;
    }
    (void)printf("%s: %s\n",
                 plugin->settings.register_key != NULL ? plugin->settings.register_key
                                                       : plugin->settings.resource,
                 text);
    free(text);
    return 0;
}

static int run(struct plugin *plugin)
{
    char error[640] = "";
    int status = 1;

    hamid_log_setup((unsigned)plugin->options.verbosity, plugin->options.log_json);
    if (!plugin_settings_read(plugin->options.devices, &plugin->settings, error,
                              sizeof(error))) {
        (void)fprintf(stderr, "hami-device-plugin: %s\n", error);
        return 2;
    }
    if (plugin->options.check_only) {
        status = show(plugin);
        plugin_settings_done(&plugin->settings);
        return status;
    }
    if (start(plugin, error, sizeof(error))) {
        say_hello(plugin);
        status = event_base_dispatch(plugin->base) < 0 ? 1 : 0;
    } else {
        hamid_log_error("Could not start", "err", error, NULL);
    }
    stop(plugin);
    if (status == 0) {
        hamid_log_info(0, "Stopped", NULL);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct plugin *plugin = calloc(1, sizeof(*plugin));
    int status = 2;

    if (plugin == NULL) {
        return 1;
    }
    switch (plugin_options_read(argc - 1, argv + 1, &plugin->options)) {
    case HAMID_FLAGS_HELP:
        status = 0;
        break;
    case HAMID_FLAGS_WRONG:
        break;
    case HAMID_FLAGS_OK:
        status = run(plugin);
        break;
    }
    free(plugin);
    return status;
}
