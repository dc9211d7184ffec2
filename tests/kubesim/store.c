/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects in one sorted array per resource, and the ring of changes: see store.h.
 * Invariants: an array is in order of (namespace, name); the ring holds exactly the
 * changes (floor, version], where version - floor <= capacity; each of them holds a
 * reference on its objects. Belongs to the server's thread; no lock.
 */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_table {
    struct sim_object **objects;
    size_t count, capacity;
};

struct sim_store {
    struct sim_table tables[SIM_RESOURCE_COUNT];
    uint64_t version; /* of the last change */
    uint64_t floor;   /* changes up to this one are forgotten */
    struct sim_change *ring;
    size_t capacity;
};

struct sim_object *sim_object_ref(struct sim_object *object)
{
    object->references++;
    return object;
}

void sim_object_unref(struct sim_object *object)
{
    if (object == NULL || --object->references > 0) {
        return;
    }
    free(object->namespace_name);
    free(object->name);
    json_decref(object->value);
    free(object->text);
    free(object->metadata);
    free(object);
}

size_t sim_object_prefix(const struct sim_object *object)
{
    return strlen("{\"kind\":\"\",\"apiVersion\":\"\",") +
           strlen(object->resource->kind) + strlen(object->resource->group_version);
}

const char *sim_object_metadata(struct sim_object *object)
{
    if (object->metadata == NULL) {
        json_t *partial = json_pack("{s:s,s:s,s:O}", "kind", "PartialObjectMetadata",
                                    "apiVersion", "meta.k8s.io/v1", "metadata",
                                    json_object_get(object->value, "metadata"));
        object->metadata = json_dumps(partial, JSON_COMPACT);
        json_decref(partial);
    }
    return object->metadata;
}

static struct sim_object *object_new(const struct sim_resource *resource, json_t *value,
                                     uint64_t version)
{
    struct sim_object *object = calloc(1, sizeof(*object));
    char text[24];
    if (object == NULL) {
        abort();
    }
    snprintf(text, sizeof(text), "%llu", (unsigned long long)version);
    json_object_set_new(json_object_get(value, "metadata"), "resourceVersion",
                        json_string(text));
    const char *namespace_name = sim_metadata_text(value, "namespace");
    object->references = 1;
    object->resource = resource;
    object->namespace_name = strdup(namespace_name != NULL ? namespace_name : "");
    object->name = strdup(sim_metadata_text(value, "name"));
    object->value = sim_resource_normalise(resource, value);
    object->text = json_dumps(object->value, JSON_COMPACT);
    object->version = version;
    return object;
}

static int compare_key(const struct sim_object *object, const char *namespace_name,
                       const char *name)
{
    int order = strcmp(object->namespace_name, namespace_name);
    return order != 0 ? order : strcmp(object->name, name);
}

/* The place of the key; true when it is there, else where it would be inserted. */
static bool table_search(const struct sim_table *table, const char *namespace_name,
                         const char *name, size_t *ret)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_key(table->objects[middle], namespace_name, name);
        if (order == 0) {
            *ret = middle;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret = low;
    return false;
}

/* All three consume or take over the references as the array's own. */
static void table_insert(struct sim_table *table, size_t place, struct sim_object *object)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity > 0 ? table->capacity * 2 : 64;
        void *grown = realloc(table->objects, capacity * sizeof(*table->objects));
        if (grown == NULL) {
            abort();
        }
        table->objects = grown;
        table->capacity = capacity;
    }
    memmove(&table->objects[place + 1], &table->objects[place],
            (table->count - place) * sizeof(*table->objects));
    table->objects[place] = object;
    table->count++;
}

static void table_remove(struct sim_table *table, size_t place)
{
    sim_object_unref(table->objects[place]);
    table->count--;
    memmove(&table->objects[place], &table->objects[place + 1],
            (table->count - place) * sizeof(*table->objects));
}

/* Put OBJECT (reference taken over; NULL removes) at the key of LIKE. */
static void table_set(struct sim_table *table, const struct sim_object *like,
                      struct sim_object *object)
{
    size_t place;
    bool present = table_search(table, like->namespace_name, like->name, &place);
    if (object == NULL) {
        if (present) {
            table_remove(table, place);
        }
    } else if (present) {
        sim_object_unref(table->objects[place]);
        table->objects[place] = object;
    } else {
        table_insert(table, place, object);
    }
}

