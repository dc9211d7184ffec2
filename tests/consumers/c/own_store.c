/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport written here: a store of one node with a few values. Its mutex guards the
 * values; calls are completed without it.
 */
#include "consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 4

struct named_value {
    char key[64];
    char text[2048];
};

struct own_store {
    struct hami_transport base; /* first */
    pthread_mutex_t mutex;
    struct named_value values[VALUES];
};

static struct named_value *find(struct own_store *store, const char *key)
{
    for (int i = 0; i < VALUES; i++) {
        if (strcmp(store->values[i].key, key) == 0) {
            return &store->values[i];
        }
    }
    return NULL;
}

static void put(struct own_store *store, const char *key, const char *text)
{
    struct named_value *value = find(store, key);

    if (!value) {
        value = find(store, ""); /* a free one */
    }
    if (value) {
        (void)snprintf(value->key, sizeof(value->key), "%s", text ? key : "");
        (void)snprintf(value->text, sizeof(value->text), "%s", text ? text : "");
    }
}

/* With the mutex: all edits or none. */
static int apply(struct own_store *store, const struct hami_transport_edit *edits,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct named_value *now = find(store, edits[i].key);
        const char *expect = edits[i].expect;
        if (edits[i].action != HAMI_EDIT_READ &&
            (!now != !expect || (now && strcmp(now->text, expect) != 0))) {
            return HAMI_E_HELD;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action == HAMI_EDIT_PUT) {
            put(store, edits[i].key, edits[i].value);
        }
    }
    return 0;
}

static int own_submit(struct hami_transport *transport, hami_call *call)
{
    struct own_store *store = (struct own_store *)(void *)transport;
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    const char *texts[VALUES] = {NULL, NULL, NULL, NULL};
    struct named_value copies[VALUES];
    size_t count = 0;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);

    if (count > VALUES) {
        return HAMI_E_NOMEM;
    }
    pthread_mutex_lock(&store->mutex);
    result.code = apply(store, edits, count);
    for (size_t i = 0; i < count; i++) {
        const struct named_value *now = find(store, edits[i].key);
        if (now) {
            copies[i] = *now;
            texts[i] = copies[i].text;
        }
    }
    pthread_mutex_unlock(&store->mutex);
    result.values = texts;
    result.value_count = count;
    hami_call_done(call, &result);
    return 0;
}

struct own_store *own_store_new(void)
{
    struct own_store *store = (struct own_store *)calloc(1, sizeof(*store));

    if (!store) {
        abort();
    }
    (void)pthread_mutex_init(&store->mutex, NULL);
    store->base.size = sizeof(store->base);
    store->base.name = "own store";
    store->base.submit = own_submit;
    return store;
}

void own_store_free(struct own_store *store)
{
    free(store);
}

struct hami_transport *own_store_transport(struct own_store *store)
{
    return &store->base;
}

const char *own_store_value(struct own_store *store, const char *key)
{
    const struct named_value *value = find(store, key);

    return value ? value->text : NULL;
}

void own_transport(struct world *world)
{
    const struct pod *pod = world_pod(world);
    struct own_store *store = own_store_new();
    hami_nodelock *lock = manager_new(world, own_store_transport(store));
    hami_lease *lease = take(world, lock, "some-node", pod);
    struct outcome next;

    CHECK(own_store_value(store, HAMI_NODELOCK_KEY) &&
          strstr(own_store_value(store, HAMI_NODELOCK_KEY), pod->name));
    queue(world, lock, "some-node", world_pod(world), NULL, &next);
    give(world, lock, lease);
    CHECK_CODE(outcome_await(&next), 0);
    give(world, lock, next.lease);
    CHECK(!own_store_value(store, HAMI_NODELOCK_KEY));
    manager_end(world, lock);
    own_store_free(store);
}
