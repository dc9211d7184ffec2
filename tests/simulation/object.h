/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the simulated API server: nodes and pods as values that never change. A
 * write makes a new one; whoever looks at one keeps a reference.
 */
#ifndef TESTS_SIMULATION_OBJECT_H
#define TESTS_SIMULATION_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define OBJECT_ANNOTATIONS_MAX 24
#define NAMESPACE "sim"

#define KEY_DEVICES "hami.io/vgpu-devices-to-allocate"
#define KEY_ASSIGNED "hami.io/vgpu-node"
#define KEY_PHASE "hami.io/bind-phase"
#define KEY_FENCE "hami.io/mutex.fence"
#define KEY_DONE "hami.io/mutex.done"
#define KEY_REVOKED "hami.io/mutex.revoked"
#define KEY_AGENT "hami.io/mutex.agent"
#define KEY_LOCK "hami.io/mutex.lock"
#define KEY_LEASE "hami.io/mutex.lease"
#define KEY_OTHER_LOCK "example.com/other.lock"
#define KEY_OTHER_LEASE "example.com/other.lease"

enum pod_phase { POD_PENDING = 0, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };

struct object {
    unsigned references;
    bool is_pod;
    char name[32], uid[40];
    uint64_t version;
    bool has_map; /* of annotations, were it empty */
    size_t annotation_count;
    struct {
        char *key, *value;
    } annotations[OBJECT_ANNOTATIONS_MAX];
    /* pods */
    char node[32]; /* "" = not bound */
    bool deleting;
    enum pod_phase phase;
    char *line; /* JSON of its metadata, made when first asked for */
};

struct object *object_new(bool is_pod, const char *name, const char *uid);
struct object *object_copy(const struct object *object); /* one reference, no line */
struct object *object_ref(struct object *object);
void object_unref(struct object *object); /* takes NULL */

/* NULL = absent; object may be NULL. */
const char *object_get(const struct object *object, const char *key);
/* Only on a copy that nobody else sees yet. value NULL removes. */
void object_set(struct object *object, const char *key, const char *value);

/* The whole object, or its metadata alone. New. */
json_t *object_to_json(const struct object *object, bool metadata_only);
/* Takes the annotations over from JSON. */
void object_take_annotations(struct object *object, const json_t *json);
/* JSON text of the metadata, borrowed from the object. */
const char *object_line(struct object *object);

/*
 * Evaluates a JSON Patch (RFC 6902) on an object as an API server does it: a `test` of an
 * absent member against null passes, below a missing parent it fails; `remove` of an
 * absent member passes. Returns false where it is refused; the object may be half changed
 * then.
 */
bool object_patch(json_t *object, const json_t *patch);

#endif