static void table_clear(struct sim_table *table)
{
    sim_store_list_free(table->objects, table->count);
    memset(table, 0, sizeof(*table));
}

static struct sim_change *ring_slot(const struct sim_store *store, uint64_t version)
{
    return &store->ring[version % store->capacity];
}

static void forget_oldest(struct sim_store *store)
{
    struct sim_change *change = ring_slot(store, ++store->floor);
    sim_object_unref(change->now);
    sim_object_unref(change->before);
    memset(change, 0, sizeof(*change));
}

/* Takes over the reference on BEFORE, takes one of its own on NOW. */
static void record(struct sim_store *store, enum sim_change_type type,
                   struct sim_object *now, struct sim_object *before)
{
    if (store->version - store->floor == store->capacity) {
        forget_oldest(store);
    }
    store->version++;
    *ring_slot(store, store->version) =
        (struct sim_change){.type = type, .now = sim_object_ref(now), .before = before};
}

struct sim_store *sim_store_new(size_t history)
{
    struct sim_store *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return NULL;
    }
    store->capacity = history;
    store->ring = calloc(history, sizeof(*store->ring));
    if (store->ring == NULL) {
        free(store);
        return NULL;
    }
    return store;
}

void sim_store_free(struct sim_store *store)
{
    if (store == NULL) {
        return;
    }
    sim_store_compact(store);
    for (size_t i = 0; i < SIM_RESOURCE_COUNT; i++) {
        table_clear(&store->tables[i]);
    }
    free(store->ring);
    free(store);
}

uint64_t sim_store_version(const struct sim_store *store)
{
    return store->version;
}

struct sim_object *sim_store_find(const struct sim_store *store,
                                  const struct sim_resource *resource,
                                  const char *namespace_name, const char *name)
{
    const struct sim_table *table = &store->tables[resource->index];
    size_t place;
    return table_search(table, namespace_name, name, &place) ? table->objects[place]
                                                             : NULL;
}

struct sim_object *sim_store_put(struct sim_store *store,
                                 const struct sim_resource *resource, json_t *value)
{
    struct sim_object *object = object_new(resource, value, store->version + 1);
    struct sim_object *before =
        sim_store_find(store, resource, object->namespace_name, object->name);
    if (before != NULL) {
        sim_object_ref(before);
    }
    record(store, before != NULL ? SIM_MODIFIED : SIM_ADDED, object, before);
    table_set(&store->tables[resource->index], object, object);
    return object;
}

struct sim_object *sim_store_remove(struct sim_store *store, struct sim_object *object)
{
    struct sim_object *last =
        object_new(object->resource, json_deep_copy(object->value), store->version + 1);
    record(store, SIM_DELETED, last, sim_object_ref(object));
    table_set(&store->tables[object->resource->index], last, NULL);
    sim_object_unref(last);
    return last; /* the history still holds it */
}

int sim_store_list(const struct sim_store *store, const struct sim_resource *resource,
                   uint64_t version, struct sim_object ***ret, size_t *ret_count)
{
    if (version < store->floor) {
        return -1;
    }
    const struct sim_table *table = &store->tables[resource->index];
    struct sim_table copy = {0};
    copy.capacity = table->count + 1;
    copy.objects = calloc(copy.capacity, sizeof(*copy.objects));
    if (copy.objects == NULL) {
        abort();
    }
    for (size_t i = 0; i < table->count; i++) {
        copy.objects[copy.count++] = sim_object_ref(table->objects[i]);
    }
    for (uint64_t v = store->version; v > version; v--) { /* undo what came later */
        const struct sim_change *change = ring_slot(store, v);
        if (change->now->resource == resource) {
            table_set(&copy, change->now,
                      change->before != NULL ? sim_object_ref(change->before) : NULL);
        }
    }
    *ret = copy.objects;
    *ret_count = copy.count;
    return 0;
}

void sim_store_list_free(struct sim_object **list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sim_object_unref(list[i]);
    }
    free(list);
}

const struct sim_change *sim_store_change(const struct sim_store *store, uint64_t version)
{
    return version > store->floor && version <= store->version ? ring_slot(store, version)
                                                               : NULL;
}

void sim_store_compact(struct sim_store *store)
{
    while (store->floor < store->version) {
        forget_oldest(store);
    }
}
