/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom an Allocate is for: two consistent reads, begun after the question was asked and
 * in parallel, then the verdict of handshake_verdict.c. Writes nothing. All but the start
 * runs on the client's thread, so that nothing here needs a lock.
 *
 * What was read is read again where it may be older than the end of a refusal, and where
 * nobody but a refused pod makes it unclear who calls: until the kubelet says that this
 * one Failed, or the time is up.
 */
#include "handshake_begin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "paths.h"
#include "status.h"
#include "support.h"

#define READ_TRIES_MAX 3
#define KUBELET_PAUSE_MS 50 /* between looks for a kubelet's word */

/* ---- the kubelet's books
 * ----------------------------------------------------------------------- */

static void begin_free(struct hami_internal_handshake_begin *begin)
{
    for (size_t i = 0; i < begin->books.count; i++) {
        const struct hami_handshake_holding *holding = &begin->books.holdings[i];

        free((char *)holding->namespace_name);
        free((char *)holding->pod);
        free((char *)holding->container);
    }
    free((struct hami_handshake_holding *)begin->books.holdings);
    free(begin);
}

/* Copies the rows of the call's resource. */
static int copy_books(struct hami_internal_handshake_begin *begin,
                      const struct hami_handshake_call *call)
{
    const char *resource = begin->handshake->vendors[begin->vendor].resource;
    struct hami_handshake_holding *rows = calloc(call->holding_count + 1, sizeof(*rows));

    begin->has_books = true;
    begin->books.holdings = rows;
    if (rows == NULL) {
        return HAMI_E_NOMEM;
    }
    for (size_t i = 0; i < call->holding_count; i++) {
        const struct hami_handshake_holding *from = &call->holdings[i];
        struct hami_handshake_holding *row = &rows[begin->books.count];

        if (from->namespace_name == NULL || from->pod == NULL ||
            from->container == NULL || from->resource == NULL) {
            return HAMI_E_INVAL;
        }
        if (strcmp(from->resource, resource) != 0) {
            continue;
        }
        begin->books.count++;
        row->resource = resource;
        row->namespace_name = strdup(from->namespace_name);
        row->pod = strdup(from->pod);
        row->container = strdup(from->container);
        if (row->namespace_name == NULL || row->pod == NULL || row->container == NULL) {
            return HAMI_E_NOMEM;
        }
    }
    return 0;
}

static void count_end(hami_handshake *handshake, int code)
{
    struct hami_handshake_stats *stats = &handshake->stats;
    uint64_t *counter = NULL;

    switch (code) {
    case 0:
        counter = &stats->begun;
        break;
    case HAMI_E_LOST:
        counter = &stats->nobody;
        break;
    case HAMI_E_BUSY:
        counter = &stats->several;
        break;
    case HAMI_E_HELD:
        counter = &stats->held;
        break;
    case HAMI_E_LIMIT:
    case HAMI_E_PROTO:
        counter = &stats->misfits;
        break;
    default:
        return;
    }
    hami_internal_handshake_count(handshake, counter);
}

static void reads_start(void *data, int code);

/*
 * A refusal that ended while this call was reading may have begun before its reads: they
 * tell of a pod that waits and of a lock that is gone by now. So both are read once more.
 */
static bool must_read_again(struct hami_internal_handshake_begin *begin)
{
    return begin->handshake->refusals != begin->refusals;
}

/* Forgets what was read, and reads it anew. False: no memory for that, all is as before. */
static bool read_again(struct hami_internal_handshake_begin *begin, uint64_t pause_ms)
{
    struct hami_internal_handshake_read
        *pods = &begin->reads[HAMI_INTERNAL_HANDSHAKE_READ_PODS],
        *node = &begin->reads[HAMI_INTERNAL_HANDSHAKE_READ_NODE];

    if (hami_internal_http_timer_start(begin->handshake->client, pause_ms, reads_start,
                                       begin, &begin->timer) < 0) {
        return false;
    }
    json_decref(pods->object);
    json_decref(node->object);
    return true;
}

