/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin-scheduler: behaves towards a binder as kube-scheduler does.
 *
 * It creates the pods of a burst, in order, and asks the binder for each of them: one
 * call a pod, never waiting for an earlier one, spacing_ms apart on a node, nodes in
 * parallel. A call that takes longer than the patience is given up: the connection is
 * closed and the pod counts as not bound, whatever becomes of it. A pod whose bind failed
 * gets the condition and the event that kube-scheduler writes, and its next turn after a
 * back-off, filter included, unless the watch has shown a node for it. It ends when every
 * pod was served or has failed, or when nothing has moved for the time of --stuck-after.
 *
 * One thread. A watch's lines only change the burst's state; requests start from the
 * loop.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"
#include "duration.h"
#include "objects.h"
#include "requests.h"
#include "scheduler_options.h"
#include "watch.h"

static const char lock_key[] = "hami.io/mutex.lock";
static const char phase_key[] = "hami.io/bind-phase";
static const long api_timeout_ms = 30000;
static const int64_t settle_ms = 5000;

struct scheduler;

struct scheduler {
    struct scheduler_options options;
    struct kubeconfig config;
    struct requests *requests;
    struct burst burst;
    struct watch pods;
    struct watch nodes;
    char bind_url[512];
    unsigned calls; /* requests under way, watches not counted */
    int64_t begun_ms;
    int64_t moved_ms;  /* the last time that a pod was bound or served */
    char problem[512]; /* not empty: give up */
};

static void say(struct scheduler *scheduler, const char *event,
                const struct burst_pod *pod, const char *text)
{
    struct burst *burst = &scheduler->burst;
    if (!scheduler->options.progress) {
        return;
    }
    json_t *line = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "event", event, "time_ms",
        (json_int_t)(duration_now_ms() - scheduler->begun_ms), "pods",
        (json_int_t)burst->pod_count, "created", (json_int_t)burst_count_created(burst),
        "bound", (json_int_t)burst_count_bound(burst), "allocated",
        (json_int_t)burst_count_allocated(burst), "ended",
        (json_int_t)burst_count_ended(burst), "failed_binds",
        (json_int_t)burst->failed_binds);
    if (pod != NULL) {
        json_object_set_new(line, "pod", json_string(pod->name));
        json_object_set_new(line, "node", json_string(burst->nodes[pod->node].name));
        json_object_set_new(line, "attempt", json_integer(pod->attempts));
    }
    if (text != NULL) {
        json_object_set_new(line, "text", json_string(text));
    }
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(line);
}

static struct object_words words_of(const struct scheduler *scheduler,
                                    const struct burst_pod *pod)
{
    const struct scheduler_options *options = &scheduler->options;
    size_t turn = (size_t)(pod - scheduler->burst.pods) / scheduler->burst.node_count;
    return (struct object_words){
        .devices = options->devices[turn % options->device_count],
        .namespace_name = scheduler->options.namespace_name,
        .pod = pod->name,
        .uid = pod->uid,
        .node = scheduler->burst.nodes[pod->node].name,
        .scheduler = scheduler->options.scheduler_name,
        .resource = scheduler->options.resource,
    };
}

/* Send a body about a pod; PATH is below the namespace. Consumes BODY. */
static void send_api(struct scheduler *scheduler, struct burst_pod *pod,
                     const char *method, const char *path, char *body,
                     void (*done)(void *, const struct answer *))
{
    struct request request = {
        .method = method,
        .url = path,
        .content_type =
            strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : NULL,
        .body = body,
        .timeout_ms = api_timeout_ms,
        .done = done,
        .data = pod,
    };
    if (body == NULL || requests_send(scheduler->requests, &request) < 0) {
        snprintf(scheduler->problem, sizeof(scheduler->problem), "out of memory");
    } else {
        scheduler->calls++;
    }
    free(body);
}

/* ---- a failed bind -------------------------------------------------------------- */

static void failure_noted(void *data, const struct answer *answer)
{
    struct burst_pod *pod = data;
    struct scheduler *scheduler = pod->owner;
    scheduler->calls--;
    if (answer->status < 200 || answer->status > 299) {
        fprintf(stderr, "standin-scheduler: %s: note of a failed bind: %d %s\n",
                pod->name, answer->status, answer->problem);
    }
}

static void note_failure(struct scheduler *scheduler, struct burst_pod *pod,
                         const char *reason)
{
    struct object_words words = words_of(scheduler, pod);
    char path[320];
    burst_put_back(&scheduler->burst, pod, duration_now_ms());
    say(scheduler, "bind-failed", pod, reason);
    snprintf(path, sizeof(path), "/apis/events.k8s.io/v1/namespaces/%s/events",
             words.namespace_name);
    send_api(scheduler, pod, "POST", path, object_failure_event(&words, reason),
             failure_noted);
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s/status",
             words.namespace_name, pod->name);
    send_api(scheduler, pod, "PATCH", path, object_failure_status(reason), failure_noted);
}

/* ---- one attempt: (filter,) bind ------------------------------------------------ */

