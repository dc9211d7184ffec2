/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HAMi's annotations on the Node object. They are written again and again, one write at a
 * time: the handshake because HAMi takes a node without a fresh one for dead, the
 * register because a Node object can be made anew without it. A write that changes
 * nothing costs the server nothing. Whatever value the handshake had is written over
 * (HAMi's own words for a node that was away, such as "Deleted_", must not keep it out).
 *
 * The node's other annotations are not touched: a merge patch names only ours.
 */
#include "node_register.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>
#include <jansson.h>

#include "log.h"
#include "mailbox.h"

#define PAUSE_FIRST_MS 250
#define ACCEPT_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

struct node_register {
    struct hamid_letter letter; /* first */
    struct hamid_mailbox *mailbox;
    hami_kubernetes *client;
    const char *node;
    const struct plugin_settings *settings;
    struct event *timer;
    uint64_t period_ms, pause_ms;
    bool is_pending, is_outdated, is_stopped, was_written;
    int code, status;
    char text[256];
};

/* ---- values ------------------------------------------------------------------------ */

static json_t *device_json(const struct plugin_settings *settings, size_t index)
{
    const struct plugin_device *device = &settings->devices[index];

    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:s, s:b}", "id", device->uuid,
                     "index", (int)index, "count", (int)device->shares, "devmem",
                     (int)device->memory_mib, "devcore", (int)device->cores, "type",
                     device->type, "numa",
                     device->numa == PLUGIN_NO_NUMA ? 0 : device->numa, "mode",
                     settings->mode, "health", device->is_healthy);
}

static char *register_json(const struct plugin_settings *settings)
{
    json_t *list = json_array();
    char *text = NULL;
    bool is_whole = list != NULL;

    for (size_t i = 0; i < settings->device_count && is_whole; i++) {
        is_whole = json_array_append_new(list, device_json(settings, i)) == 0;
    }
    if (is_whole) {
        text = json_dumps(list, JSON_COMPACT);
    }
    json_decref(list);
    return text;
}

/* The older form: nine fields a device, a colon behind each. */
static char *register_records(const struct plugin_settings *settings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < settings->device_count; i++) {
        const struct plugin_device *device = &settings->devices[i];

        (void)fprintf(out, "%s,%u,%u,%u,%s,%d,%s,%zu,%s:", device->uuid,
                      (unsigned)device->shares, (unsigned)device->memory_mib,
                      (unsigned)device->cores, device->type,
                      device->numa == PLUGIN_NO_NUMA ? 0 : (int)device->numa,
                      device->is_healthy ? "true" : "false", i, settings->mode);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *node_register_text(const struct plugin_settings *settings)
{
    return settings->is_register_json ? register_json(settings)
                                      : register_records(settings);
}

/* The patch; to be freed. */
static char *make_patch(const struct plugin_settings *settings)
{
    json_t *annotations = json_object();
    char *value = settings->register_key != NULL ? node_register_text(settings) : NULL;
    char handshake[64];
    time_t now = time(NULL);
    struct tm parts;
    char *text = NULL;

    if (value != NULL) {
        (void)json_object_set_new(annotations, settings->register_key,
                                  json_string(value));
    }
    if (settings->handshake_key != NULL && localtime_r(&now, &parts) != NULL) {
        (void)strftime(handshake, sizeof(handshake), "Reported_%Y.%m.%d %H:%M:%S",
                       &parts);
        (void)json_object_set_new(annotations, settings->handshake_key,
                                  json_string(handshake));
    }
    free(value);
    json_t *patch = json_pack("{s:{s:o}}", "metadata", "annotations", annotations);
    if (patch != NULL) {
        text = json_dumps(patch, JSON_COMPACT);
    }
    json_decref(patch);
    return text;
}

/* ---- writing ----------------------------------------------------------------------- */

static void write_after(struct node_register *one, uint64_t milliseconds)
{
    struct timeval after = {(time_t)(milliseconds / 1000),
                            (suseconds_t)(milliseconds % 1000 * 1000)};

    if (!one->is_stopped) {
        (void)event_add(one->timer, &after);
    }
}

/* On the client's thread. */
static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct node_register *one = data;

    one->code = answer->code;
    one->status = answer->status;
    (void)snprintf(one->text, sizeof(one->text), "%s", answer->text);
    hamid_mailbox_post(one->mailbox, &one->letter);
}

static void answer_opened(struct hamid_letter *letter)
{
    struct node_register *one = (struct node_register *)letter;
    char status[24];

    one->is_pending = false;
    if (one->code == 0 && one->status == 200) {
        if (!one->was_written) {
            one->was_written = true;
            hamid_log_info(0, "The Node object names the devices", "node", one->node,
                           "annotation", one->settings->register_key, NULL);
        }
        one->pause_ms = PAUSE_FIRST_MS;
        write_after(one, one->is_outdated ? 0 : one->period_ms);
        return;
    }
    hamid_log_warning(
        "Could not write to the Node object, trying again", "node", one->node, "code",
        one->code != 0 ? hami_errname(one->code) : NULL, "status",
        one->status != 0 ? hamid_log_number(status, (uint64_t)one->status) : NULL, "err",
        one->text[0] != '\0' ? one->text : NULL, NULL);
    write_after(one, one->pause_ms);
    one->pause_ms =
        one->pause_ms * 2 < one->period_ms ? one->pause_ms * 2 : one->period_ms;
}

static void write_due(evutil_socket_t fd, short what, void *data)
{
    struct node_register *one = data;
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char path[320];
    char *body = make_patch(one->settings);

    (void)fd;
    (void)what;
    (void)snprintf(path, sizeof(path), "/api/v1/nodes/%s", one->node);
    request.method = HAMI_KUBERNETES_PATCH;
    request.path = path;
    request.accept = ACCEPT_METADATA;
    request.content_type = "application/merge-patch+json";
    request.body = body;
    request.body_length = body != NULL ? strlen(body) : 0;
    one->is_outdated = false;
    one->is_pending = body != NULL && hami_kubernetes_request_start(one->client, &request,
                                                                    answered, one) == 0;
    if (!one->is_pending) {
        write_after(one, one->pause_ms);
    }
    free(body);
}

/* ---- public ------------------------------------------------------------------------ */

struct node_register *node_register_new(struct event_base *base,
                                        struct hamid_mailbox *mailbox,
                                        hami_kubernetes *client, const char *node,
                                        const struct plugin_settings *settings,
                                        uint64_t period_ms)
{
    struct node_register *one = calloc(1, sizeof(*one));

    if (one == NULL) {
        return NULL;
    }
    one->letter.open = answer_opened;
    one->mailbox = mailbox;
    one->client = client;
    one->node = node;
    one->settings = settings;
    one->period_ms = period_ms;
    one->pause_ms = PAUSE_FIRST_MS;
    one->timer = event_new(base, -1, 0, write_due, one);
    if (one->timer == NULL) {
        free(one);
        return NULL;
    }
    if (settings->register_key != NULL || settings->handshake_key != NULL) {
        write_after(one, 0);
    }
    return one;
}

void node_register_changed(struct node_register *one)
{
    if (one->is_pending) {
        one->is_outdated = true;
    } else if (one->settings->register_key != NULL) {
        write_after(one, 0);
    }
}

void node_register_stop(struct node_register *one)
{
    one->is_stopped = true;
    (void)event_del(one->timer);
}

bool node_register_is_pending(const struct node_register *one)
{
    return one->is_pending;
}

struct node_register *node_register_free(struct node_register *one)
{
    if (one != NULL) {
        event_free(one->timer);
        free(one);
    }
    return NULL;
}
