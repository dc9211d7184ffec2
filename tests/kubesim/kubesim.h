/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubesim: a small Kubernetes API server in memory, for tests and demonstrations.
 *
 * It speaks TLS with HTTP/2 and HTTP/1.1 on 127.0.0.1 and answers as Kubernetes 1.37
 * does for nodes, pods (status, binding), leases, namespaces and events: GET, LIST,
 * WATCH, POST, PUT, PATCH (JSON Patch, merge patch), DELETE, metadata-only answers.
 * One thread of its own serves everything; each call below runs on that thread and
 * waits for it, so what a test sees is always one consistent state. All calls are
 * MT-Safe, but for kubesim_free. After kubesim_stop the store and the log can still be
 * read and the calls run in the caller's thread.
 *
 * Strings and JSON values that a function returns are new (the caller frees them with
 * free() or json_decref()) unless it says borrowed. Borrowed ones live until
 * kubesim_free. HTTP codes are returned as they are: 200, 201, 404, 409, 422.
 * Names: RESOURCE is the plural ("nodes", "pods", "leases"), NAMESPACE is NULL or ""
 * for nodes.
 */
#ifndef KUBESIM_H
#define KUBESIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kubesim;

/* All zero means: any free port, user "admin" only, no audit file. */
struct kubesim_options {
    unsigned port;            /* 0: any free one */
    const char *const *users; /* NULL-terminated; "admin" always exists as well */
    const char *audit_path;   /* file for the audit log, cut at start; NULL: none */
    size_t history;           /* changes kept for watches; 0: 20000 */
    unsigned bookmark_ms;     /* interval of watch bookmarks; 0: 60000 */
    bool without_watch_list;  /* answer sendInitialEvents with 422, as before 1.32 */
    bool without_http2;       /* offer HTTP/1.1 only */
};

/* Start. Returns 0 and a server that is listening, or a negative errno. */
int kubesim_start(const struct kubesim_options *options, struct kubesim **ret);
/* Close the port and all connections, end the thread, complete the audit log. */
void kubesim_stop(struct kubesim *sim);
/* Stop if need be, free everything. Takes NULL, returns NULL. */
struct kubesim *kubesim_free(struct kubesim *sim);

/* ---- how to reach it (all strings borrowed) ---- */

unsigned kubesim_port(const struct kubesim *sim);
const char *kubesim_url(const struct kubesim *sim); /* https://127.0.0.1:PORT */
const char *kubesim_ca_pem(const struct kubesim *sim);
/* Client certificate and key of the user "admin", signed by the server's CA. */
const char *kubesim_client_certificate_pem(const struct kubesim *sim);
const char *kubesim_client_key_pem(const struct kubesim *sim);
/* Bearer token of a user, NULL for an unknown one. */
const char *kubesim_token(const struct kubesim *sim, const char *user);
/* A kubeconfig as text: CA inline, one user and context per user, USER is current
 * (NULL: the first one). New, NULL for an unknown user. */
char *kubesim_kubeconfig(const struct kubesim *sim, const char *user);
/* Write DIRECTORY/kubeconfig, kubeconfig-USER for each user, kubeconfig-certificate
 * (client certificate) and, last and atomically, ready (JSON: port, url, kubeconfig,
 * pid). Returns 0 or a negative errno. */
int kubesim_write_files(struct kubesim *sim, const char *directory);

/* ---- objects: all writes here are logged as user "kubesim" and meet no fault ---- */

/* Any request, as if it came over the wire. CONTENT_TYPE and BODY may be NULL.
 * Returns the HTTP code; the body is new, RET_BODY may be NULL. */
int kubesim_request(struct kubesim *sim, const char *method, const char *uri,
                    const char *content_type, const char *body, char **ret_body);

struct kubesim_pod {
    const char *namespace_name; /* NULL: "default" */
    const char *name;
    const char *node;               /* NULL: not bound */
    const char *scheduler;          /* NULL: "default-scheduler" */
    const char *phase;              /* NULL: "Pending" */
    const char *resource;           /* limit of the only container, NULL: none */
    unsigned count;                 /* of that resource */
    const char *const *annotations; /* key, value, key, value, NULL; or NULL */
};

