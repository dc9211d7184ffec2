/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom an Allocate is for: two consistent reads, begun after the question was asked and
 * in parallel, then a verdict. Writes nothing. All but the start runs on the client's
 * thread, so that nothing here needs a lock.
 *
 * The set of possible callers decides whom to serve; the lock can only forbid. A lock
 * with a lease of its own names its owner by uid; one without (HAMi wrote it) by
 * namespace and name; a bare time, or none, names nobody: then the one possible caller is
 * served by HAMi's rules, unless a fence is required.
 */
#include "handshake_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "paths.h"
#include "status.h"
#include "support.h"

#define READ_TRIES_MAX 3

enum { READ_PODS = 0, READ_NODE, READ_COUNT };

struct begin;

struct begin_read {
    struct begin *begin;
    bool is_node;
    unsigned tries;
    int code;
    json_t *object;
    char text[256];
};

struct begin {
    hami_handshake *handshake;
    size_t vendor;
    size_t counts[HAMI_INTERNAL_HANDSHAKE_CONTAINERS_MAX];
    size_t count;
    uint64_t deadline_ns;
    hami_handshake_begun_fn callback;
    void *data;
    bool has_books;
    struct hami_internal_handshake_books books; /* own texts; of the call's resource */
    struct begin_read reads[READ_COUNT];
    unsigned pending;
    uint64_t refusals; /* handshake->refusals when the reads began */
    struct hami_internal_http_timer *timer;
};

/* ---- the verdict
 * ------------------------------------------------------------------------------- */

/* May this pod be served under this lock? */
static int judge_lock(const hami_handshake *handshake,
                      const struct hami_internal_handshake_pair *pair,
                      const struct hami_owner *owner, char *text, size_t size)
{
    const struct hami_lock_record *record = &pair->record;

    if (record->kind == HAMI_LOCK_MALFORMED) {
        (void)snprintf(text, size, "%s of node %s can't be read: pod %s/%s is not served",
                       handshake->key, handshake->node, owner->namespace_name,
                       owner->name);
        return HAMI_E_HELD;
    }
    if (record->has_lease && strcmp(record->uid, owner->uid) != 0) {
        (void)snprintf(
            text, size,
            "node %s is locked for pod %s/%s with uid %s, not for the caller %s/%s with "
            "uid %s",
            handshake->node, record->namespace_name, record->name, record->uid,
            owner->namespace_name, owner->name, owner->uid);
        return HAMI_E_HELD;
    }
    if (record->kind == HAMI_LOCK_OWNED &&
        (strcmp(record->name, owner->name) != 0 ||
         strcmp(record->namespace_name, owner->namespace_name) != 0)) {
        (void)snprintf(text, size,
                       "node %s is locked for pod %s/%s, not for the caller %s/%s",
                       handshake->node, record->namespace_name, record->name,
                       owner->namespace_name, owner->name);
        return HAMI_E_HELD;
    }
    if (!record->has_lease && (handshake->flags & HAMI_HANDSHAKE_REQUIRE_FENCE) != 0) {
        (void)snprintf(
            text, size,
            "no lock with a lease of its own names pod %s/%s on node %s, and one is "
            "required",
            owner->namespace_name, owner->name, handshake->node);
        return HAMI_E_HELD;
    }
    return 0;
}

/* Says what is unusual about a pod that is served. */
static void note_unusual(hami_handshake *handshake, const struct hami_handshake_job *job)
{
    const char *text =
        hami_internal_object_annotation(job->share.pod, HAMI_HANDSHAKE_FENCE_KEY);
    uint64_t fence = text != NULL ? strtoull(text, NULL, 10) : 0;

    if (job->share.is_again) {
        hami_internal_handshake_count(handshake, &handshake->stats.again);
        hami_internal_http_log(
            handshake->client, HAMI_LOG_WARNING,
            "Served pod %s/%s the same devices once more: the kubelet of node %s has "
            "lost what it was answered",
            job->owner.namespace_name, job->owner.name, handshake->node);
    }
    if (!job->pair.record.has_lease) {
        hami_internal_handshake_count(handshake, &handshake->stats.without_fence);
        hami_internal_http_log(
            handshake->client, HAMI_LOG_WARNING,
            "Served pod %s/%s by HAMi's rules: the lock of node %s has no lease "
            "of its own (HAMi wrote it, or there is none)",
            job->owner.namespace_name, job->owner.name, handshake->node);
    } else if (fence < job->fence) {
        hami_internal_handshake_count(handshake, &handshake->stats.fence_rose);
        hami_internal_http_log(
            handshake->client, HAMI_LOG_INFO,
            "Served pod %s/%s with fence %" PRIu64 " under its lock's fence "
            "%" PRIu64 ": the lock was granted to it again",
            job->owner.namespace_name, job->owner.name, fence, job->fence);
    }
}

