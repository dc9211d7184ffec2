/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a job, as its files share it: handshake_end.c moves it on, handshake_write.c
 * sends, handshake_behind.c tells the caller, handshake_release.c judges the lock,
 * handshake_keep.c puts it back, handshake_leave.c leaves it to the scheduler side.
 * Client's thread throughout.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_HANDSHAKE_JOB_H
#define HAMI_INTERNAL_KUBERNETES_HANDSHAKE_JOB_H

#include "handshake_client.h"

/* Sends the request of job->stage. Returns 0 - `answered` will come with the job; or a
 * code. */
int hami_internal_handshake_send(struct hami_handshake_job *job,
                                 hami_kubernetes_answered_fn answered);

/* Goes on with job->stage now. The job may be gone afterwards. */
void hami_internal_handshake_run(struct hami_handshake_job *job);

/* Goes on with job->stage after a pause that grows: none the first time. Tells the caller
 * where its time is up. The job may be gone afterwards. */
void hami_internal_handshake_retry(struct hami_handshake_job *job, const char *why);

/* What the caller will be told. @text "": the code's own */
void hami_internal_handshake_set_result(struct hami_handshake_job *job, int code,
                                        const char *text);

/* Tells the caller now, and goes on behind. False where the job is gone. */
bool hami_internal_handshake_go_behind(struct hami_handshake_job *job);

/* Tells the caller if that is still to be done, and frees the job. */
void hami_internal_handshake_end(struct hami_handshake_job *job);

/* The same, with a lock that only the takeover rules will free now. */
void hami_internal_handshake_give_up(struct hami_handshake_job *job, const char *why);

/* An answer to LOCK_WRITE; @code as of a write. */
void hami_internal_handshake_lock_answered(struct hami_handshake_job *job, int code,
                                           const char *text);

/* The lock's fate is in doubt: goes on with `stage` behind. */
void hami_internal_handshake_lock_in_doubt(struct hami_handshake_job *job,
                                           enum hami_internal_handshake_stage stage,
                                           const char *text);

/*
 * The pod has containers to come, and somebody else does the handshake too: looks whether
 * the lock stands, and puts it back if it was freed early. Nothing of it goes on behind:
 * a later container's release must never meet it.
 */
void hami_internal_handshake_keep_lock(struct hami_handshake_job *job);
void hami_internal_handshake_look_answered(struct hami_handshake_job *job, int code,
                                           const json_t *node, const char *text);
void hami_internal_handshake_restore_answered(struct hami_handshake_job *job, int code,
                                              const char *text);

/* The pod is served wholly, and its lock is the scheduler side's to free: tells the caller,
 * and frees it in its place only if it still stands 2 s later. */
void hami_internal_handshake_leave_lock(struct hami_handshake_job *job);

/* NODE_READ and OWNER_READ brought an object. */
void hami_internal_handshake_node_was_read(struct hami_handshake_job *job,
                                           const json_t *node);
void hami_internal_handshake_owner_was_read(struct hami_handshake_job *job,
                                            const json_t *pod);

#endif
