/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the simulated server: what is asked, what becomes of it on the way, and
 * what the server does. A request lives on by itself when its sender dies.
 */
#ifndef TESTS_SIMULATION_NETWORK_H
#define TESTS_SIMULATION_NETWORK_H

#include "world.h"

#define REQUEST_EDITS_MAX 24

enum verb {
    VERB_GET_NODE,
    VERB_EDIT_NODE,  /* edits and version */
    VERB_PATCH_NODE, /* JSON Patch text */
    VERB_LIST,       /* a page of the nodes, or of the pods */
    VERB_GET_POD,
    VERB_REVOKE, /* text onto a pod that has uid and is unbound */
    VERB_PATCH_POD,
    VERB_BIND,
    VERB_SERVE, /* the plugin hands a container's devices out: uid, fence (0 = none) of the
                   done mark that follows the last one */
    VERB_FAIL   /* the kubelet gives up on a pod: uid */
};

enum outcome {
    OUTCOME_ANSWER = 0, /* status and object say what */
    OUTCOME_NOT_SENT,
    OUTCOME_NO_ANSWER /* it may have been applied */
};

struct request;
typedef void (*request_fn)(struct request *request);

struct request {
    struct world *world;
    unsigned references; /* the sender's until it was told, and one an event */
    int replica;         /* -1: a sender that does not die */
    uint32_t incarnation;
    enum writer writer;
    const char *who;
    enum verb verb;
    char name[64], uid[40], version[24], node[32];
    char *text; /* patch, or revocation */
    uint64_t fence;
    unsigned container; /* SERVE */
    struct {
        enum hami_edit_action action;
        char *key, *expect, *value;
        bool untested; /* a broken transport's */
    } edits[REQUEST_EDITS_MAX];
    size_t edit_count;
    struct pod *taker; /* EDIT_NODE, PATCH_NODE: whose lock it puts; NULL = nobody's */
    bool pods;         /* LIST */
    char token[48];    /* LIST: to go on with */
    struct acquire *acquire; /* whom its faults touch; NULL = nobody */
    /* the answer */
    bool answered, told, resent;
    enum outcome outcome;
    int status;
    struct object *object; /* as it stands after; NULL with any but 2xx */
    char *page;            /* LIST: its text; NULL likewise */
    /* whom to tell: once, unless the sender has died meanwhile */
    request_fn done;
    void *data;
};

/* Makes a request of one reference. */
struct request *request_new(struct world *world, enum verb verb, const char *name,
                            request_fn done, void *data);
void request_edit(struct request *request, enum hami_edit_action action, const char *key,
                  const char *expect, const char *value);

/* Sends it; `done` follows, at the latest at the deadline. */
void request_send(struct request *request, uint64_t deadline_ns);

/* Ends it now: no answer came. `done` is called from within. */
void request_cancel(struct request *request);

/* The sender wants to hear no more. */
void request_forget(struct request *request);

#endif
