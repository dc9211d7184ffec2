/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pod-annotation handshake as a pure codec: HAMi's device strings and bind phases.
 *
 * A device string lists what each container of a pod gets: device = `uuid,type,memory,core:`,
 * container = its devices back to back, ended by `;`. Init containers come first (HAMi v2.9.0). The
 * client that speaks the handshake with an API server is declared in hami/kubernetes.h.
 */
#ifndef HAMI_HANDSHAKE_H
#define HAMI_HANDSHAKE_H

#include <hami/nodelock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Annotation keys of the handshake (HAMi v2.4 to v2.10), and ours beside them. */
#define HAMI_HANDSHAKE_PHASE_KEY "hami.io/bind-phase"
#define HAMI_HANDSHAKE_TIME_KEY "hami.io/bind-time"
#define HAMI_HANDSHAKE_NODE_KEY "hami.io/vgpu-node"
#define HAMI_HANDSHAKE_FENCE_KEY "hami.io/mutex.fence"
#define HAMI_HANDSHAKE_DONE_KEY "hami.io/mutex.done"
#define HAMI_HANDSHAKE_REVOKED_KEY "hami.io/mutex.revoked"
#define HAMI_HANDSHAKE_AGENT_KEY "hami.io/mutex.agent"
#define HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX "-devices-to-allocate"

/*
 * What a node side says of itself on the Node, in HAMI_HANDSHAKE_AGENT_KEY: who frees the locks that are
 * granted from then on, and whether several pods may be between bind and Allocate. The library writes
 * none of them. SIDE_BY_SIDE may be written by whoever decides each Allocate by hami_handshake_*, which
 * find a pod among several whatever stands there, and by nobody who goes by the lock's name. Since 0.1
 */
#define HAMI_HANDSHAKE_AGENT_FREE_NODE "1,free=node"
#define HAMI_HANDSHAKE_AGENT_FREE_SCHEDULER "1,free=scheduler"
#define HAMI_HANDSHAKE_AGENT_SIDE_BY_SIDE "1,free=scheduler,side-by-side"

#define HAMI_DEVICES_TEXT_MAX 262144 /* bytes of one device string: what an object's annotations hold */
#define HAMI_DEVICES_CONTAINERS_MAX 1024

/* One device, as a string says it. Texts are borrowed from the hami_devices. */
struct hami_device {
    const char *uuid;
    const char *type;     /* vendor's word, such as "NVIDIA" */
    int32_t memory_mib;
    int32_t core_percent;
};

/* A parsed device string. */
typedef struct hami_devices hami_devices;

/*
 * Parses a device string.
 * @text     copied; "" is a string without containers
 * @ret      new; free with hami_devices_free()
 * Returns   0, or INVAL (NULL), PROTO (a device with fewer than four fields, a number out of 32 bits,
 *           an empty uuid), LIMIT (too long, too many containers), NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_devices_parse(const char *text, hami_devices **ret);

/* Frees it. Takes NULL, returns NULL. Since 0.1 */
HAMI_PUBLIC hami_devices *hami_devices_free(hami_devices *devices);

/* Number of containers, surplus empty entries at the end not counted. 0 if NULL. Since 0.1 */
HAMI_PUBLIC size_t hami_devices_container_count(const hami_devices *devices);

/* Number of devices of one container; 0 if NULL or out of range. Since 0.1 */
HAMI_PUBLIC size_t hami_devices_count(const hami_devices *devices, size_t container);

/*
 * One device of one container.
 * Returns   a struct borrowed for the life of `devices`; NULL if out of range. Since 0.1
 */
HAMI_PUBLIC const struct hami_device *hami_devices_get(const hami_devices *devices,
                                                       size_t container, size_t index);

/*
 * Removes the devices of one container; others keep their place.
 * Returns   0, or INVAL (NULL, or out of range)
 * Blocks    never
 * Threads   one thread at a time per object
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_devices_clear(hami_devices *devices, size_t container);

/* True if no container has a device left (or NULL). Since 0.1 */
HAMI_PUBLIC bool hami_devices_is_empty(const hami_devices *devices);

