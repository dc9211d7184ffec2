/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of a list, for servers that do not stream it. A list that fails on the way begins
 * again: only all pages of one version are the truth. Lock: see watch_loop.h.
 */
#include "watch_loop.h"

#include <stdio.h>

#include "object.h"
#include "paths.h"
#include "support.h"

#define PAGE_SIZE 500
#define PAGE_TIMEOUT_MS 30000u

static bool read_page(struct hami_internal_watch *watch, const json_t *list)
{
    const json_t *items = json_object_get(list, "items");
    const char *version = hami_internal_object_metadata(list, "resourceVersion");
    size_t at;
    json_t *item;
    if (version == NULL ||
        (items != NULL && !json_is_array(items) && !json_is_null(items))) {
        return false;
    }
    if (watch->token == NULL) {
        watch->sink.list_begins(watch->sink.data);
    }
    json_array_foreach(items, at, item)
    {
        watch->sink.changed(watch->sink.data, item);
    }
    hami_internal_watch_replace(&watch->token,
                                hami_internal_object_metadata(list, "continue"));
    if (watch->token == NULL) {
        watch->sink.list_complete(watch->sink.data);
        hami_internal_watch_replace(&watch->version, version);
        hami_internal_watch_set_synced(watch, true, false);
    }
    return true;
}

static void page_answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_watch *watch = data;
    json_t *list = NULL;
    hami_internal_watch_enter(watch);
    if (answer->code == 0 && answer->status == 200 &&
        !hami_internal_watch_is_over(watch)) {
        list = hami_internal_object_parse(answer->body, answer->body_length);
    }
    if (hami_internal_watch_is_over(watch) || (list != NULL && read_page(watch, list))) {
        hami_internal_watch_turn(watch);
    } else {
        hami_internal_watch_replace(&watch->token, NULL);
        watch->reason[0] = '\0';
        hami_internal_watch_pause_after_failure(watch, answer);
    }
    json_decref(list);
    hami_internal_watch_leave(watch);
}

int hami_internal_watch_ask_page(struct hami_internal_watch *watch)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    struct hami_internal_text path = {0};
    char token[4096] = "";
    if (watch->token != NULL &&
        !hami_internal_paths_escape(watch->token, token, sizeof(token))) {
        /* Not a token that a server of ours would give: begin again without. */
        hami_internal_watch_replace(&watch->token, NULL);
        token[0] = '\0';
    }
    hami_internal_text_format(&path, "%s?limit=%d%s%s%s%s", watch->path, PAGE_SIZE,
                              watch->selector[0] != '\0' ? "&fieldSelector=" : "",
                              watch->selector, token[0] != '\0' ? "&continue=" : "",
                              token);
    request.path = path.text;
    request.accept = watch->whole ? NULL : HAMI_INTERNAL_OBJECT_METADATA_LIST;
    request.deadline_ns = hami_kubernetes_in_ms(PAGE_TIMEOUT_MS);
    int code = path.failed ? HAMI_E_NOMEM : 0;
    pthread_mutex_lock(&watch->mutex);
    if (code == 0 && !watch->stopped) {
        code = hami_internal_http_request_start(watch->client, &request, page_answered,
                                                watch, &watch->request);
        watch->activity =
            code == 0 ? HAMI_INTERNAL_WATCH_PAGE : HAMI_INTERNAL_WATCH_NOTHING;
    }
    pthread_mutex_unlock(&watch->mutex);
    hami_internal_text_done(&path);
    return code;
}
