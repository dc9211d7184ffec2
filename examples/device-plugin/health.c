/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health by files. The folders of the files are watched, so that a file may come and go.
 * A folder that is not there can't be watched: every LOOK_MS watches are completed and
 * all files looked at, which also finds what a watch that ran over has missed.
 */
#include "health.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "log.h"

#define LOOK_MS 5000
#define SETTLE_MS 20 /* several changes at once are looked at once */
#define WATCHES_MAX 256
#define WORD "unhealthy"

struct folder {
    char *path;
    int watch; /* -1: not watched */
};

struct health {
    struct plugin_settings *settings;
    void (*changed)(void *data);
    void *data;
    struct event *changes, *settle, *look;
    int fd;
    struct folder folders[WATCHES_MAX];
    size_t folder_count;
};

/* ---- one file ---------------------------------------------------------------------- */

/* Character devices are only looked for: opening one may do something to it. */
static bool is_healthy(const char *path)
{
    char word[sizeof(WORD)] = "";
    struct stat status;

    if (stat(path, &status) != 0) {
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        return true;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, word, sizeof(word) - 1);
    (void)close(fd);
    return length >= 0 && strcmp(word, WORD) != 0;
}

static void look_at_all(struct health *health, bool is_first)
{
    bool has_changed = false;

    for (size_t i = 0; i < health->settings->device_count; i++) {
        struct plugin_device *device = &health->settings->devices[i];
        bool now = device->health_file == NULL || is_healthy(device->health_file);

        if (now == device->is_healthy) {
            continue;
        }
        device->is_healthy = now;
        has_changed = true;
        hamid_log_info(0, now ? "A device is healthy again" : "A device is not healthy",
                       "device", device->uuid, "file", device->health_file, NULL);
    }
    if (has_changed && !is_first) {
        health->changed(health->data);
    }
}

/* ---- watches ----------------------------------------------------------------------- */

static void watch_all(struct health *health)
{
    for (size_t i = 0; i < health->folder_count; i++) {
        struct folder *folder = &health->folders[i];

        if (folder->watch < 0) {
            folder->watch = inotify_add_watch(health->fd, folder->path,
                                              IN_CREATE | IN_DELETE | IN_MOVE |
                                                  IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB);
        }
    }
}

static void forget_watch(struct health *health, int watch)
{
    for (size_t i = 0; i < health->folder_count; i++) {
        if (health->folders[i].watch == watch) {
            health->folders[i].watch = -1;
        }
    }
}

static void something_changed(evutil_socket_t fd, short what, void *data)
{
    struct health *health = data;
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct timeval settle = {0, SETTLE_MS * 1000};
    ssize_t length = read(fd, buffer, sizeof(buffer));

    (void)what;
    for (; length > 0; length = read(fd, buffer, sizeof(buffer))) {
        const struct inotify_event *event;

        for (char *at = buffer; at < buffer + length; at += sizeof(*event) + event->len) {
            event = (const struct inotify_event *)at;
            if ((event->mask & IN_IGNORED) != 0) {
                forget_watch(health, event->wd);
            }
        }
    }
    if (!event_pending(health->settle, EV_TIMEOUT, NULL)) {
        (void)event_add(health->settle, &settle);
    }
}

static void look(evutil_socket_t fd, short what, void *data)
{
    struct health *health = data;

    (void)fd;
    (void)what;
    watch_all(health);
    look_at_all(health, false);
}

/* The folder of a file, once. Beyond WATCHES_MAX folders the regular look must do. */
static bool add_folder(struct health *health, const char *file)
{
    const char *slash = strrchr(file, '/');
    size_t length = slash == NULL ? 0 : slash == file ? 1 : (size_t)(slash - file);
    char *path = slash == NULL ? strdup(".") : strndup(file, length);

    if (path == NULL) {
        return false;
    }
    for (size_t i = 0; i < health->folder_count; i++) {
        if (strcmp(health->folders[i].path, path) == 0) {
            free(path);
            return true;
        }
    }
    if (health->folder_count == WATCHES_MAX) {
        free(path);
        return true;
    }
    health->folders[health->folder_count++] = (struct folder){path, -1};
    return true;
}

/* ---- public ------------------------------------------------------------------------ */

struct health *health_new(struct event_base *base, struct plugin_settings *settings,
                          void (*changed)(void *data), void *data)
{
    struct health *health = calloc(1, sizeof(*health));
    struct timeval often = {LOOK_MS / 1000, (LOOK_MS % 1000) * 1000};
    bool is_whole = true;

    if (health == NULL) {
        return NULL;
    }
    health->settings = settings;
    health->changed = changed;
    health->data = data;
    health->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    health->settle = event_new(base, -1, 0, look, health);
    health->look = event_new(base, -1, EV_PERSIST, look, health);
    if (health->fd >= 0) {
        health->changes =
            event_new(base, health->fd, EV_READ | EV_PERSIST, something_changed, health);
    }
    for (size_t i = 0; i < settings->device_count && is_whole; i++) {
        if (settings->devices[i].health_file != NULL) {
            is_whole = add_folder(health, settings->devices[i].health_file);
        }
    }
    if (!is_whole || health->settle == NULL || health->look == NULL ||
        health->changes == NULL || event_add(health->changes, NULL) != 0 ||
        event_add(health->look, &often) != 0) {
        return health_free(health);
    }
    watch_all(health);
    look_at_all(health, true);
    return health;
}

struct health *health_free(struct health *health)
{
    if (health == NULL) {
        return NULL;
    }
    struct event *events[3] = {health->changes, health->settle, health->look};

    for (size_t i = 0; i < 3; i++) {
        if (events[i] != NULL) {
            event_free(events[i]);
        }
    }
    for (size_t i = 0; i < health->folder_count; i++) {
        free(health->folders[i].path);
    }
    if (health->fd >= 0) {
        (void)close(health->fd);
    }
    free(health);
    return NULL;
}
