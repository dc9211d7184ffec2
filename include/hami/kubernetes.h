/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes: a client of the API server, the node-annotation transport, the Binding, and the node
 * side's handshake. In libhaminodelock-kubernetes.
 *
 * Life-cycle rules:
 *  K1  The client outlives what is made from it: transports, handshakes, requests.
 *  K2  The client has one thread of its own; callbacks run on it, must not block, and may start
 *      further requests. No lock is held.
 *  K3  Deadlines are absolute nanoseconds of CLOCK_MONOTONIC, like those of a manager with the default
 *      clock.
 */
#ifndef HAMI_KUBERNETES_H
#define HAMI_KUBERNETES_H

#include <hami/handshake.h>
#include <hami/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hami_kubernetes hami_kubernetes;

/* ---- login ------------------------------------------------------------------------------------ */

/* Verify no server certificate. Said in the log at each start. */
#define HAMI_KUBERNETES_INSECURE 0x1u
/* Run a kubeconfig's credential plugin (`exec`, client.authentication.k8s.io/v1 or v1beta1):
 * whoever writes that file then chooses a program that runs as this process does. Once at _new,
 * again before what it gave expires, and once for a 401; in a process group of its own, without a
 * shell, with nothing to read, and killed with its group at exec_timeout_ms. It gets the variables
 * of this process as they are at _new, and may ask nobody: interactiveMode Always is refused. */
#define HAMI_KUBERNETES_ALLOW_EXEC 0x2u

/* A request that the API server refused with 403; or that this has ended. All texts are borrowed for the callback, one line,
 * and never NULL. Since 0.1 */
struct hami_kubernetes_denial {
    size_t size;
    bool is_permission;         /* true: the account's roles lack this; false: an admission policy,
                                   webhook or plugin refused this object */
    bool is_over;               /* true: a permission that was lacking is there: the same verb on the
                                   same resource has succeeded since. Told once; text is "" */
    const char *verb;           /* as RBAC names it: get, list, watch, create, patch, update, delete */
    const char *group;          /* API group; "" = core */
    const char *resource;       /* with its subresource: "pods/binding" */
    const char *namespace_name; /* "" = of the cluster */
    const char *name;           /* of the object; "" = none */
    const char *text;           /* the server's message; "" where it gave none */
};

/*
 * How to reach and to log in to the API server. Looked at in this order: `server` if set; the
 * kubeconfig files of `kubeconfig`; `home_directory`/.kube/config if that exists; in-cluster, by
 * service_host and service_port with the service account's files.
 */
struct hami_kubernetes_config {
    size_t size;                     /* sizeof(struct hami_kubernetes_config) */
    uint32_t flags;                  /* HAMI_KUBERNETES_INSECURE, HAMI_KUBERNETES_ALLOW_EXEC */
    const char *server;              /* https://host:port; http:// on loopback only */
    const char *ca_file;             /* with server: PEM file; NULL = the system's */
    const char *token;               /* with server: bearer token */
    const char *token_file;          /* with server: read again when it changes */
    const char *certificate_file;    /* with server: client certificate and key, PEM */
    const char *key_file;
    const char *kubeconfig;          /* list of paths separated by ':'; merged as kubectl does */
    const char *context;             /* NULL = current-context */
    const char *home_directory;
    const char *service_host;        /* KUBERNETES_SERVICE_HOST */
    const char *service_port;        /* KUBERNETES_SERVICE_PORT */
    const char *service_account_directory; /* NULL = /var/run/secrets/kubernetes.io/serviceaccount */
    const char *user_agent;          /* NULL = libhaminodelock/VERSION */
    uint32_t in_flight_max;          /* requests at a time, watches not counted; 0 = 64 */
    uint64_t request_timeout_ms;     /* of requests without a deadline of their own; 0 = 5000 */
    uint64_t answer_bytes_max;       /* of one answer's body; 0 = 64 MiB */
    void (*log)(void *data, enum hami_log_level level, const char *line); /* as in nodelock.h */
    void *log_data;
    /* Told of each 403, and of the end of a lack; before the request's own callback. NULL = nobody.
       On the client's thread (K2) */
    void (*denied)(void *data, const struct hami_kubernetes_denial *denial);
    void *denied_data;
    uint64_t exec_timeout_ms;        /* of one run of a credential plugin; at most 600000; 0 = 30000 */
};
#define HAMI_KUBERNETES_CONFIG_INIT HAMI_SIZED(struct hami_kubernetes_config)

