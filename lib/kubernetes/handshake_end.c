/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job ends: one guarded patch of the pod, then one of the node. Runs on the
 * client's thread alone, so that nothing here needs a lock.
 *
 * The happy path: POD_WRITE, and after the pod's last devices LOCK_WRITE, unless the lock
 * is the scheduler side's to free (handshake_leave.c). Whatever has no
 * clear answer is read before it is written again (POD_READ, NODE_READ), so that a write
 * that did land is never taken for a refused one. Nothing but the job's own pod is ever
 * written to, guarded by its uid.
 *
 * The caller is told after the lock is gone. As soon as the lock's write is in doubt it
 * is told 0, for its devices are handed out; the rest goes on behind, paced, for at most
 * a minute. Where the pod could not be written the caller is told so and will refuse the
 * container: then phase failed and the release go on behind.
 *
 * Invariants: a lock is freed only when the pod says success or failed, for until then it
 * may be asked for again. Each patch of the pod tests the phase that was read last, so
 * that a success that comes late never lands on a pod that was refused meanwhile. A
 * server that was just started knows no roles yet and forbids everything: that is asked
 * again like a lost answer.
 */
#include "handshake_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "status.h"
#include "support.h"

#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 1000

static void answered(void *data, const struct hami_kubernetes_answer *answer);

static void is_closed(struct hami_handshake_job *job)
{
    if (!job->is_told && job->stage <= HAMI_INTERNAL_HANDSHAKE_POD_READ) {
        hami_internal_handshake_set_result(job, HAMI_E_CLOSED, "the client is closed");
    }
    hami_internal_handshake_give_up(job, "shutting down");
}

static void paused(void *data, int code)
{
    struct hami_handshake_job *job = data;

    job->timer = NULL;
    if (code < 0 || (job->is_told && job->handshake->closing)) {
        is_closed(job);
        return;
    }
    hami_internal_handshake_run(job);
}

/* The caller's time is up while its pod is not written: it will refuse the container. */
static bool fail_behind(struct hami_handshake_job *job, int code, const char *text)
{
    hami_internal_handshake_step_done(&job->step);
    job->failing = true;
    job->stage = HAMI_INTERNAL_HANDSHAKE_POD_WRITE;
    job->tries = 0;
    hami_internal_handshake_set_result(job, code, text);
    return hami_internal_handshake_go_behind(job);
}

/* Why the pod is not written, as far as is known. */
static int open_code(const struct hami_handshake_job *job)
{
    if (job->in_doubt) {
        return HAMI_E_IN_DOUBT;
    }
    return job->is_refused ? HAMI_E_ACCESS : HAMI_E_TRANSPORT;
}

/* Goes on with job->stage after a pause that grows; the first time at once. */
void hami_internal_handshake_retry(struct hami_handshake_job *job, const char *text)
{
    uint64_t pause_ms = job->tries == 0 ? 0 : PAUSE_FIRST_MS;
    bool is_pod_open = job->stage <= HAMI_INTERNAL_HANDSHAKE_POD_READ;

    for (unsigned i = 1; i < job->tries && pause_ms < PAUSE_MAX_MS; i++) {
        pause_ms *= 2;
    }
    pause_ms = pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
    job->tries++;
    if (hami_kubernetes_in_ms(pause_ms) >= job->deadline_ns) {
        if (job->is_told) {
            hami_internal_handshake_give_up(job, text);
            return;
        }
        if (is_pod_open && !fail_behind(job, open_code(job), text)) {
            return;
        }
        if (!is_pod_open && !hami_internal_handshake_go_behind(job)) {
            return;
        }
    }
    if (hami_internal_http_timer_start(job->handshake->client, pause_ms, paused, job,
                                       &job->timer) < 0) {
        hami_internal_handshake_give_up(job, text);
    }
}

