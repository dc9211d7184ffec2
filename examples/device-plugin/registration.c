/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubelet that starts empties the plugin folder, our socket included, then makes its
 * own socket, then expects everybody to register. So the folder is watched: when the
 * kubelet's socket appears, or ours disappears, ours is made anew and registered.
 *
 * Watches can miss things (the folder itself made anew, a queue that ran over), so every
 * LOOK_MS it is looked whether our socket stands and the kubelet listens to our devices;
 * a kubelet that has not done so for DEAF_MS is registered with again.
 */
#include "registration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include <hami/kubernetes.h>

#include "log.h"

#define REGISTER_MS 5000 /* for one answer of the kubelet */
#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 2000
#define LOOK_MS 1000
#define DEAF_MS 10000

struct registration {
    struct registration_config config;
    char kubelet_path[512], our_path[512];
    struct hamid_grpc_server *server;
    dev_t device; /* of our socket */
    ino_t inode;
    struct hamid_grpc_client *kubelet;
    struct hamid_kubelet_request *request;
    struct event *timer; /* the next try */
    struct event *look;
    struct event *changes; /* of the folder */
    int watch_fd, watch;
    unsigned pause_ms;
    bool is_done, is_stopped;
    uint64_t heard_ms; /* when the kubelet was last seen to listen, or registered */
};

static void try_after(struct registration *registration, unsigned milliseconds)
{
    struct timeval after = {milliseconds / 1000, (milliseconds % 1000) * 1000};

    if (!registration->is_stopped) {
        (void)event_add(registration->timer, &after);
    }
}

static uint64_t now_ms(void)
{
    return hami_kubernetes_now() / 1000000;
}

/* ---- our socket -------------------------------------------------------------------- */

static bool is_ours_there(const struct registration *registration)
{
    struct stat status;

    return registration->server != NULL && lstat(registration->our_path, &status) == 0 &&
           status.st_dev == registration->device && status.st_ino == registration->inode;
}

/* A socket that was unlinked can't be reached any more: a new one takes its place. Calls
 * on connections of the old one end; their kubelet is gone or about to register us anew.
 */
static bool open_socket(struct registration *registration)
{
    struct hamid_grpc_server_config config = {.methods = hamid_kubelet_plugin_methods,
                                              .data =
                                                  (void *)registration->config.service};
    char error[512] = "out of memory";
    struct stat status;

    registration->server = hamid_grpc_server_free(registration->server);
    registration->server = hamid_grpc_server_new(registration->config.base, &config);
    if (registration->server == NULL ||
        hamid_grpc_server_listen(registration->server, registration->our_path, 0600,
                                 error, sizeof(error)) != 0 ||
        lstat(registration->our_path, &status) != 0) {
        hamid_log_warning("Could not make the plugin's socket, trying again", "err",
                          error, NULL);
        registration->server = hamid_grpc_server_free(registration->server);
        return false;
    }
    registration->device = status.st_dev;
    registration->inode = status.st_ino;
    return true;
}

/* ---- registering ------------------------------------------------------------------- */

static void again(struct registration *registration)
{
    try_after(registration, registration->pause_ms);
    registration->pause_ms = registration->pause_ms * 2 < PAUSE_MAX_MS
                                 ? registration->pause_ms * 2
                                 : PAUSE_MAX_MS;
}

static void registered(void *data, const ProtobufCMessage *answer,
                       const struct hamid_grpc_status *status)
{
    struct registration *registration = data;

    (void)answer;
    registration->request = NULL;
    if (status->code == HAMID_GRPC_OK) {
        registration->is_done = true;
        registration->heard_ms = now_ms();
        registration->pause_ms = PAUSE_FIRST_MS;
        hamid_log_info(0, "Registered with the kubelet", "resource",
                       registration->config.resource, "endpoint", registration->our_path,
                       NULL);
        return;
    }
    hamid_log_info(registration->pause_ms < PAUSE_MAX_MS ? 3 : 2,
                   "The kubelet does not answer, trying again", "code",
                   hamid_grpc_code_name(status->code), "err", status->text, NULL);
    again(registration);
}

static void try_now(evutil_socket_t fd, short what, void *data)
{
    struct registration *registration = data;
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
    V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;

    (void)fd;
    (void)what;
    if (registration->request != NULL) {
        return;
    }
    if (!is_ours_there(registration) && !open_socket(registration)) {
        again(registration);
        return;
    }
    options.pre_start_required = registration->config.has_pre_start;
    options.get_preferred_allocation_available = true;
    request.version = (char *)HAMID_KUBELET_VERSION;
    request.endpoint = (char *)registration->config.endpoint;
    request.resource_name = (char *)registration->config.resource;
    request.options = &options;
    registration->request = hamid_kubelet_register(registration->kubelet, &request,
                                                   REGISTER_MS, registered, registration);
    if (registration->request == NULL) {
        again(registration);
    }
}