/*
 * Fills what the environment says: KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT.
 * The only function of the libraries that reads the environment.
 * @config   its size set; other members that are set are kept
 * Returns   0, or INVAL, ABI
 * Blocks    never
 * Threads   as getenv(3): no thread may change the environment meanwhile
 * Life      texts are borrowed from the environment until it is changed
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_config_from_environment(struct hami_kubernetes_config *config);

/*
 * Makes a client: reads the login, starts its thread; connects with the first request.
 * @config   copied
 * @ret      new client; free with hami_kubernetes_free()
 * Returns   0, or:
 *           INVAL - a field, or a kubeconfig's content, is wrong; the text names file and line or field
 *           ABI
 *           NOTSUP - the login needs something that is not supported (an exec plugin, an auth provider)
 *           ACCESS - a file can't be read, the text names it; or the credential plugin gave nothing
 *           NOMEM
 * Blocks    for reading files; with HAMI_KUBERNETES_ALLOW_EXEC until the plugin has answered, at most
 *           exec_timeout_ms and 2 s
 * Threads   MT-Safe
 * Callback  no
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_new(const struct hami_kubernetes_config *config,
                                    hami_kubernetes **ret, struct hami_error *reterr);

/*
 * Frees a client. Requests in flight end with CLOSED, their callbacks run inside this call.
 * Takes NULL, returns NULL.
 * Blocks    until the client's thread has ended; no network wait
 * Threads   no other call may run, or come later
 * Callback  no
 * Since     0.1
 */
HAMI_PUBLIC hami_kubernetes *hami_kubernetes_free(hami_kubernetes *client);

/*
 * Reads the login again, as the client was made with it: a kubeconfig's token, tokenFile, client
 * certificate and key. What is sent from then on has the new ones, requests and watches that are open
 * go on with theirs; a new certificate is shown by new connections. A credential plugin is run soon,
 * by the client's thread. (Token files are looked at by themselves, too, whenever they change.)
 * Returns   0, or the old ones stay in use:
 *           INVAL - client is NULL, or what was read is wrong, or has another server, CA, or proxy, or a
 *           plugin where there was none, which take a new client; the text says what
 *           NOTSUP, ACCESS, NOMEM - as hami_kubernetes_new()
 *           FORKED
 * Blocks    for reading files
 * Threads   MT-Safe, but not while the client is being freed
 * Callback  no
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_reload(hami_kubernetes *client, struct hami_error *reterr);

/* The server's URL, borrowed for the client's life. Since 0.1 */
HAMI_PUBLIC const char *hami_kubernetes_server(const hami_kubernetes *client);

/* Now, and now plus ms, on the client's clock (K3). Since 0.1 */
HAMI_PUBLIC uint64_t hami_kubernetes_now(void);
HAMI_PUBLIC uint64_t hami_kubernetes_in_ms(uint64_t ms);

/* ---- requests --------------------------------------------------------------------------------- */

enum hami_kubernetes_method {
    HAMI_KUBERNETES_GET = 0,
    HAMI_KUBERNETES_POST,
    HAMI_KUBERNETES_PUT,
    HAMI_KUBERNETES_PATCH,
    HAMI_KUBERNETES_DELETE
};

struct hami_kubernetes_request {
    size_t size;
    enum hami_kubernetes_method method;
    const char *path;         /* from "/" on, query included, escaped by the caller */
    const char *accept;       /* NULL = application/json */
    const char *content_type; /* of the body; NULL = application/json */
    const char *body;         /* NULL = none; none with GET; at most 8 MiB */
    size_t body_length;
    uint64_t deadline_ns;     /* 0 = the config's request_timeout_ms from now */
};
#define HAMI_KUBERNETES_REQUEST_INIT HAMI_SIZED(struct hami_kubernetes_request)