void hami_internal_handshake_run(struct hami_handshake_job *job)
{
    int code = hami_internal_handshake_send(job, answered);

    if (code == HAMI_E_CLOSED) {
        is_closed(job);
    } else if (code < 0) {
        hami_internal_handshake_retry(job, hami_strerror(code));
    }
}

/* ---- the pod
 * ----------------------------------------------------------------------------------- */

static void go_to(struct hami_handshake_job *job,
                  enum hami_internal_handshake_stage stage)
{
    job->stage = stage;
    job->tries = 0;
    hami_internal_handshake_run(job);
}

/* The pod says what it must; now the lock, if it is the time and there is one. */
static void pod_is_written(struct hami_handshake_job *job)
{
    hami_handshake *handshake = job->handshake;

    if (job->failing) {
        hami_internal_handshake_count(handshake, &handshake->stats.failed);
        hami_internal_http_log(handshake->client, HAMI_LOG_WARNING,
                               "Wrote phase failed onto pod %s/%s: %s",
                               job->owner.namespace_name, job->owner.name,
                               job->reason != NULL ? job->reason : job->text);
    } else if (job->step.is_last) {
        hami_internal_handshake_count(handshake, &handshake->stats.succeeded);
    }
    if (!job->failing && job->step.is_last && !job->is_told &&
        job->lock.own.record.free_by_scheduler) {
        hami_internal_handshake_leave_lock(job);
    } else if ((job->failing || job->step.is_last) &&
               job->lock.own.record.kind != HAMI_LOCK_FREE) {
        go_to(job, HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE);
    } else if (!job->failing && job->was_erased && !job->is_told &&
               job->lock.own.record.kind == HAMI_LOCK_OWNED &&
               !hami_internal_handshake_pair_is_beside(&job->lock.own)) {
        hami_internal_handshake_keep_lock(job);
    } else {
        hami_internal_handshake_end(job);
    }
}

/* The server will never take this write: the container is refused. Without phase failed
 * the lock stays: the pod's end, which the kubelet writes, is what proves it free. */
static void pod_is_refused(struct hami_handshake_job *job, int code, const char *text)
{
    if (job->failing) {
        if (!job->is_told) {
            hami_internal_handshake_set_result(job, code, text);
        }
        if (job->lock.own.record.kind != HAMI_LOCK_FREE) {
            hami_internal_handshake_give_up(job, text);
        } else {
            hami_internal_handshake_end(job);
        }
    } else if (fail_behind(job, code, text)) {
        hami_internal_handshake_run(job);
    }
}

static void pod_is_gone(struct hami_handshake_job *job)
{
    if (!job->is_told) {
        hami_internal_handshake_set_result(job, HAMI_E_LOST,
                                           "it is gone, or another pod has its name now");
    }
    hami_internal_handshake_end(job);
}

static void pod_write_answered(struct hami_handshake_job *job, int code, const char *text)
{
    switch (code) {
    case 0:
        pod_is_written(job);
        return;
    case HAMI_E_NODE:
        pod_is_gone(job);
        return;
    case HAMI_E_PROTO:
        pod_is_refused(job, code, text);
        return;
    case HAMI_E_IN_DOUBT:
    case HAMI_E_LIMIT:
        job->in_doubt = true;
        break;
    default:
        break;
    }
    job->is_refused = code == HAMI_E_ACCESS;
    job->stage = HAMI_INTERNAL_HANDSHAKE_POD_READ;
    hami_internal_handshake_retry(job, text);
}

/* Keeps the phase that the next patch tests. Returns 0, or NOMEM. */
static int note_phase(struct hami_handshake_job *job, const json_t *pod)
{
    const char *phase = hami_internal_object_annotation(pod, HAMI_HANDSHAKE_PHASE_KEY);

    free(job->phase);
    job->phase = phase != NULL ? strdup(phase) : NULL;
    return phase != NULL && job->phase == NULL ? HAMI_E_NOMEM : 0;
}

