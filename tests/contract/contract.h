/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One body of tests for every transport. A backend tells how to reach its store: as the
 * transport under test does, and past it, as a foreign writer that knows no rules.
 *
 * Each test runs in a process of its own (unless CK_FORK=no): `start` is called once for
 * the program and may start other processes; `open` and `close` come before and after
 * each test and may make threads. Nodes and owners of a test have names of their own, so
 * that tests can share one server.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <hami/nodelock.h>
#include <hami/transport.h>

#define CONTRACT_SKIP 77
#define CONTRACT_NAME 254
#define CONTRACT_VALUES 32

/* What a store has beyond the edits. */
#define CONTRACT_NODES                                                                   \
    0x1u /* nodes exist apart from their values: a missing one is NODE */
#define CONTRACT_OWNERS 0x2u /* owners can be inspected and revoked */
#define CONTRACT_WATCH 0x4u  /* the transport tells what changes */
#define CONTRACT_FAULTS 0x8u /* arm() works */
#define CONTRACT_CLOCK 0x10u /* answers carry the store's wall clock */

/* What happens to the next write that the transport sends. */
enum contract_fault {
    CONTRACT_LOSE_ANSWER,  /* carried out; the connection ends before the answer */
    CONTRACT_LOSE_REQUEST, /* read and not carried out; the connection ends */
    CONTRACT_HANG          /* carried out, and never answered */
};

/* A state that a test brings an owner into. */
enum contract_state {
    CONTRACT_STARTED,
    CONTRACT_FINISHED,
    CONTRACT_DELETING, /* and still there */
    CONTRACT_GONE,
    CONTRACT_REPLACED, /* another one under the same name, not bound */
    CONTRACT_ANNOTATED /* CONTRACT_FENCE, CONTRACT_DONE, phase success, a device left,
                          assigned to CONTRACT_ASSIGNED */
};
#define CONTRACT_FENCE UINT64_C(18446744073709551001)
#define CONTRACT_DONE UINT64_C(41)
#define CONTRACT_ASSIGNED "assigned-node"

/* An owner that a test made. The texts are its own. */
struct contract_owner {
    struct hami_owner owner;
    char namespace_name[64];
    char name[CONTRACT_NAME];
    char uid[HAMI_NODELOCK_UID_MAX + 1];
};

struct contract;
struct contract_shim;

struct contract_backend {
    const char *name;
    unsigned capabilities;
    bool has_abort; /* the transport can end calls early */

    /* Once for the program: 0, or CONTRACT_SKIP or another number with a reason. May be
     * NULL. */
    int (*start)(const char **ret_reason);
    void (*stop)(void);

    /* For each test. They assert. */
    void (*open)(struct contract *contract);
    void (*close)(struct contract *contract);

    /* A further transport to the same store; each one is freed before close. */
    struct hami_transport *(*transport_new)(struct contract *contract);
    void (*transport_free)(struct contract *contract, struct hami_transport *transport);
    /* A transport to a store that nobody serves; NULL = there is no such thing. */
    struct hami_transport *(*transport_nowhere)(struct contract *contract);

    /* Past the transport. `get` returns new text, NULL = absent. */
    void (*node_make)(struct contract *contract, const char *node);
    void (*node_delete)(struct contract *contract, const char *node);
    void (*put)(struct contract *contract, const char *node, const char *key,
                const char *value);
    char *(*get)(struct contract *contract, const char *node, const char *key);
    void (*arm)(struct contract *contract, enum contract_fault fault);

    /* With CONTRACT_OWNERS. Made unbound. `bind` sends a Binding that carries the owner's
     * uid and `version` (NULL = none): true if it was accepted. `revoked` returns new
     * text. */
    void (*owner_make)(struct contract *contract, struct contract_owner *owner);
    void (*owner_set)(struct contract *contract, struct contract_owner *owner,
                      enum contract_state state);
    bool (*owner_bind)(struct contract *contract, const struct contract_owner *owner,
                       const char *node, const char *version);
    char *(*owner_revoked)(struct contract *contract, const struct contract_owner *owner);
};

/* Runs all tests that fit the backend's capabilities; returns main's exit code. */
int contract_run(const struct contract_backend *backend);

/* ---- for tests
 * ------------------------------------------------------------------------- */

/* A name that no other test uses; made in the store. Valid until the test ends. */
const char *contract_node(void);
/* The same, not made. */
const char *contract_node_name(void);
/* Made in the store where that knows owners; else just a name and a uid. */
void contract_owner(struct contract_owner *owner);
/* A further transport to the same store, behind a shim of the caller's. */
void contract_further(struct contract_shim *shim);
void contract_further_done(struct contract_shim *shim);