/* The extender's own words, or why there are none. NULL: the pod is bound. New text. */
static char *failure_of(const struct scheduler *scheduler, const struct answer *answer)
{
    char *text = NULL;
    if (answer->timed_out) {
        if (asprintf(&text, "binder did not answer within %lld ms: gave up waiting",
                     (long long)scheduler->options.patience_ms) < 0) {
            text = NULL;
        }
        return text;
    }
    if (answer->status != 200) {
        if (asprintf(&text, "binder answered %d %s", answer->status, answer->problem) <
            0) {
            text = NULL;
        }
        return text;
    }
    json_t *body = json_loads(answer->body, 0, NULL);
    json_t *error = json_object_get(body, "Error");
    if (!json_is_object(body)) {
        text = strdup("binder answered something that is no JSON object");
    } else if (json_is_string(error) && json_string_length(error) > 0) {
        text = strdup(json_string_value(error));
    }
    json_decref(body);
    return text;
}

static void bind_answered(void *data, const struct answer *answer)
{
    struct burst_pod *pod = data;
    struct scheduler *scheduler = pod->owner;
    scheduler->calls--;
    char *reason = failure_of(scheduler, answer);
    burst_note_sent(&scheduler->burst, pod, duration_now_ms());
    if (reason == NULL) {
        pod->place = BURST_ASSUMED;
        say(scheduler, "bind-ok", pod, NULL);
    } else {
        note_failure(scheduler, pod, reason);
    }
    free(reason);
}

static void bind_goes_out(void *data)
{
    struct burst_pod *pod = data;
    struct scheduler *scheduler = pod->owner;
    burst_note_sent(&scheduler->burst, pod, duration_now_ms());
    say(scheduler, "sent", pod, NULL);
}

static void send_bind(struct scheduler *scheduler, struct burst_pod *pod)
{
    struct object_words words = words_of(scheduler, pod);
    char *body = object_bind_request(&words);
    struct request request = {
        .method = "POST",
        .url = scheduler->bind_url,
        .body = body,
        .timeout_ms = (long)scheduler->options.patience_ms,
        .done = bind_answered,
        .sending = bind_goes_out,
        .data = pod,
    };
    pod->place = BURST_BINDING;
    if (body == NULL || requests_send(scheduler->requests, &request) < 0) {
        snprintf(scheduler->problem, sizeof(scheduler->problem), "out of memory");
    } else {
        scheduler->calls++;
    }
    free(body);
}

static void filter_answered(void *data, const struct answer *answer)
{
    struct burst_pod *pod = data;
    struct scheduler *scheduler = pod->owner;
    scheduler->calls--;
    if (answer->status == 200) {
        send_bind(scheduler, pod);
    } else {
        burst_note_sent(&scheduler->burst, pod, duration_now_ms());
        note_failure(scheduler, pod, "filter could not write the pod's annotations");
    }
}

static void send_filter(struct scheduler *scheduler, struct burst_pod *pod)
{
    struct object_words words = words_of(scheduler, pod);
    char path[320];
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", words.namespace_name,
             pod->name);
    send_api(scheduler, pod, "PATCH", path, object_filter_patch(&words), filter_answered);
}

/* ---- creation ------------------------------------------------------------------- */

static void created(void *data, const struct answer *answer)
{
    struct burst_pod *pod = data;
    struct scheduler *scheduler = pod->owner;
    scheduler->calls--;
    json_t *body = json_loads(answer->body, 0, NULL);
    json_t *uid = json_object_get(json_object_get(body, "metadata"), "uid");
    if (answer->status != 201 || !json_is_string(uid)) {
        json_t *message = json_object_get(body, "message");
        snprintf(scheduler->problem, sizeof(scheduler->problem),
                 "pod %s can't be created: %d %s", pod->name, answer->status,
                 json_is_string(message) ? json_string_value(message) : answer->problem);
        json_decref(body);
        return;
    }
    snprintf(pod->uid, sizeof(pod->uid), "%s", json_string_value(uid));
    json_decref(body);
    pod->place = BURST_QUEUED;
    pod->due_ms = duration_now_ms();
    say(scheduler, "created", pod, NULL);
}

static void create(struct scheduler *scheduler, struct burst_pod *pod)
{
    struct object_words words = words_of(scheduler, pod);
    char path[320];
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", words.namespace_name);
    send_api(scheduler, pod, "POST", path, object_pod(&words), created);
}

/* ---- watches -------------------------------------------------------------------- */

static const char *annotation(json_t *object, const char *key)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_t *value = json_object_get(json_object_get(metadata, "annotations"), key);
    return json_is_string(value) ? json_string_value(value) : "";
}

static const char *name_of(json_t *object)
{
    json_t *name = json_object_get(json_object_get(object, "metadata"), "name");
    return json_is_string(name) ? json_string_value(name) : "";
}

static void moved(struct scheduler *scheduler, const char *event, struct burst_pod *pod)
{
    scheduler->moved_ms = duration_now_ms();
    say(scheduler, event, pod, NULL);
}