/* An answer. Borrowed for the callback; the blocking form hands it out to be freed. */
struct hami_kubernetes_answer {
    size_t size;
    int code;                 /* 0 = an HTTP answer came, whatever its status; else surely not sent:
                                 TRANSPORT (no connection), TIMEDOUT (the deadline passed before),
                                 ACCESS (no credentials could be read), NOMEM; or it may have been
                                 carried out: IN_DOUBT, LIMIT (answer too large; status is set),
                                 CLOSED (by hami_kubernetes_free) */
    int status;               /* HTTP status; 0 without an answer */
    const char *body;         /* ended with NUL; never NULL */
    size_t body_length;
    const char *text;         /* what went wrong, for people; "" if nothing. No secret in it */
    uint64_t server_time_us;  /* from the Date header; 0 = none */
    uint64_t local_wait_ns;   /* spent here before it was sent: the cap on requests in flight, Retry-After */
    uint64_t retry_after_ms;  /* from Retry-After of the last answer; 0 = none */
    bool maybe_resent;        /* a write that may have been delivered more than once: a refusal may be
                                 the second copy's, so only success is believed */
};

typedef void (*hami_kubernetes_answered_fn)(void *data,
                                            const struct hami_kubernetes_answer *answer);

/*
 * Starts a request. 429 and 503 with Retry-After are waited for and sent again within the deadline.
 * @request  copied
 * @callback required; comes exactly once, on the client's thread (K2), possibly before this returns
 * Returns   0 - the callback will come or has come; or INVAL, ABI, NOMEM, CLOSED, FORKED, LIMIT (too
 *           many waiting: 10000) - it will not
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_request_start(hami_kubernetes *client,
                                              const struct hami_kubernetes_request *request,
                                              hami_kubernetes_answered_fn callback, void *data);

/*
 * Sends a request and waits.
 * @ret      new answer whatever its status; free with hami_kubernetes_answer_free()
 * Returns   0 - an HTTP answer came; or the answer's code, or what _start returns; no answer then
 * Blocks    until the request's deadline
 * Threads   MT-Safe
 * Callback  no (INVAL)
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_request(hami_kubernetes *client,
                                        const struct hami_kubernetes_request *request,
                                        struct hami_kubernetes_answer **ret,
                                        struct hami_error *reterr);

/* Frees an answer of hami_kubernetes_request(). Takes NULL, returns NULL. Since 0.1 */
HAMI_PUBLIC struct hami_kubernetes_answer *
hami_kubernetes_answer_free(struct hami_kubernetes_answer *answer);

/* Counts of one client since it was made. */
struct hami_kubernetes_stats {
    size_t size;
    uint64_t requests;       /* sent, by first try */
    uint64_t retries;        /* sent again after 429 or 503 */
    uint64_t answers[6];     /* by class: [0] none, [1] 1xx ... [5] 5xx */
    uint64_t connections;    /* opened */
    uint64_t watch_restarts;
    uint64_t local_wait_ns;  /* total */
    uint32_t in_flight;      /* gauge */
    uint32_t waiting;        /* gauge: for a place below in_flight_max */
};
#define HAMI_KUBERNETES_STATS_INIT HAMI_SIZED(struct hami_kubernetes_stats)

/*
 * Reads the counts.
 * @ret      its size set; filled
 * Returns   0, or INVAL, FORKED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_stats(hami_kubernetes *client, struct hami_kubernetes_stats *ret);

/* What requests are counted by, in the words of RBAC. */
enum hami_kubernetes_verb {
    HAMI_KUBERNETES_VERB_GET = 0,
    HAMI_KUBERNETES_VERB_LIST,
    HAMI_KUBERNETES_VERB_WATCH,
    HAMI_KUBERNETES_VERB_CREATE,
    HAMI_KUBERNETES_VERB_UPDATE,
    HAMI_KUBERNETES_VERB_PATCH,
    HAMI_KUBERNETES_VERB_DELETE
};
#define HAMI_KUBERNETES_VERBS 7

/* Status codes that are counted each by itself; [0]: no answer came, the last: any other one. */
#define HAMI_KUBERNETES_CODES 18
#define HAMI_KUBERNETES_CODES_INIT                                                                 \
    {                                                                                              \
        0, 200, 201, 202, 400, 401, 403, 404, 405, 409, 410, 415, 422, 429, 500, 503, 504, -1      \
    }

/* Times by their upper bounds in microseconds; one more count stands above the last. */
#define HAMI_KUBERNETES_BOUNDS 14
#define HAMI_KUBERNETES_BOUNDS_INIT                                                                \
    {                                                                                              \
        1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000,  \
            10000000, 60000000                                                                     \
    }