/*
 * Writes the device string: one `;` a container, none more than were read.
 * @buffer   size bytes, ended with NUL on 0; NULL with size 0 only measures
 * @ret      NULL, or the length without the NUL, set on 0 and on LIMIT
 * Returns   0, or INVAL, LIMIT (buffer too small)
 * Since     0.1
 */
HAMI_PUBLIC int hami_devices_format(const hami_devices *devices, char *buffer, size_t size,
                                    size_t *ret);

/*
 * Reads the bind phase of an annotation's text.
 * Returns   the phase; HAMI_BIND_PHASE_NONE for NULL and for unknown words
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC enum hami_bind_phase hami_bind_phase_parse(const char *text);

/* ---- lock and lease text ---------------------------------------------------------------------- */

/* What a lock value is. */
enum hami_lock_kind {
    HAMI_LOCK_FREE = 0,  /* absent or empty */
    HAMI_LOCK_LEGACY,    /* a bare time: owner unknown */
    HAMI_LOCK_OWNED,     /* time, namespace, pod */
    HAMI_LOCK_UNOWNED,   /* three parts, but namespace or pod is empty */
    HAMI_LOCK_MALFORMED  /* anything else: held by nobody knows whom */
};

#define HAMI_LOCK_VALUE_MAX 384  /* bytes of a lock value that is looked at; longer is malformed */
#define HAMI_LEASE_TEXT_MAX 2048 /* bytes of a lease annotation that is looked at; longer is no lease */

/* A lock and its lease, taken apart. All texts are within the struct. */
struct hami_lock_record {
    size_t size;                   /* sizeof(struct hami_lock_record), set by the caller */
    enum hami_lock_kind kind;
    char namespace_name[64];       /* "" unless OWNED */
    char name[254];                /* "" unless OWNED */
    bool has_lease;                /* the lease was written with this very lock value */
    char uid[HAMI_NODELOCK_UID_MAX + 1]; /* from the lease; "" without */
    char holder[320];              /* from the lease; "" without */
    uint64_t attempt;              /* from the lease; 0 without */
    uint64_t hold_ms;              /* from the lease, at most 600000; 0 without */
    bool free_by_scheduler;        /* lease says free=scheduler */
    uint64_t fence;                /* of the grant; 0 without a lease of its own */
    uint64_t last_fence;           /* the fence memory in the lease annotation, own or not; 0 = none */
    char calls[HAMI_NODELOCK_CALLS_MAX + 1]; /* the calls of its pod, from the lease; "" where it has
                                      none, or any but canonical ones (see hami_nodelock_request.calls):
                                      such a lock is exclusive, and in a permit stands for all calls.
                                      Since 0.1 */
};
#define HAMI_LOCK_RECORD_INIT HAMI_SIZED(struct hami_lock_record)

/*
 * Takes a lock value and its lease annotation apart, as docs/protocol.md defines them. Never fails on
 * content: odd values are MALFORMED, an unreadable lease is none, odd calls are as if there were none.
 * @lock     value of the lock annotation; NULL = absent
 * @lease    value of the lease annotation; NULL = absent
 * Returns   0, or INVAL (ret NULL), ABI
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_lock_record_parse(const char *lock, const char *lease,
                                       struct hami_lock_record *ret);

/*
 * Name of the lease annotation that belongs to a lock key: its last ".lock" replaced by ".lease",
 * else ".lease" appended.
 * @buffer   at least HAMI_NODELOCK_KEY_MAX + 7 bytes never fail
 * Returns   0, or INVAL, LIMIT (buffer too small)
 * Otherwise as hami_lock_record_parse().
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_key(const char *lock_key, char *buffer, size_t size);

/*
 * The lease annotation's text after a release: the fence's memory alone.
 * Returns   0, or INVAL, LIMIT (buffer too small; 64 bytes never fail)
 * Otherwise as hami_lock_record_parse().
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_memory_format(uint64_t fence, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
