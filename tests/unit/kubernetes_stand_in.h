/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stand-ins for what the Kubernetes library sees of the core (calls, a manager that is
 * told news, a lease), and a world of kubesim, client and transport. With them a test
 * sees exactly what crosses that border, and nothing is retried or explained away behind
 * it.
 *
 * Callbacks only record; the test's thread waits and asserts.
 */
#ifndef KUBERNETES_STAND_IN_H
#define KUBERNETES_STAND_IN_H

#include <check.h>
#include <pthread.h>

#include <hami/handshake.h>
#include <hami/kubernetes.h>

#include "kubesim.h"

#define LOCK HAMI_NODELOCK_KEY
#define LEASE HAMI_NODELOCK_LEASE_KEY
#define PATCH_TYPE "application/json-patch+json"
#define WAIT_MS 30000u

/* ---- world ---- */

struct world {
    struct kubesim *sim;
    hami_kubernetes *client;
    struct hami_transport *transport;
    char ca_file[64];
};

/* `schedulers` NULL-ended or NULL. options NULL = defaults. */
void world_begin(struct world *world, const struct kubesim_options *options,
                 const char *const *schedulers);
void world_end(struct world *world);

/* A node "n1" with annotation "other"="1". */
void world_add_node(struct world *world, const char *name);

/* Removes all annotations, so that the object has no map. */
void world_drop_annotations(struct world *world, const char *resource,
                            const char *namespace_name, const char *name);

/* Asserts that the node's annotation is value (NULL = absent). */
void expect_annotation(struct world *world, const char *resource,
                       const char *namespace_name, const char *name, const char *key,
                       const char *value);

/* ---- calls ---- */

#define STAND_IN_EDITS_MAX 8

struct hami_call {
    char node[512];
    struct hami_transport_edit edits[STAND_IN_EDITS_MAX];
    size_t edit_count;
    const char *version;
    struct hami_owner owner;
    bool wants_read;
    const char *revocation;
    uint64_t deadline_ns;

    pthread_mutex_t mutex;
    pthread_cond_t ended;
    unsigned done; /* how often it was completed */
    int code;
    int status;
    bool has_values;
    char values[STAND_IN_EDITS_MAX][512]; /* "(absent)" for NULL */
    char node_version[64];
    char text[512];
    uint64_t server_time_us;
    bool has_facts;
    struct hami_owner_facts facts; /* texts below */
    char facts_texts[5][512];
};

void call_begin(struct hami_call *call, const char *node, uint64_t timeout_ms);
void call_edit(struct hami_call *call, enum hami_edit_action action, const char *key,
               const char *expect, const char *value);
/* Waits for the end; fails the test if it does not come soon after the deadline. */
int call_wait(struct hami_call *call);
/* The same, whatever the deadline. */
int call_wait_for(struct hami_call *call, uint64_t ms);
/* submit and wait; a refusal by submit itself is returned as it is. */
int call_submit(struct world *world, struct hami_call *call);
int call_inspect(struct world *world, struct hami_call *call);
int call_revoke(struct world *world, struct hami_call *call);

/* ---- manager ---- */

#define STAND_IN_NEWS_MAX 4096

enum news_kind { NEWS_OBSERVED, NEWS_FORGOTTEN, NEWS_OWNER };

struct news {
    enum news_kind kind;
    char name[300]; /* node, or namespace/pod */
    char version[64];
    char lock[512]; /* "(absent)" for NULL */
    size_t annotation_count;
    bool deleting; /* of an owner, as what follows */
    char node[64]; /* "" = not bound, or not told */
    uint64_t done;
};

struct hami_nodelock {
    pthread_mutex_t mutex;
    pthread_cond_t told;
    struct news news[STAND_IN_NEWS_MAX];
    size_t news_count;
    bool closed; /* news that comes now is an error */
    unsigned late_news;
};

hami_nodelock *manager_new(void);
void manager_free(hami_nodelock *manager);
size_t manager_count(hami_nodelock *manager);
/* Waits until news of this kind, name and (observed only, NULL = any) lock value has come
 * since the from-th piece. Returns its index + 1, 0 at the timeout. */
size_t manager_wait(hami_nodelock *manager, size_t from, enum news_kind kind,
                    const char *name, const char *lock);
/* Waits until the transport says that it is synced. */
bool wait_synced(struct world *world);

/* ---- lease ---- */

struct hami_lease {
    struct hami_lease_view view;
};

#endif
