/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON that kube-scheduler, HAMi's filter and a user send about one pod, as new text
 * (free it). Pure, but for the wall clock where a form wants the time.
 */
#ifndef STANDIN_OBJECTS_H
#define STANDIN_OBJECTS_H

struct object_words {
    const char *namespace_name;
    const char *pod;
    const char *uid;
    const char *node;
    const char *scheduler;
    const char *resource;
    unsigned devices; /* that it asks for, up to OBJECT_DEVICES_MAX */
};

#define OBJECT_DEVICES_MAX 8

/* A pod that asks for its devices, with the annotations and label of HAMi's filter. */
char *object_pod(const struct object_words *words);
/* The same annotations and label again, as the filter of a later attempt patches them. */
char *object_filter_patch(const struct object_words *words);
/* The extender's bind request. */
char *object_bind_request(const struct object_words *words);
/* Condition PodScheduled=False, reason SchedulerError: what a failed bind leaves. */
char *object_failure_status(const char *reason);
/* Event FailedScheduling, in the events.k8s.io/v1 form. */
char *object_failure_event(const struct object_words *words, const char *reason);

#endif
