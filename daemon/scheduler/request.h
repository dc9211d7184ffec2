/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of the bind verb: kube-scheduler's ExtenderBindingArgs in,
 * ExtenderBindingResult out. Pure.
 */
#ifndef HAMID_SCHEDULER_REQUEST_H
#define HAMID_SCHEDULER_REQUEST_H

#include <stddef.h>

#include <hami/nodelock.h>

#define BIND_BODY_MAX 65536
#define BIND_ERROR_MAX 1024

/* Who is to be bound where. */
struct bind_request {
    char namespace_name[64];
    char name[254];
    char uid[HAMI_NODELOCK_UID_MAX + 1];
    char node[HAMI_NODELOCK_NODE_MAX + 1];
};

/*
 * Reads the arguments of a bind. Field names count without regard to case, as in Go; of a
 * field given twice the last one counts; fields that are not known are ignored.
 * @error    BIND_ERROR_MAX bytes; receives one line on failure
 * Returns   0, or -1
 */
int bind_request_parse(const char *body, size_t length, struct bind_request *ret,
                       char *error);

/* The answer {"Error": error}, "" for success; to be freed, NULL without memory. */
char *bind_answer_format(const char *error);

#endif