/* A copy of a result. Free with contract_answer_done(). */
struct contract_answer {
    int code;
    bool has_values;
    size_t value_count;
    char *values[CONTRACT_VALUES]; /* NULL = absent */
    char version[128];             /* "" = unknown */
    uint64_t server_time_us;
    unsigned received; /* how often the result was told */
    uint64_t elapsed_ns;
};

/* One call by hami_transport_call(); the answer's old content is freed first, so start
 * with zero. */
int contract_call_on(struct hami_transport *transport, const char *node,
                     const struct hami_transport_edit *edits, size_t count,
                     const char *version, uint64_t timeout_ms,
                     struct contract_answer *answer);
/* On the test's transport, with plenty of time. */
int contract_call(const char *node, const struct hami_transport_edit *edits, size_t count,
                  const char *version, struct contract_answer *answer);
void contract_answer_done(struct contract_answer *answer);
/* The value at `index` is `expect` (NULL = absent). */
void contract_assert_value(const struct contract_answer *answer, size_t index,
                           const char *expect);
/* The store has that value, seen past the transport. */
void contract_assert_stored(const char *node, const char *key, const char *expect);
/* Waits until it has; false after 10 s. */
bool contract_wait_stored(const char *node, const char *key, const char *expect);
void contract_put(const char *node, const char *key, const char *value);

/* Facts of an owner, copied. */
struct contract_facts {
    int code;
    bool has_facts;
    struct hami_owner_facts facts; /* its texts point below */
    char uid[HAMI_NODELOCK_UID_MAX + 1];
    char node[CONTRACT_NAME];
    char assigned[CONTRACT_NAME];
    char version[128];
    char revoked[1024];
    unsigned received;
};
int contract_inspect(const char *node, const struct contract_owner *owner,
                     struct contract_facts *facts);
int contract_revoke(const char *node, const struct contract_owner *owner,
                    const char *text, struct contract_facts *facts);

uint64_t contract_clock(void);

/* ---- what the tests put between transport and library (record.c, news.c)
 * ----------------- */

/* A transport that passes everything on and remembers the calls. All tests use one. */
struct contract_shim {
    struct hami_transport transport;
    struct hami_transport *inner;
    pthread_mutex_t mutex;
    pthread_cond_t submitted;
    unsigned submits;
    uint64_t longest_submit_ns;
    hami_call *last;
};
void contract_shim_init(struct contract_shim *shim, struct hami_transport *inner);
void contract_shim_done(struct contract_shim *shim);
/* Waits until `count` calls were submitted; the last one, or NULL after 10 s. */
hami_call *contract_shim_wait(struct contract_shim *shim, unsigned count);

void contract_patience(struct timespec *until);

/* Completions seen since the program's start, and those of calls that nobody had open. */
unsigned contract_completions(void);
unsigned contract_stray_completions(void);

/* Stands in for a manager towards watch: writes down what it is told. */
struct contract_watcher;
struct contract_watcher *contract_watcher_new(void);
struct contract_watcher *contract_watcher_free(struct contract_watcher *watcher);
hami_nodelock *contract_watcher_lock(struct contract_watcher *watcher);
/* Waits until it was told: this node has that value (NULL = a record without it); the
 * node is gone; the owner is in a state that `fits` (NULL = any). False after 10 s. */
bool contract_watcher_saw(struct contract_watcher *watcher, const char *node,
                          const char *key, const char *value);
bool contract_watcher_saw_forget(struct contract_watcher *watcher, const char *node);
bool contract_watcher_saw_owner(struct contract_watcher *watcher, const char *name,
                                bool (*fits)(const struct hami_owner_facts *facts));
/* It was told, with some record of the node, this very version. */
bool contract_watcher_saw_version(struct contract_watcher *watcher, const char *node,
                                  const char *version);
/* So far it was told of `first` without `second` in one record of the node. Waits for
 * nothing. */
bool contract_watcher_saw_apart(struct contract_watcher *watcher, const char *node,
                                const char *first, const char *second);
unsigned contract_watcher_news(struct contract_watcher *watcher);

/* The test that runs now. */
struct contract {
    const struct contract_backend *backend;
    struct hami_transport *transport; /* through the shim */
    struct contract_shim shim;
    unsigned node_count;
    unsigned owner_count;
    void *data; /* the backend's */
};
extern struct contract contract_now;

/* ---- the groups of tests
 * ----------------------------------------------------------------- */

void contract_add_edits(Suite *suite, const struct contract_backend *backend);
void contract_add_beside(Suite *suite, const struct contract_backend *backend);
void contract_add_versions(Suite *suite, const struct contract_backend *backend);
void contract_add_answers(Suite *suite, const struct contract_backend *backend);
void contract_add_watch(Suite *suite, const struct contract_backend *backend);
void contract_add_owners(Suite *suite, const struct contract_backend *backend);
void contract_add_rivals(Suite *suite, const struct contract_backend *backend);
/* A case with the fixture of the backend that runs. */
TCase *contract_case(Suite *suite, const char *name);

#endif