/* ---- the kubelet's books
 * ----------------------------------------------------------------------- */

static void begin_free(struct begin *begin)
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
static int copy_books(struct begin *begin, const struct hami_handshake_call *call)
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

/*
 * A pod that an earlier call refused, and onto which phase failed is still being written:
 * its lock goes with that, so that nothing is to be handed out to it any more.
 */
static int judge_refused(const hami_handshake *handshake, const struct hami_owner *owner,
                         char *text, size_t size)
{
    for (const struct hami_handshake_job *job = handshake->behind; job != NULL;
         job = job->next) {
        if (job->failing && strcmp(job->owner.uid, owner->uid) == 0) {
            (void)snprintf(text, size,
                           "pod %s/%s was refused its devices, and phase failed is being "
                           "written onto it",
                           owner->namespace_name, owner->name);
            return HAMI_E_LOST;
        }
    }
    return 0;
}

/* Makes the job of the one possible caller. */
static int make_job(struct begin *begin, struct hami_handshake_job **ret, char *text,
                    size_t size)
{
    hami_handshake *handshake = begin->handshake;
    struct hami_internal_handshake_ask ask = hami_internal_handshake_ask(
        handshake, begin->vendor, begin->counts, begin->count);
    struct hami_handshake_job *job = calloc(1, sizeof(*job));
    const json_t *metadata;
    int code;

    if (job == NULL) {
        return HAMI_E_NOMEM;
    }
    ask.books = begin->has_books ? &begin->books : NULL;
    job->handshake = handshake;
    job->vendor = begin->vendor;
    code = hami_internal_handshake_find(begin->reads[READ_PODS].object, &ask, &job->share,
                                        text, size);
    if (code == 0) {
        code = hami_internal_handshake_pair_read(
            handshake, begin->reads[READ_NODE].object, &job->pair);
    }
    if (code == 0) {
        metadata = json_object_get(job->share.pod, "metadata");
        job->owner.namespace_name =
            json_string_value(json_object_get(metadata, "namespace"));
        job->owner.name = json_string_value(json_object_get(metadata, "name"));
        job->owner.uid = json_string_value(json_object_get(metadata, "uid"));
        job->fence = job->pair.record.fence;
        code = judge_lock(handshake, &job->pair, &job->owner, text, size);
    }
    if (code == 0) {
        code = judge_refused(handshake, &job->owner, text, size);
    }
    if (code < 0) {
        hami_internal_handshake_job_free(job);
        return code;
    }
    *ret = job;
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
static bool must_read_again(struct begin *begin)
{
    return begin->handshake->refusals != begin->refusals;
}

/* Tells the end and frees everything, unless all has to be read again. */
static void conclude(struct begin *begin, int code, const char *text)
{
    struct hami_error error = HAMI_ERROR_INIT;
    struct hami_handshake_job *job = NULL;
    char detail[1024] = "";

    for (size_t i = 0; i < READ_COUNT && code == 0; i++) {
        code = begin->reads[i].code;
        text = begin->reads[i].text;
    }
    if (code == 0 && must_read_again(begin)) {
        json_decref(begin->reads[READ_PODS].object);
        json_decref(begin->reads[READ_NODE].object);
        reads_start(begin, 0);
        return;
    }
    if (code == 0) {
        code = make_job(begin, &job, detail, sizeof(detail));
        text = detail;
    }
    /* Before the job is handed out: its thread may let go of the same pod. */
    json_decref(begin->reads[READ_PODS].object);
    json_decref(begin->reads[READ_NODE].object);
    count_end(begin->handshake, code);
    if (code == 0) {
        note_unusual(begin->handshake, job);
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

static int read_start(struct begin_read *read)
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
static void read_end(struct begin_read *read, int code, const char *text)
{
    struct begin *begin = read->begin;

    read->code = code;
    (void)snprintf(read->text, sizeof(read->text), "%s of node %s could not be read: %s",
                   read->is_node ? "the lock" : "the pods", begin->handshake->node, text);
    if (--begin->pending == 0) {
        conclude(begin, 0, "");
    }
}

static void read_answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct begin_read *read = data;
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
    struct begin *begin = data;

    if (code < 0) {
        conclude(begin, HAMI_E_CLOSED, "the client is closed");
        return;
    }
    begin->pending = READ_COUNT;
    begin->refusals = begin->handshake->refusals;
    memset(begin->reads, 0, sizeof(begin->reads));
    for (size_t i = 0; i < READ_COUNT; i++) {
        struct begin_read *read = &begin->reads[i];

        read->begin = begin;
        read->is_node = i == READ_NODE;
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
static int fill_counts(struct begin *begin, const struct hami_handshake_call *call)
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
    struct begin *begin;
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
