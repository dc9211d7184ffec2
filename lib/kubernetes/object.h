/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads objects and watch events of the API server from JSON text. Pure.
 *
 * Content is never trusted: every look-up gives NULL (or false) where a member is missing
 * or of another type. Texts are borrowed from the JSON value.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_OBJECT_H
#define HAMI_INTERNAL_KUBERNETES_OBJECT_H

#include <hami/nodelock.h>

#include <jansson.h>

#define HAMI_INTERNAL_OBJECT_METADATA_ONLY                                               \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define HAMI_INTERNAL_OBJECT_METADATA_LIST                                               \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

/* Parses text that must be one JSON object. Returns a new value, NULL if it is none.
 * managedFields are left out wherever the text has them. */
json_t *hami_internal_object_parse(const char *text, size_t length);

/* The same, for what API servers write; NULL for anything that is rare there, and where
 * there is no object. */
json_t *hami_internal_object_read(const char *text, size_t length);

/* The byte behind a list whose first bracket is just before; NULL if it does not end. */
const char *hami_internal_object_skip_list(const char *at, const char *end);

/* The text without managedFields; NULL where there are none, or no memory for it. */
char *hami_internal_object_prune(const char *text, size_t length, size_t *ret_length);

/* metadata's text member, such as "resourceVersion"; NULL where absent or empty. */
const char *hami_internal_object_metadata(const json_t *object, const char *member);

/* Value of an annotation; NULL = absent. */
const char *hami_internal_object_annotation(const json_t *object, const char *key);

/* True if the object has an annotations map, were it empty. */
bool hami_internal_object_has_annotations(const json_t *object);

/* All annotations as an array, new (free()), NULL with count 0. Returns 0, or NOMEM. */
int hami_internal_object_annotations(const json_t *object, struct hami_annotation **ret,
                                     size_t *ret_count);

enum hami_internal_event_kind {
    HAMI_INTERNAL_EVENT_UNKNOWN = 0, /* of a kind to come: to be passed over */
    HAMI_INTERNAL_EVENT_CHANGED,     /* ADDED or MODIFIED */
    HAMI_INTERNAL_EVENT_DELETED,
    HAMI_INTERNAL_EVENT_BOOKMARK,
    HAMI_INTERNAL_EVENT_ERROR
};

struct hami_internal_event {
    enum hami_internal_event_kind kind;
    const json_t *object;   /* borrowed from root */
    const char *version;    /* the object's, NULL for an error */
    bool initial_end;       /* bookmark that closes the initial events of a WatchList */
    int error_code;         /* ERROR: `code` of its Status; 0 if it has none */
    const char *error_text; /* ERROR: its message; never NULL */
    json_t *root;
};

/* Parses one line of a watch. Returns 0 and an event to be given to _done; or PROTO. */
int hami_internal_event_parse(const char *line, size_t length,
                              struct hami_internal_event *ret);
void hami_internal_event_done(struct hami_internal_event *event);

#endif