struct hami_kubernetes_times {
    uint64_t counts[HAMI_KUBERNETES_BOUNDS + 1]; /* each time counted once, with its bound */
    uint64_t sum_us;
};

/* Calls of one client since it was made: each answer, those of tries that were repeated included. */
struct hami_kubernetes_calls {
    size_t size;
    uint64_t answers[HAMI_KUBERNETES_VERBS][HAMI_KUBERNETES_CODES];
    struct hami_kubernetes_times durations[HAMI_KUBERNETES_VERBS]; /* from the send to the answer's
                                                                      end; not of watches */
    struct hami_kubernetes_times watch_lag; /* from a write's answer until a watch of this client
                                               showed what was written; 0 if it was first */
};
#define HAMI_KUBERNETES_CALLS_INIT HAMI_SIZED(struct hami_kubernetes_calls)

/*
 * Reads the counts of calls by verb and code, their durations, and the lag of watches.
 * @ret      its size set; filled
 * Returns   0, or INVAL, FORKED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_calls(hami_kubernetes *client, struct hami_kubernetes_calls *ret);

/* ---- the node-annotation transport ------------------------------------------------------------- */

struct hami_kubernetes_transport_config {
    size_t size;
    uint32_t flags;                      /* HAMI_KUBERNETES_NO_WATCH */
    const char *const *scheduler_names;  /* watch the Pending pods of these: owners that are not bound are
                                            known without a read, and of those that are bound it is told
                                            what their node side writes; NULL = none */
    size_t scheduler_name_count;         /* at most 16 */
};
#define HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT HAMI_SIZED(struct hami_kubernetes_transport_config)
#define HAMI_KUBERNETES_NO_WATCH 0x1u /* nodes are not watched: for tools that look once */

/*
 * Makes a transport that keeps locks as annotations of Node objects: guarded JSON Patches, one
 * metadata-only watch of all nodes, inspection and revocation of pods.
 * @config   NULL = defaults; copied
 * @ret      new transport; free with hami_kubernetes_transport_free() after the manager
 * Returns   0, or INVAL, ABI, NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Life      K1, L1
 * Since     0.1
 */
HAMI_PUBLIC int
hami_kubernetes_transport_new(hami_kubernetes *client,
                              const struct hami_kubernetes_transport_config *config,
                              struct hami_transport **ret, struct hami_error *reterr);

/*
 * Frees a transport of this library. Watches and calls that are still in flight end soon afterwards on the client's
 * thread; each call is completed.
 * @transport  consumed; NULL is fine. Every manager that used it must have been freed (L1); calls begun
 *             by hami_transport_call() may still be under way
 * Returns     NULL
 * Blocks      never
 * Threads     no other call on this transport may come later
 * Callback    yes
 * Since       0.1
 */
HAMI_PUBLIC struct hami_transport *
hami_kubernetes_transport_free(struct hami_transport *transport);

/*
 * Tells whether the transport's watch is in step with the server.
 * Returns   true if the first list of nodes (of Leases, of pods) is complete and the watch stands, and always
 *           without a watch; false while it is being started, or again after a loss
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC bool hami_kubernetes_transport_is_synced(const struct hami_transport *transport);

/* ---- the Lease transport ------------------------------------------------------------------------ */

/* The lock stands on the Node object as well, for device plugins that read it there. */
#define HAMI_KUBERNETES_LEASE_MIRROR 0x2u

struct hami_kubernetes_lease_transport_config {
    size_t size;
    uint32_t flags;                      /* HAMI_KUBERNETES_NO_WATCH, HAMI_KUBERNETES_LEASE_MIRROR */
    const char *namespace_name;          /* required: of the Lease objects; it must exist, and be used
                                            for nothing else. Not kube-node-lease, the kubelets' own */
    const char *const *scheduler_names;  /* as in hami_kubernetes_transport_config */
    size_t scheduler_name_count;         /* at most 16 */
    const char *const *mirror_keys;      /* lock keys that are mirrored, with their lease keys; NULL =
                                            HAMI_NODELOCK_KEY. Only with the flag */
    size_t mirror_key_count;             /* at most HAMI_NODELOCK_KEYS_MAX */
};
#define HAMI_KUBERNETES_LEASE_TRANSPORT_CONFIG_INIT                                                \
    HAMI_SIZED(struct hami_kubernetes_lease_transport_config)

