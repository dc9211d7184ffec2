/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects, one global version counter, and a bounded history of changes. Each
 * change takes the next version, so change V sits at a fixed place of the ring and a
 * watch is no more than the last version it has seen. One thread only.
 */
#ifndef KUBESIM_STORE_H
#define KUBESIM_STORE_H

#include "resource.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* One version of one object. Never changed once it is in the store; counted. */
struct sim_object {
    unsigned references;
    const struct sim_resource *resource;
    char *namespace_name; /* "" where there is none */
    char *name;
    json_t *value;
    char *text;     /* value as compact JSON */
    char *metadata; /* the PartialObjectMetadata form, made when first asked for */
    uint64_t version;
};

enum sim_change_type { SIM_ADDED, SIM_MODIFIED, SIM_DELETED };

struct sim_change {
    enum sim_change_type type;
    struct sim_object *now;    /* for SIM_DELETED: the last state, with the new version */
    struct sim_object *before; /* NULL for SIM_ADDED */
};

struct sim_store;

struct sim_store *sim_store_new(size_t history);
void sim_store_free(struct sim_store *store);
uint64_t sim_store_version(const struct sim_store *store);
/* Borrowed until the next write; NULL when absent. */
struct sim_object *sim_store_find(const struct sim_store *store,
                                  const struct sim_resource *resource,
                                  const char *namespace_name, const char *name);
/* Create or replace; consumes VALUE, whose metadata names it. Returns it borrowed. */
struct sim_object *sim_store_put(struct sim_store *store,
                                 const struct sim_resource *resource, json_t *value);
/* Delete OBJECT; returns the last state with the deletion's version, borrowed. */
struct sim_object *sim_store_remove(struct sim_store *store, struct sim_object *object);
/* The objects of a resource as they were at VERSION, in key order: a new array of
 * counted objects, freed by sim_store_list_free. -1 when the history doesn't reach. */
int sim_store_list(const struct sim_store *store, const struct sim_resource *resource,
                   uint64_t version, struct sim_object ***ret, size_t *ret_count);
void sim_store_list_free(struct sim_object **list, size_t count);
/* The change that made VERSION; NULL when it is not (or no longer) in the history. */
const struct sim_change *sim_store_change(const struct sim_store *store,
                                          uint64_t version);
void sim_store_compact(struct sim_store *store);

struct sim_object *sim_object_ref(struct sim_object *object);
void sim_object_unref(struct sim_object *object);
/* Length of the text's part before "metadata", the brace included. */
size_t sim_object_prefix(const struct sim_object *object);
/* PartialObjectMetadata of it as text, borrowed. */
const char *sim_object_metadata(struct sim_object *object);

#endif