static void note_pod(void *data, json_t *object, bool is_deleted)
{
    struct scheduler *scheduler = data;
    struct burst_pod *pod = burst_find(&scheduler->burst, name_of(object));
    json_t *node = json_object_get(json_object_get(object, "spec"), "nodeName");
    json_t *phase = json_object_get(json_object_get(object, "status"), "phase");
    const char *status = json_is_string(phase) ? json_string_value(phase) : "";
    if (pod == NULL) {
        return;
    }
    if (json_is_string(node) && !pod->is_bound) {
        burst_note_bound(pod);
        moved(scheduler, "bound", pod);
    }
    if (strcmp(annotation(object, phase_key), "success") == 0 && !pod->is_allocated) {
        pod->is_allocated = true;
        moved(scheduler, "allocated", pod);
    }
    if ((is_deleted || strcmp(status, "Failed") == 0) && !pod->has_failed &&
        !pod->is_allocated) {
        pod->has_failed = true;
        moved(scheduler, "failed", pod);
    }
}

static void note_node(void *data, json_t *object, bool is_deleted)
{
    struct scheduler *scheduler = data;
    struct burst *burst = &scheduler->burst;
    const char *name = name_of(object);
    const char *lock = annotation(object, lock_key);
    for (size_t i = 0; i < burst->node_count; i++) {
        if (strcmp(burst->nodes[i].name, name) == 0) {
            burst->nodes[i].is_locked = lock[0] != '\0' && !is_deleted;
        }
    }
}

/* ---- the loop ------------------------------------------------------------------- */

static void send_what_is_due(struct scheduler *scheduler)
{
    struct burst *burst = &scheduler->burst;
    int64_t now = duration_now_ms();
    watch_keep_open(&scheduler->pods, now);
    watch_keep_open(&scheduler->nodes, now);
    for (size_t node = 0; node < burst->node_count; node++) {
        struct burst_pod *pod = burst_take_new(burst, node);
        if (pod != NULL) {
            create(scheduler, pod);
        }
        pod = burst_take_due(burst, node, now);
        if (pod != NULL && pod->place == BURST_FILTERING) {
            send_filter(scheduler, pod);
        } else if (pod != NULL) {
            send_bind(scheduler, pod);
        }
    }
}

/* Until all pods have ended; then a moment more for the last releases and notes. */
static int run(struct scheduler *scheduler)
{
    struct burst *burst = &scheduler->burst;
    while (scheduler->problem[0] == '\0') {
        send_what_is_due(scheduler);
        int64_t now = duration_now_ms();
        bool has_ended = burst_count_ended(burst) == burst->pod_count;
        if (has_ended && ((!burst_has_locks(burst) && scheduler->calls == 0) ||
                          now - scheduler->moved_ms > settle_ms)) {
            bool is_whole = burst_count_allocated(burst) == burst->pod_count;
            say(scheduler, "finished", NULL, NULL);
            return is_whole ? 0 : 3;
        }
        if (now - scheduler->moved_ms > scheduler->options.stuck_after_ms) {
            say(scheduler, "stuck", NULL, NULL);
            return 3;
        }
        requests_turn(scheduler->requests, burst_wait_ms(burst, now, 50));
    }
    fprintf(stderr, "standin-scheduler: %s\n", scheduler->problem);
    return 1;
}

static int prepare(struct scheduler *scheduler)
{
    struct scheduler_options *options = &scheduler->options;
    if (kubeconfig_read(&scheduler->config, options->kubeconfig) < 0) {
        fprintf(stderr, "standin-scheduler: %s: %s\n", options->kubeconfig,
                scheduler->config.problem);
        return -1;
    }
    scheduler->requests = requests_new(&scheduler->config, "standin-scheduler/0.1");
    if (scheduler->requests == NULL ||
        burst_init(&scheduler->burst, options->pods, options->nodes, options->node_count,
                   options->spacing_ms) < 0) {
        fprintf(stderr, "standin-scheduler: out of memory\n");
        return -1;
    }
    for (size_t i = 0; i < scheduler->burst.pod_count; i++) {
        scheduler->burst.pods[i].owner = scheduler;
    }
    scheduler->pods.requests = scheduler->nodes.requests = scheduler->requests;
    scheduler->pods.data = scheduler->nodes.data = scheduler;
    scheduler->pods.note = note_pod;
    snprintf(scheduler->pods.path, sizeof(scheduler->pods.path),
             "/api/v1/namespaces/%s/pods", options->namespace_name);
    scheduler->nodes.note = note_node;
    snprintf(scheduler->nodes.path, sizeof(scheduler->nodes.path), "/api/v1/nodes");
    snprintf(scheduler->bind_url, sizeof(scheduler->bind_url), "%s/bind",
             options->binder);
    scheduler->begun_ms = scheduler->moved_ms = duration_now_ms();
    return 0;
}

int main(int count, char **words)
{
    struct scheduler scheduler = {0};
    int code = scheduler_options_read(&scheduler.options, count, words);
    if (code >= 0) {
        return code;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    code = prepare(&scheduler) < 0 ? 1 : run(&scheduler);
    if (scheduler.requests != NULL) {
        requests_free(scheduler.requests);
    }
    burst_done(&scheduler.burst);
    kubeconfig_free(&scheduler.config);
    scheduler_options_done(&scheduler.options);
    curl_global_cleanup();
    return code;
}