/* Tells the end and frees everything, unless all has to be read again. */
static void conclude(struct hami_internal_handshake_begin *begin, int code,
                     const char *text)
{
    struct hami_error error = HAMI_ERROR_INIT;
    struct hami_handshake_job *job = NULL;
    char detail[1024] = "";

    for (size_t i = 0; i < HAMI_INTERNAL_HANDSHAKE_READ_COUNT && code == 0; i++) {
        code = begin->reads[i].code;
        text = begin->reads[i].text;
    }
    if (code == HAMI_E_TIMEDOUT && begin->waits_for_kubelet) {
        code = HAMI_E_BUSY;
        text =
            "a pod that was refused its devices may be the caller, too: the kubelet has "
            "not said that it Failed";
    }
    if (code == 0 && must_read_again(begin)) {
        if (read_again(begin, 0)) {
            return;
        }
        code = HAMI_E_NOMEM;
        text = "";
    }
    if (code == 0) {
        code = hami_internal_handshake_verdict(begin, &job, detail, sizeof(detail));
        text = detail;
    }
    if (code == HAMI_E_BUSY && begin->waits_for_kubelet &&
        hami_kubernetes_in_ms(KUBELET_PAUSE_MS) < begin->deadline_ns &&
        read_again(begin, KUBELET_PAUSE_MS)) {
        return;
    }
    /* Before the job is handed out: its thread may let go of the same pod. */
    json_decref(begin->reads[HAMI_INTERNAL_HANDSHAKE_READ_PODS].object);
    json_decref(begin->reads[HAMI_INTERNAL_HANDSHAKE_READ_NODE].object);
    count_end(begin->handshake, code);
    if (code == 0) {
        hami_internal_handshake_note_unusual(job);
        begin->callback(begin->data, 0, job, NULL);
    } else {
        (void)hami_internal_support_fail(&error, code, "%s",
                                         *text != '\0' ? text : hami_strerror(code));
        begin->callback(begin->data, code, NULL, &error);
    }
    begin_free(begin);
}

/* ---- the reads
 * --------------------------------------------------------------------------------- */

static void read_answered(void *data, const struct hami_kubernetes_answer *answer);

static int read_start(struct hami_internal_handshake_read *read)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    hami_handshake *handshake = read->begin->handshake;
    char path[HAMI_INTERNAL_PATHS_MAX];

    read->tries++;
    if (read->is_node) {
        request.accept = HAMI_INTERNAL_OBJECT_METADATA_ONLY;
        (void)hami_internal_paths_node_path(handshake->node, path, sizeof(path));
    } else {
        /* No resourceVersion: only such a list is served by the store itself. */
        (void)snprintf(
            path, sizeof(path),
            "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s%%2Cstatus.phase%%3DPending",
            handshake->node);
    }
    request.path = path;
    request.deadline_ns = read->begin->deadline_ns;
    return hami_internal_http_request_start(handshake->client, &request, read_answered,
                                            read, NULL);
}

/* One read is over for good. */
static void read_end(struct hami_internal_handshake_read *read, int code,
                     const char *text)
{
    struct hami_internal_handshake_begin *begin = read->begin;

    read->code = code;
    (void)snprintf(read->text, sizeof(read->text), "%s of node %s could not be read: %s",
                   read->is_node ? "the lock" : "the pods", begin->handshake->node, text);
    if (--begin->pending == 0) {
        conclude(begin, 0, "");
    }
}

static void read_answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_handshake_read *read = data;
    char text[256];
    int code = hami_internal_status_of_read(answer);

    if (code == 0) {
        read->object = hami_internal_object_parse(answer->body, answer->body_length);
        code = read->object != NULL ? 0 : HAMI_E_PROTO;
    } else if (code == HAMI_E_NODE && !read->is_node) {
        code = HAMI_E_PROTO;
    }
    if (code == HAMI_E_TRANSPORT && hami_kubernetes_now() >= read->begin->deadline_ns) {
        code = HAMI_E_TIMEDOUT;
    }
    if (code == HAMI_E_TRANSPORT && read->tries < READ_TRIES_MAX &&
        read_start(read) == 0) {
        return;
    }
    read_end(read, code, hami_internal_status_text(answer, text, sizeof(text)));
}