/*
 * Makes a transport that keeps locks as annotations of one Lease object (coordination.k8s.io/v1) a
 * node, named as the node and owned by it. The first take makes it. Its spec says who holds the lock,
 * for people. Owners are inspected and revoked as by the node-annotation transport.
 * Without a mirror nobody else reads the locks, and several permits a node are allowed. With it a lock
 * counts once it stands on the Node too, removing it there frees it, and a lock that others write there
 * is honoured; docs/protocol.md, "Lease objects", has the rules.
 * What the client may do in that namespace: get, list, watch, create, patch and delete leases; and get,
 * list, watch nodes (with a mirror: patch, too) and get, list, watch, patch pods.
 * @config   copied
 * @ret      new transport; free with hami_kubernetes_transport_free() after the manager
 * Returns   0, or INVAL, ABI, NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Life      K1, L1
 * Since     0.1
 */
HAMI_PUBLIC int
hami_kubernetes_lease_transport_new(hami_kubernetes *client,
                                    const struct hami_kubernetes_lease_transport_config *config,
                                    struct hami_transport **ret, struct hami_error *reterr);

/* ---- binding ---------------------------------------------------------------------------------- */

/*
 * Binds a lease's owner to the lease's node: POST of a Binding that carries the pod's uid, the
 * resourceVersion read before the lock was written, and bind-phase, bind-time and fence annotations.
 * A Binding refused for its version is sent again if the pod's revocations are still those.
 * @lease        borrowed for the call
 * @deadline_ns  absolute
 * Returns   0 - bound here: by this Binding, or found so with our uid; or:
 *           INVAL, FORKED, CLOSED, NOMEM
 *           LOST - not bound by us and never will be: gone, another uid, being deleted, bound elsewhere,
 *           revoked, or assigned to another node; release the lease
 *           ACCESS, NODE, PROTO - refused; the text has the server's reason; release the lease
 *           TRANSPORT - surely not sent; release the lease
 *           TIMEDOUT - nothing was sent by the deadline; release the lease
 *           IN_DOUBT - may be bound: hand the lease off
 * Blocks    until deadline_ns
 * Threads   MT-Safe
 * Callback  no (INVAL)
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_bind(hami_kubernetes *client, const hami_lease *lease,
                                     uint64_t deadline_ns, struct hami_error *reterr);

/*
 * Starts a bind and returns; the callback tells the end, on the client's thread (K2).
 * @lease    borrowed until the callback
 * Returns   0 - the callback will come; or INVAL, FORKED, CLOSED, NOMEM, LIMIT - it will not
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_bind_start(hami_kubernetes *client, const hami_lease *lease,
                                           uint64_t deadline_ns, hami_done_fn callback, void *data);

/* ---- pods ------------------------------------------------------------------------------------- */

/* What a scheduler asks about a pod besides its facts. Texts are borrowed for the callback. */
struct hami_kubernetes_pod {
    size_t size;
    struct hami_owner_facts facts;      /* source HAMI_FACTS_READ, or WATCH of a pod that was found */
    const char *scheduler_name;         /* spec.schedulerName */
    int32_t priority;                   /* spec.priority; 0 if absent */
    const char *group;                  /* the group that it is scheduled with, as coscheduling's labels,
                                           Volcano's annotation, spec.schedulingGroup or
                                           spec.workloadRef say; up to HAMI_NODELOCK_GROUP_MAX
                                           characters; NULL = none, or no proper name */
    const char *const *resources;       /* resource names that its containers (init containers too) ask
                                           for with a count above 0 */
    size_t resource_count;
    const char *const *calls;           /* what the kubelet may call Allocate with for it: "RESOURCE=COUNT"
                                           of each container (init containers too) and extended resource,
                                           limits else requests, each different one once, in no order;
                                           "RESOURCE=?" where the count is no plain number above 0. Where
                                           they are more than 64, or 2047 bytes, the only one is "?" */
    size_t call_count;
};

/* Answer of hami_kubernetes_read_pod_start(). @code 0 or as the blocking bind; pod is NULL unless 0. A
 * pod that does not exist is 0 with facts.exists false. */
typedef void (*hami_kubernetes_pod_fn)(void *data, int code, const struct hami_kubernetes_pod *pod,
                                       const char *text);