/* A Ready node without taints. RESOURCE (may be NULL) with COUNT goes into capacity
 * and allocatable. Returns 201 or 409. */
int kubesim_create_node(struct kubesim *sim, const char *name, const char *resource,
                        unsigned count);
/* The namespace is made when there is none. */
int kubesim_create_pod(struct kubesim *sim, const struct kubesim_pod *pod);
/* The object as it is now, a copy; NULL: there is none. */
json_t *kubesim_get(struct kubesim *sim, const char *resource, const char *namespace_name,
                    const char *name);
/* All objects of a resource, an array; NAMESPACE NULL: all namespaces. */
json_t *kubesim_list(struct kubesim *sim, const char *resource,
                     const char *namespace_name);
/* A JSON string inside the object by JSON pointer, e.g. "/metadata/uid",
 * "/spec/nodeName", "/metadata/annotations/hami.io~1mutex.lock". NULL: absent or not a
 * string. */
char *kubesim_text(struct kubesim *sim, const char *resource, const char *namespace_name,
                   const char *name, const char *pointer);
char *kubesim_annotation(struct kubesim *sim, const char *resource,
                         const char *namespace_name, const char *name, const char *key);
/* Write as a foreign client that looks at nothing. VALUE NULL removes. */
int kubesim_set_annotation(struct kubesim *sim, const char *resource,
                           const char *namespace_name, const char *name, const char *key,
                           const char *value);
int kubesim_set_phase(struct kubesim *sim, const char *namespace_name, const char *name,
                      const char *phase);
/* POST a Binding without any precondition. */
int kubesim_bind(struct kubesim *sim, const char *namespace_name, const char *name,
                 const char *node);
/* Delete at once, also a pod on a node. */
int kubesim_delete(struct kubesim *sim, const char *resource, const char *namespace_name,
                   const char *name);
/* Delete as a user does: a bound pod only gets its deletionTimestamp. */
int kubesim_terminate(struct kubesim *sim, const char *namespace_name, const char *name);
/* The store's version: that of the last change. */
uint64_t kubesim_version(struct kubesim *sim);

/* ---- watches: RESOURCE NULL means all ---- */

/* Number of open watches. */
unsigned kubesim_watches(struct kubesim *sim, const char *resource);
/* End them without an error, as servers do at any time. */
void kubesim_cut_watches(struct kubesim *sim, const char *resource);
/* Send each an ERROR event with a 410 Status and end it. */
void kubesim_expire_watches(struct kubesim *sim, const char *resource);
/* Hold back all events until the next call with false. */
void kubesim_pause_watches(struct kubesim *sim, bool pause);
/* Send a bookmark now to each that allows them. */
void kubesim_bookmark_watches(struct kubesim *sim);
/* Forget the history: watches from any older version get 410. */
void kubesim_compact(struct kubesim *sim);

/* ---- deliveries: each request that came in, counted when it arrived ---- */

/* NULL members match all. Verbs are Kubernetes': get list watch create update patch
 * delete. SUBRESOURCE "" matches only requests without one. */
struct kubesim_match {
    const char *verb;
    const char *resource;
    const char *subresource;
    const char *namespace_name;
    const char *name;
    const char *user;
    const char *body; /* a substring of the request's body */
    int code;         /* of the answer, 0: any; fault arming ignores it */
};

/* How many matched so far. MATCH NULL: all, but for those of user "kubesim". */
unsigned kubesim_count(struct kubesim *sim, const struct kubesim_match *match);
/* Wait until at least COUNT matched. Returns true, false at the timeout. */
bool kubesim_wait_count(struct kubesim *sim, const struct kubesim_match *match,
                        unsigned count, unsigned timeout_ms);
/* Wait until the object's string at POINTER is VALUE (NULL: absent, as is the case when
 * the object is). Returns true, false at the timeout. */