/* Does the pod say already what the step would write? */
static bool is_step_done(const struct hami_handshake_job *job, const json_t *pod)
{
    const char *phase = hami_internal_object_annotation(pod, HAMI_HANDSHAKE_PHASE_KEY);
    const char *done = hami_internal_object_annotation(pod, HAMI_HANDSHAKE_DONE_KEY);
    char fence[24];

    (void)snprintf(fence, sizeof(fence), "%" PRIu64, job->fence);
    if (strcmp(job->step.old_text, job->step.new_text) != 0) {
        return false;
    }
    return !job->step.is_last ||
           (hami_bind_phase_parse(phase) == HAMI_BIND_PHASE_SUCCESS &&
            (job->fence == 0 || (done != NULL && strcmp(done, fence) == 0)));
}

/* Works out the next write from the pod as it is. */
static int plan(struct hami_handshake_job *job, const json_t *pod)
{
    struct hami_internal_handshake_ask ask =
        hami_internal_handshake_ask(job->handshake, job->vendor, NULL, 0);
    struct hami_internal_handshake_step step;
    int code = hami_internal_handshake_next(pod, &ask, &job->share, &step);

    if (code == 0) {
        hami_internal_handshake_step_done(&job->step);
        job->step = step;
    }
    return code;
}

static void failing_pod_was_read(struct hami_handshake_job *job)
{
    if (hami_bind_phase_parse(job->phase) == HAMI_BIND_PHASE_FAILED) {
        pod_is_written(job);
        return;
    }
    job->stage = HAMI_INTERNAL_HANDSHAKE_POD_WRITE;
    hami_internal_handshake_retry(job, "its patch was refused");
}

static void pod_was_read(struct hami_handshake_job *job, const json_t *pod)
{
    const char *uid = hami_internal_object_metadata(pod, "uid");
    int code;

    if (uid == NULL || strcmp(uid, job->owner.uid) != 0) {
        pod_is_gone(job);
        return;
    }
    code = note_phase(job, pod);
    if (code < 0) {
        hami_internal_handshake_retry(job, hami_strerror(code)); /* reads once more */
        return;
    }
    if (job->failing) {
        failing_pod_was_read(job);
        return;
    }
    job->stage = HAMI_INTERNAL_HANDSHAKE_POD_WRITE;
    code = plan(job, pod);
    job->was_erased = code == 0 && strcmp(job->step.old_text, job->step.new_text) == 0;
    if (code == HAMI_E_NOMEM) {
        hami_internal_handshake_retry(job, hami_strerror(code));
    } else if (code < 0) {
        if (fail_behind(job, HAMI_E_LOST, "its devices were rewritten meanwhile")) {
            hami_internal_handshake_run(job);
        }
    } else if (is_step_done(job, pod)) {
        pod_is_written(job);
    } else {
        hami_internal_handshake_retry(job, "its patch was refused");
    }
}

/* ---- answers
 * ----------------------------------------------------------------------------------- */

static void read_succeeded(struct hami_handshake_job *job,
                           const struct hami_kubernetes_answer *answer)
{
    json_t *object = hami_internal_object_parse(answer->body, answer->body_length);

    if (object == NULL && job->stage == HAMI_INTERNAL_HANDSHAKE_LOCK_LOOK) {
        hami_internal_handshake_look_answered(job, HAMI_E_PROTO, NULL, "no object");
        return;
    }
    if (object == NULL) {
        hami_internal_handshake_retry(job, "the server's answer is no object");
        return;
    }
    switch (job->stage) {
    case HAMI_INTERNAL_HANDSHAKE_POD_READ:
        pod_was_read(job, object);
        break;
    case HAMI_INTERNAL_HANDSHAKE_NODE_READ:
        hami_internal_handshake_node_was_read(job, object);
        break;
    case HAMI_INTERNAL_HANDSHAKE_LOCK_LOOK:
        hami_internal_handshake_look_answered(job, 0, object, "");
        break;
    default:
        hami_internal_handshake_owner_was_read(job, object);
    }
    json_decref(object);
}