/*
 * Reads a pod from the API server, consistently; the callback tells, on the client's thread (K2).
 * Returns   0 - the callback will come; or INVAL, FORKED, CLOSED, NOMEM, LIMIT
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_read_pod_start(hami_kubernetes *client, const char *namespace_name,
                                               const char *name, uint64_t deadline_ns,
                                               hami_kubernetes_pod_fn callback, void *data);

/*
 * Tells of a pod what the standing watch of a transport saw of it last, without a request. Where no watch
 * shows it unbound its news is waited for, 20 ms at most: whoever asks may have been told of the pod earlier.
 * Then it is read. What a watch saw may be old: enough to let a pod queue; nobody should be refused by it.
 * @transport    of hami_kubernetes_transport_new() or hami_kubernetes_lease_transport_new()
 * @deadline_ns  of the read
 * @callback     on the client's thread (K2); facts.source is HAMI_FACTS_WATCH, and facts.node NULL, where no
 *               read was needed
 * Returns   0 - the callback will come; or INVAL, FORKED, NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Life      the transport is closed after the callback
 * Since     0.1
 */
HAMI_PUBLIC int hami_kubernetes_find_pod_start(struct hami_transport *transport,
                                               const char *namespace_name, const char *name,
                                               uint64_t deadline_ns, hami_kubernetes_pod_fn callback,
                                               void *data);

/* ---- the node side's handshake ------------------------------------------------------------------ */

typedef struct hami_handshake hami_handshake;
typedef struct hami_handshake_job hami_handshake_job;

/* Which annotation holds the devices of which resource. */
struct hami_handshake_vendor {
    const char *resource;        /* "nvidia.com/gpu" */
    const char *to_allocate_key; /* "hami.io/vgpu-devices-to-allocate" */
};

#define HAMI_HANDSHAKE_REQUIRE_FENCE 0x1u /* refuse locks without a lease of their own */

struct hami_handshake_config {
    size_t size;
    uint32_t flags;
    const char *node;                            /* required: the node that this side serves */
    const char *key;                             /* lock key; NULL = HAMI_NODELOCK_KEY */
    const struct hami_handshake_vendor *vendors; /* NULL = the NVIDIA row above */
    size_t vendor_count;                         /* at most 64 */
};
#define HAMI_HANDSHAKE_CONFIG_INIT HAMI_SIZED(struct hami_handshake_config)

/*
 * Makes the node side's client.
 * @config   copied
 * @ret      new; free with hami_handshake_free()
 * Returns   0, or INVAL, ABI, NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Life      K1
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_new(hami_kubernetes *client,
                                   const struct hami_handshake_config *config, hami_handshake **ret,
                                   struct hami_error *reterr);

/*
 * Frees it; every job must have been consumed, and every callback have come. Releases that go on behind
 * are given up: their locks are left to the takeover rules. Takes NULL, returns NULL.
 * Blocks    until the client's thread has let go of them; no network wait
 * Threads   no other call on it may run, or come later
 * Callback  no
 * Since     0.1
 */
HAMI_PUBLIC hami_handshake *hami_handshake_free(hami_handshake *handshake);

/* Counts of one node side since it was made. */
struct hami_handshake_stats {
    size_t size;
    uint64_t begins;          /* calls of _begin and _begin_start */
    uint64_t begun;           /* of these, ended with a job */
    uint64_t without_fence;   /* of these, served by HAMi's rules: the lock had no lease of its own */
    uint64_t again;           /* of these, served the same once more */
    uint64_t fence_rose;      /* of these, the pod carries a lower fence than its lock */
    uint64_t nobody;          /* ended LOST */
    uint64_t several;         /* ended BUSY */
    uint64_t held;            /* ended HELD */
    uint64_t misfits;         /* ended LIMIT or PROTO */
    uint64_t succeeded;       /* pods whose last devices were handed out */
    uint64_t failed;          /* pods that phase failed was written onto */
    uint64_t released;        /* locks removed */
    uint64_t released_behind; /* of these, after the caller was told */
    uint64_t restored;        /* locks put back that were freed with containers still to come */
    uint64_t left;            /* locks left to the scheduler side, which frees them (free=scheduler); one
                                 that still stands 2 s later is removed, and counts as released behind */
    uint64_t given_up;        /* locks left to the takeover rules */
    uint32_t behind;          /* gauge: jobs that go on behind */
};
#define HAMI_HANDSHAKE_STATS_INIT HAMI_SIZED(struct hami_handshake_stats)