/* On the client's thread: sends both reads. */
static void reads_start(void *data, int code)
{
    struct hami_internal_handshake_begin *begin = data;

    if (code < 0) {
        memset(begin->reads, 0, sizeof(begin->reads));
        conclude(begin, HAMI_E_CLOSED, "the client is closed");
        return;
    }
    begin->pending = HAMI_INTERNAL_HANDSHAKE_READ_COUNT;
    begin->refusals = begin->handshake->refusals;
    memset(begin->reads, 0, sizeof(begin->reads));
    for (size_t i = 0; i < HAMI_INTERNAL_HANDSHAKE_READ_COUNT; i++) {
        struct hami_internal_handshake_read *read = &begin->reads[i];

        read->begin = begin;
        read->is_node = i == HAMI_INTERNAL_HANDSHAKE_READ_NODE;
        code = read_start(read);
        if (code < 0) {
            read_end(read, code,
                     hami_strerror(code)); /* with the last one, begin is gone */
        }
    }
}

static bool find_vendor(const hami_handshake *handshake, const char *resource,
                        size_t *ret)
{
    for (size_t i = 0; i < handshake->vendor_count; i++) {
        if (strcmp(handshake->vendors[i].resource, resource) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* Fills a call's numbers in; 0, or INVAL. */
static int fill_counts(struct hami_internal_handshake_begin *begin,
                       const struct hami_handshake_call *call)
{
    begin->count = call->container_count;
    for (size_t i = 0; i < call->container_count; i++) {
        begin->counts[i] = call->containers[i].id_count;
        if (begin->counts[i] == 0) {
            return HAMI_E_INVAL;
        }
    }
    return 0;
}

static bool is_sound(const struct hami_handshake_call *call)
{
    return call->resource != NULL && call->containers != NULL &&
           call->container_count > 0 &&
           call->container_count <= HAMI_INTERNAL_HANDSHAKE_CONTAINERS_MAX &&
           (call->holdings != NULL || call->holding_count == 0) &&
           (call->flags & ~HAMI_HANDSHAKE_BOOKS) == 0;
}

int hami_handshake_call_start(hami_handshake *handshake,
                              const struct hami_handshake_call *call,
                              hami_handshake_begun_fn callback, void *data)
{
    struct hami_handshake_call copy;
    struct hami_internal_handshake_begin *begin;
    size_t vendor;
    int code = hami_internal_support_copy_sized(&copy, sizeof(copy), call);

    if (code < 0) {
        return code;
    }
    if (handshake == NULL || callback == NULL || !is_sound(&copy) ||
        !find_vendor(handshake, copy.resource, &vendor)) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(handshake->client)) {
        return HAMI_E_FORKED;
    }
    begin = calloc(1, sizeof(*begin));
    if (begin == NULL) {
        return HAMI_E_NOMEM;
    }
    begin->handshake = handshake;
    begin->vendor = vendor;
    begin->deadline_ns = copy.deadline_ns;
    begin->callback = callback;
    begin->data = data;
    code = fill_counts(begin, &copy);
    if (code == 0 && (copy.flags & HAMI_HANDSHAKE_BOOKS) != 0) {
        code = copy_books(begin, &copy);
    }
    if (code == 0) {
        hami_internal_handshake_count(handshake, &handshake->stats.begins);
        code = hami_internal_http_timer_start(handshake->client, 0, reads_start, begin,
                                              &begin->timer);
    }
    if (code < 0) {
        begin_free(begin);
    }
    return code;
}

int hami_handshake_begin_start(hami_handshake *handshake, const char *resource,
                               const struct hami_handshake_container *containers,
                               size_t container_count, uint64_t deadline_ns,
                               hami_handshake_begun_fn callback, void *data)
{
    struct hami_handshake_call call = HAMI_HANDSHAKE_CALL_INIT;

    call.resource = resource;
    call.containers = containers;
    call.container_count = container_count;
    call.deadline_ns = deadline_ns;
    return hami_handshake_call_start(handshake, &call, callback, data);
}