static void read_answered(struct hami_handshake_job *job,
                          const struct hami_kubernetes_answer *answer, const char *text)
{
    int code = hami_internal_status_of_read(answer);
    bool is_about_pod = job->stage == HAMI_INTERNAL_HANDSHAKE_POD_READ;

    if (code == 0) {
        read_succeeded(job, answer);
    } else if (job->stage == HAMI_INTERNAL_HANDSHAKE_LOCK_LOOK) {
        hami_internal_handshake_look_answered(job, code, NULL, text);
    } else if (code == HAMI_E_NODE && is_about_pod) {
        pod_is_gone(job);
    } else if (code == HAMI_E_NODE) {
        hami_internal_handshake_end(job); /* the node, or the lock's owner, is gone */
    } else if (is_about_pod) {
        job->is_refused = code == HAMI_E_ACCESS;
        hami_internal_handshake_retry(job, text);
    } else if (code == HAMI_E_ACCESS) {
        hami_internal_handshake_give_up(job, text);
    } else {
        hami_internal_handshake_lock_in_doubt(job, job->stage, text);
    }
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_handshake_job *job = data;
    char text[256];

    job->request = NULL;
    (void)hami_internal_status_text(answer, text, sizeof(text));
    if (answer->code == HAMI_E_CLOSED || (job->is_told && job->handshake->closing)) {
        is_closed(job);
        return;
    }
    switch (job->stage) {
    case HAMI_INTERNAL_HANDSHAKE_POD_WRITE:
        pod_write_answered(job, hami_internal_status_of_write(answer), text);
        break;
    case HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE:
        hami_internal_handshake_lock_answered(job, hami_internal_status_of_write(answer),
                                              text);
        break;
    case HAMI_INTERNAL_HANDSHAKE_LOCK_RESTORE:
        hami_internal_handshake_restore_answered(
            job, hami_internal_status_of_write(answer), text);
        break;
    default:
        read_answered(job, answer, text);
    }
}

/* ---- starts
 * ------------------------------------------------------------------------------------ */

static void begin_end(void *data, int code)
{
    struct hami_handshake_job *job = data;

    job->timer = NULL;
    if (code < 0) {
        hami_internal_handshake_set_result(job, HAMI_E_CLOSED, "the client is closed");
        hami_internal_handshake_end(job);
        return;
    }
    code = note_phase(job, job->share.pod);
    if (code == 0 && !job->failing) {
        code = plan(job, job->share.pod);
    }
    if (code < 0) {
        pod_is_refused(job, code, hami_strerror(code));
        return;
    }
    hami_internal_handshake_run(job);
}

static int start(hami_handshake_job *job, uint64_t deadline_ns, hami_done_fn callback,
                 void *data)
{
    hami_kubernetes *client = job->handshake->client;
    int code = hami_internal_http_is_forked(client) ? HAMI_E_FORKED : 0;

    job->deadline_ns = deadline_ns;
    job->callback = callback;
    job->data = data;
    if (code == 0) {
        code = hami_internal_http_timer_start(client, 0, begin_end, job, &job->timer);
    }
    if (code < 0) {
        hami_internal_handshake_job_free(job);
    }
    return code;
}

int hami_handshake_finish_start(hami_handshake_job *job, uint64_t deadline_ns,
                                hami_done_fn callback, void *data)
{
    if (job == NULL || callback == NULL) {
        return HAMI_E_INVAL;
    }
    return start(job, deadline_ns, callback, data);
}

int hami_handshake_fail_start(hami_handshake_job *job, const char *reason,
                              uint64_t deadline_ns, hami_done_fn callback, void *data)
{
    if (job == NULL || callback == NULL) {
        return HAMI_E_INVAL;
    }
    job->failing = true;
    (void)snprintf(job->text, sizeof(job->text), "the device plugin gave up");
    job->reason = reason != NULL ? strdup(reason) : NULL;
    return start(job, deadline_ns, callback, data);
}