bool kubesim_wait_text(struct kubesim *sim, const char *resource,
                       const char *namespace_name, const char *name, const char *pointer,
                       const char *value, unsigned timeout_ms);
bool kubesim_wait_watches(struct kubesim *sim, const char *resource, unsigned count,
                          unsigned timeout_ms);
/* Connections open now, and how many were accepted in all. */
unsigned kubesim_connections(struct kubesim *sim, unsigned *ret_accepted);
/* The completed audit events that match, oldest first: an array of audit.k8s.io/v1
 * Event objects. */
json_t *kubesim_log(struct kubesim *sim, const struct kubesim_match *match);
/* Forget all deliveries for the counts and kubesim_log; the file keeps them. */
void kubesim_forget_log(struct kubesim *sim);
/* Seconds added to the Date header of every answer. */
void kubesim_set_date_skew(struct kubesim *sim, int seconds);

/* ---- faults ---- */

enum kubesim_action {
    KUBESIM_NOTHING,      /* only the delays and the extras below */
    KUBESIM_DROP_BEFORE,  /* not applied, connection lost */
    KUBESIM_DROP_AFTER,   /* applied, connection lost before the answer */
    KUBESIM_RESET_BEFORE, /* as above, but HTTP/2 resets the one stream only */
    KUBESIM_RESET_AFTER,
    KUBESIM_HANG_BEFORE,    /* not applied, never answered */
    KUBESIM_HANG_AFTER,     /* applied, never answered */
    KUBESIM_TWICE,          /* a write applied twice, the first answer is sent */
    KUBESIM_TWICE_SECOND,   /* the same, the second answer is sent */
    KUBESIM_STATUS,         /* not applied, answered with `status` */
    KUBESIM_STATUS_AFTER,   /* applied, answered with `status` all the same */
    KUBESIM_REFUSE_STREAM,  /* REFUSED_STREAM, not applied (HTTP/1.1: as DROP_BEFORE) */
    KUBESIM_GOAWAY,         /* answered, and the connection takes no further request */
    KUBESIM_GOAWAY_REFUSE,  /* GOAWAY that leaves this request out, not applied */
    KUBESIM_TRUNCATE,       /* applied; the answer breaks off in the middle */
    KUBESIM_CUT_WATCHES,    /* end all watches of `watches`, then as usual */
    KUBESIM_EXPIRE_WATCHES, /* 410 in all watches of `watches` (or in this new one) */
};

struct kubesim_fault {
    struct kubesim_match match;
    unsigned skip;      /* matching requests let through before the first hit */
    unsigned count;     /* hits before it ends; 0: no end */
    double probability; /* of a hit; 0 means 1 */
    uint64_t seed;      /* for probability */
    enum kubesim_action action;
    unsigned delay_before_ms; /* before it is applied; then applied even if the client
                                 has gone meanwhile. At most 600000. */
    unsigned delay_answer_ms; /* between applying and the answer */
    int status;               /* STATUS: 429, 500, 503, 409, 403, ... */
    int retry_after;          /* seconds for the Retry-After header; 0: none, -1: "0" */
    int date_skew;            /* seconds added to the Date header */
    const char *watches;      /* resource for the watch actions; NULL: all */
    /* A foreign write right before the request is applied: key of the object that the
     * request names, or of `write_resource` and so on. write_key NULL: none. */
    const char *write_resource, *write_namespace, *write_name, *write_key, *write_value;
    /* Called on the server's thread right before the request is applied; may use all
     * calls of this header but the waits. */
    void (*hook)(struct kubesim *sim, void *data);
    void *hook_data;
};

/* Arm; all strings are copied. The first armed fault that matches and hits is the only
 * one applied to a request. Returns its id (> 0). The HTTP form is POST
 * /kubesim/faults with the same names in JSON ("action":"drop_before", ...). */
int kubesim_arm(struct kubesim *sim, const struct kubesim_fault *fault);
void kubesim_disarm(struct kubesim *sim, int id); /* 0: all */
/* How often it hit. */
unsigned kubesim_hits(struct kubesim *sim, int id);

#endif