/*
 * Reads counts and gauges.
 * @ret      its size set; filled
 * Returns   0, or INVAL, FORKED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_stats(hami_handshake *handshake, struct hami_handshake_stats *ret);

/* Device ids of one container, as the kubelet's Allocate lists them. */
struct hami_handshake_container {
    const char *const *ids;
    size_t id_count;
};

typedef void (*hami_handshake_begun_fn)(void *data, int code, hami_handshake_job *job,
                                        const struct hami_error *error);

/*
 * Finds out whom an Allocate is for: the one pod that can be the caller, by two consistent reads begun
 * in this call (pods of the node, the node's lock). Writes nothing.
 * @resource     resource name of the call
 * @containers   1 to 64, in the call's order; borrowed for the call
 * @callback     comes exactly once, on the client's thread, with a new job on code 0 (consume it by
 *               _finish, _fail or _drop), else:
 *           LOST - no pod can be the caller, or the only one has no devices left or was refused
 *           BUSY - several pods can be the caller. One that was refused (phase failed) counts until the
 *           kubelet has reported on it, for which the call waits until deadline_ns
 *           HELD - the lock names another pod, can't be read, or lacks the lease that
 *           HAMI_HANDSHAKE_REQUIRE_FENCE asks for
 *           LIMIT - the device string does not fit the call (count of devices)
 *           PROTO - the pod's device string is malformed, or the server's answer is
 *           ACCESS, NODE, TRANSPORT, TIMEDOUT, NOMEM, CLOSED
 *           In each case nothing was written to any pod.
 * Returns   0 - the callback will come; or INVAL (also a resource without a vendor row), FORKED, NOMEM,
 *           CLOSED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_begin_start(hami_handshake *handshake, const char *resource,
                                           const struct hami_handshake_container *containers,
                                           size_t container_count, uint64_t deadline_ns,
                                           hami_handshake_begun_fn callback, void *data);

/*
 * The same for one container, blocking. Codes as the callback's.
 * @ids, @count  device ids of the container
 * Blocks    until deadline_ns
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_begin(hami_handshake *handshake, const char *resource,
                                     const char *const *ids, size_t count, uint64_t deadline_ns,
                                     hami_handshake_job **ret, struct hami_error *reterr);

/*
 * A container that has devices of a resource on the kubelet's books: a row of what its PodResources API
 * (v1, List) tells.
 */
struct hami_handshake_holding {
    const char *namespace_name;
    const char *pod;
    const char *container;
    const char *resource;
};

/* HAMI_HANDSHAKE_BOOKS: holdings are known, all of this node, by a List begun after the Allocate. */
#define HAMI_HANDSHAKE_BOOKS (1u << 0)

/* One Allocate, with what the kubelet tells about it. Borrowed for the call that it is given to. */
struct hami_handshake_call {
    size_t size;
    uint32_t flags;
    const char *resource;
    const struct hami_handshake_container *containers; /* 1 to 64, in the call's order */
    size_t container_count;
    const struct hami_handshake_holding *holdings; /* with HAMI_HANDSHAKE_BOOKS */
    size_t holding_count;
    uint64_t deadline_ns;
};
#define HAMI_HANDSHAKE_CALL_INIT HAMI_SIZED(struct hami_handshake_call)

/*
 * The same as hami_handshake_begin_start(), with the kubelet's books: a container that was served and that
 * the books lack may be asking again, because the kubelet died before it wrote down what it was answered.
 * Such a pod is counted among the possible callers; where it is the only one it gets the devices that it
 * got before. Without the books, served pods are taken to have what they were given.
 * @call     its size set
 * Returns   as hami_handshake_begin_start(), or ABI
 * Otherwise as hami_handshake_begin_start().
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_call_start(hami_handshake *handshake,
                                          const struct hami_handshake_call *call,
                                          hami_handshake_begun_fn callback, void *data);

/* True where the pod gets devices that it was given once already. False for NULL. Since 0.1 */
HAMI_PUBLIC bool hami_handshake_is_again(const hami_handshake_job *job);