/* Begins anew, at once. */
static void start_over(struct registration *registration, const char *why)
{
    if (registration->is_stopped) {
        return;
    }
    if (registration->is_done) {
        hamid_log_info(1, "Registering again", "reason", why, NULL);
    }
    if (registration->request != NULL) {
        hamid_kubelet_request_cancel(registration->request);
        registration->request = NULL;
    }
    registration->is_done = false;
    registration->pause_ms = PAUSE_FIRST_MS;
    event_active(registration->timer, EV_TIMEOUT, 0);
}

/* ---- the folder -------------------------------------------------------------------- */

static void folder_changed(evutil_socket_t fd, short what, void *data)
{
    struct registration *registration = data;
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool has_kubelet = false;
    ssize_t length = read(fd, buffer, sizeof(buffer));

    (void)what;
    for (; length > 0; length = read(fd, buffer, sizeof(buffer))) {
        const struct inotify_event *event;

        for (char *at = buffer; at < buffer + length; at += sizeof(*event) + event->len) {
            event = (const struct inotify_event *)at;
            if ((event->mask & (IN_CREATE | IN_MOVED_TO)) != 0 && event->len > 0 &&
                strcmp(event->name, HAMID_KUBELET_SOCKET_NAME) == 0) {
                has_kubelet = true;
            }
            if ((event->mask & IN_IGNORED) != 0) {
                registration->watch = -1; /* the folder has gone */
            }
        }
    }
    if (has_kubelet) {
        start_over(registration, "the kubelet has started");
    } else if (!is_ours_there(registration)) {
        start_over(registration, "the plugin's socket was removed");
    }
}

static void watch_folder(struct registration *registration)
{
    if (registration->watch < 0 && registration->watch_fd >= 0) {
        registration->watch =
            inotify_add_watch(registration->watch_fd, registration->config.folder,
                              IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM);
    }
}

static void look(evutil_socket_t fd, short what, void *data)
{
    struct registration *registration = data;
    uint64_t now = now_ms();

    (void)fd;
    (void)what;
    watch_folder(registration);
    if (registration->config.streams(registration->config.data) > 0) {
        registration->heard_ms = now;
    }
    if (!is_ours_there(registration)) {
        start_over(registration, "the plugin's socket was removed");
    } else if (registration->is_done && now - registration->heard_ms > DEAF_MS) {
        start_over(registration, "the kubelet does not listen to the devices");
    }
}

/* ---- public ------------------------------------------------------------------------ */

static bool open_parts(struct registration *registration)
{
    struct event_base *base = registration->config.base;
    struct hamid_grpc_client_config kubelet = {.path = registration->kubelet_path};
    struct timeval often = {LOOK_MS / 1000, (LOOK_MS % 1000) * 1000};

    registration->watch = -1;
    registration->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    registration->kubelet = hamid_grpc_client_new(base, &kubelet);
    registration->timer = event_new(base, -1, 0, try_now, registration);
    registration->look = event_new(base, -1, EV_PERSIST, look, registration);
    if (registration->watch_fd >= 0) {
        registration->changes =
            event_new(base, registration->watch_fd, EV_READ | EV_PERSIST, folder_changed,
                      registration);
    }
    return registration->kubelet != NULL && registration->timer != NULL &&
           registration->look != NULL &&
           (registration->changes == NULL ||
            event_add(registration->changes, NULL) == 0) &&
           event_add(registration->look, &often) == 0;
}

struct registration *registration_new(const struct registration_config *config)
{
    struct registration *registration = calloc(1, sizeof(*registration));

    if (registration == NULL) {
        return NULL;
    }
    registration->config = *config;
    registration->watch_fd = -1;
    registration->pause_ms = PAUSE_FIRST_MS;
    (void)snprintf(registration->kubelet_path, sizeof(registration->kubelet_path),
                   "%s/%s", config->folder, HAMID_KUBELET_SOCKET_NAME);
    (void)snprintf(registration->our_path, sizeof(registration->our_path), "%s/%s",
                   config->folder, config->endpoint);
    if (!open_parts(registration)) {
        return registration_free(registration);
    }
    watch_folder(registration);
    event_active(registration->timer, EV_TIMEOUT, 0);
    return registration;
}

void registration_stop(struct registration *registration)
{
    registration->is_stopped = true;
    (void)event_del(registration->timer);
    (void)event_del(registration->look);
    if (registration->request != NULL) {
        hamid_kubelet_request_cancel(registration->request);
        registration->request = NULL;
    }
    if (registration->server != NULL) {
        hamid_grpc_server_stop(registration->server);
    }
}

struct registration *registration_free(struct registration *registration)
{
    if (registration == NULL) {
        return NULL;
    }
    struct event *events[3] = {registration->timer, registration->look,
                               registration->changes};

    if (registration->request != NULL) {
        hamid_kubelet_request_cancel(registration->request);
    }
    hamid_grpc_server_free(registration->server);
    hamid_grpc_client_free(registration->kubelet);
    for (size_t i = 0; i < 3; i++) {
        if (events[i] != NULL) {
            event_free(events[i]);
        }
    }
    if (registration->watch_fd >= 0) {
        (void)close(registration->watch_fd);
    }
    free(registration);
    return NULL;
}
