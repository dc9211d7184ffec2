/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* List, then watch from its version; whenever the watch ends, for any reason, again. */
#include "watch.h"

#include <stdio.h>
#include <string.h>

#include "duration.h"

static const long list_timeout_ms = 30000;

static void watch_line(void *data, const char *line)
{
    struct watch *watch = data;
    json_t *event = json_loads(line, 0, NULL);
    json_t *type = json_object_get(event, "type");
    json_t *object = json_object_get(event, "object");
    const char *word = json_is_string(type) ? json_string_value(type) : "";
    if (strcmp(word, "ADDED") == 0 || strcmp(word, "MODIFIED") == 0 ||
        strcmp(word, "DELETED") == 0) {
        watch->note(watch->data, object, strcmp(word, "DELETED") == 0);
    }
    json_decref(event);
}

/* For whatever reason a watch ended: the next list tells all that was missed. */
static void watch_ended(void *data, const struct answer *answer)
{
    struct watch *watch = data;
    (void)answer;
    watch->is_open = false;
    watch->due_ms = duration_now_ms() + 100;
}

static void listed(void *data, const struct answer *answer)
{
    struct watch *watch = data;
    json_t *body = answer->status == 200 ? json_loads(answer->body, 0, NULL) : NULL;
    json_t *version =
        json_object_get(json_object_get(body, "metadata"), "resourceVersion");
    json_t *item;
    size_t index;
    char url[256];
    if (!json_is_string(version)) {
        fprintf(stderr, "list of %s: %d %s\n", watch->path, answer->status,
                answer->problem);
        watch_ended(watch, answer);
        json_decref(body);
        return;
    }
    json_array_foreach(json_object_get(body, "items"), index, item)
    {
        watch->note(watch->data, item, false);
    }
    snprintf(url, sizeof(url), "%s?watch=1&allowWatchBookmarks=true&resourceVersion=%s",
             watch->path, json_string_value(version));
    json_decref(body);
    struct request request = {.method = "GET",
                              .url = url,
                              .line = watch_line,
                              .done = watch_ended,
                              .data = watch};
    if (requests_send(watch->requests, &request) < 0) {
        watch_ended(watch, answer);
    }
}

void watch_keep_open(struct watch *watch, int64_t now_ms)
{
    struct request request = {.method = "GET",
                              .url = watch->path,
                              .timeout_ms = list_timeout_ms,
                              .done = listed,
                              .data = watch};
    if (watch->is_open || watch->due_ms > now_ms) {
        return;
    }
    watch->is_open = true;
    if (requests_send(watch->requests, &request) < 0) {
        watch_ended(watch, NULL);
    }
}