/* Whom the job is for; texts borrowed for the job's life. Since 0.1 */
HAMI_PUBLIC const struct hami_owner *hami_handshake_owner(const hami_handshake_job *job);
/* Fence of the pod's lock; 0 = a lock without one. Since 0.1 */
HAMI_PUBLIC uint64_t hami_handshake_fence(const hami_handshake_job *job);
/* Containers of the job, in the call's order, with name and devices. Since 0.1 */
HAMI_PUBLIC size_t hami_handshake_container_count(const hami_handshake_job *job);
HAMI_PUBLIC const char *hami_handshake_container_name(const hami_handshake_job *job,
                                                      size_t container);
HAMI_PUBLIC size_t hami_handshake_container_device_count(const hami_handshake_job *job,
                                                         size_t container);
HAMI_PUBLIC const struct hami_device *
hami_handshake_container_device(const hami_handshake_job *job, size_t container, size_t index);
/* The first container's devices: what a call for one container needs. Since 0.1 */
HAMI_PUBLIC size_t hami_handshake_device_count(const hami_handshake_job *job);
HAMI_PUBLIC const struct hami_device *hami_handshake_device(const hami_handshake_job *job,
                                                            size_t index);

/*
 * The devices are handed out: erases them from the pod's string; after the last container writes
 * success with the fence (one patch) and frees the lock, guarded.
 * @job      consumed, whatever is answered
 * Returns   0 - written (a doubtful release goes on behind, for at most a minute); or:
 *           LOST - the pod is gone or another: its lock, if it still stood, was left to the takeover
 *           rules; or its devices were rewritten meanwhile
 *           ACCESS, TRANSPORT - the pod was not written, though asked again until the deadline
 *           PROTO, NOMEM, CLOSED - the pod was not written
 *           IN_DOUBT - it may have been
 *           INVAL, FORKED
 *           Refuse the container on each of these. Unless the pod is gone or the client closed, phase
 *           failed and the release go on behind, as with hami_handshake_fail(); until then
 *           hami_handshake_begin() answers LOST for the pod, and where phase failed can't be written
 *           the lock is left to the takeover rules.
 * Blocks    until deadline_ns
 * Threads   one thread at a time per job
 * Callback  no (INVAL: the job is then not consumed)
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_finish(hami_handshake_job *job, uint64_t deadline_ns,
                                      struct hami_error *reterr);

/*
 * The same without waiting; the callback tells the end, on the client's thread.
 * @callback required
 * Returns   0 - the callback will come; or INVAL (not consumed), FORKED, CLOSED, NOMEM - it will not, the
 *           job is consumed and nothing was written
 * Blocks    never
 * Threads   one thread at a time per job
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_finish_start(hami_handshake_job *job, uint64_t deadline_ns,
                                            hami_done_fn callback, void *data);

/*
 * The devices can't be handed out: writes phase failed onto the pod and frees the lock, guarded. Codes
 * as hami_handshake_finish().
 * @job      consumed
 * @reason   copied, for the log; NULL = none
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_fail(hami_handshake_job *job, const char *reason,
                                    uint64_t deadline_ns, struct hami_error *reterr);
HAMI_PUBLIC int hami_handshake_fail_start(hami_handshake_job *job, const char *reason,
                                          uint64_t deadline_ns, hami_done_fn callback, void *data);

/*
 * Gives a job up and writes nothing: devices and lock stay the pod's, and the same question may be asked
 * again. For a caller that does not know how its Allocate ended.
 * @job      consumed; takes NULL
 * Returns   NULL
 * Blocks    never
 * Threads   one thread at a time per job
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC hami_handshake_job *hami_handshake_drop(hami_handshake_job *job);

/*
 * Finishes what a crash cut off: where the node's lock names a pod that was served wholly, frees it,
 * guarded. To be called when the node side starts; changes nothing else.
 * @callback required; comes exactly once, on the client's thread, with 0 (there was nothing to free, or
 *           it is freed; a doubtful release goes on behind), or ACCESS, NODE, PROTO, TRANSPORT, TIMEDOUT,
 *           NOMEM, CLOSED
 * Returns   0 - the callback will come; or INVAL, FORKED, NOMEM, CLOSED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_handshake_recover_start(hami_handshake *handshake, uint64_t deadline_ns,
                                             hami_done_fn callback, void *data);

#ifdef __cplusplus
}
#endif

#endif
