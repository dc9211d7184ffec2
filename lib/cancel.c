/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sticky, counted cancel flags. cancel.mutex guards the list of waits; under it only
 * ready_mutex is taken: firing marks nodes for dispatch, which then ends the waits under
 * the node's own mutex.
 */
#include "cancel.h"

#include <stdlib.h>

#include "dispatch.h"

struct hami_cancel {
    atomic_uint references;
    atomic_bool fired;
    pthread_mutex_t mutex;
    pthread_cond_t told;
    struct hami_internal_list waits;
    struct hami_wait
        *telling; /* whose manager is being woken: it may not go away meanwhile */
};

int hami_cancel_new(hami_cancel **ret)
{
    if (!ret) {
        return HAMI_E_INVAL;
    }
    hami_cancel *cancel = calloc(1, sizeof(*cancel));
    if (!cancel) {
        return HAMI_E_NOMEM;
    }
    if (pthread_mutex_init(&cancel->mutex, NULL) != 0) {
        free(cancel);
        return HAMI_E_NOMEM;
    }
    if (pthread_cond_init(&cancel->told, NULL) != 0) {
        (void)pthread_mutex_destroy(&cancel->mutex);
        free(cancel);
        return HAMI_E_NOMEM;
    }
    atomic_init(&cancel->references, 1);
    list_init(&cancel->waits);
    *ret = cancel;
    return 0;
}

bool hami_cancel_is_fired(const hami_cancel *cancel)
{
    return cancel && atomic_load(&cancel->fired);
}

hami_cancel *hami_cancel_ref(hami_cancel *cancel)
{
    if (cancel) {
        atomic_fetch_add(&cancel->references, 1);
    }
    return cancel;
}

hami_cancel *hami_cancel_unref(hami_cancel *cancel)
{
    if (cancel && atomic_fetch_sub(&cancel->references, 1) == 1) {
        (void)pthread_cond_destroy(&cancel->told);
        (void)pthread_mutex_destroy(&cancel->mutex);
        free(cancel);
    }
    return NULL;
}

/* Marks the next wait's node and takes the wait off the list; detach waits while it is
 * told. */
static struct hami_wait *next_wait(hami_cancel *cancel)
{
    struct hami_wait *wait = NULL;

    (void)pthread_mutex_lock(&cancel->mutex);
    cancel->telling = NULL;
    (void)pthread_cond_broadcast(&cancel->told);
    if (!list_is_empty(&cancel->waits)) {
        struct hami_internal_extra *extra =
            LIST_ENTRY(cancel->waits.next, struct hami_internal_extra, cancel_link);
        list_remove(&extra->cancel_link);
        cancel->telling = wait = extra->wait;
        hami_internal_dispatch_kick(wait->node);
    }
    (void)pthread_mutex_unlock(&cancel->mutex);
    return wait;
}

int hami_cancel_fire(hami_cancel *cancel)
{
    struct hami_wait *wait;

    if (!cancel) {
        return HAMI_E_INVAL;
    }
    /* A wait that is attached from now on looks at the flag itself. */
    if (!atomic_exchange(&cancel->fired, true)) {
        while ((wait = next_wait(cancel))) {
            hami_internal_dispatch_wake(wait->node->lock);
        }
    }
    return 0;
}

void hami_internal_cancel_attach(struct hami_wait *wait, hami_cancel *cancel)
{
    struct hami_internal_extra *extra = wait_extra(wait);

    if (!cancel) {
        return;
    }
    extra->cancel = hami_cancel_ref(cancel);
    (void)pthread_mutex_lock(&cancel->mutex);
    list_insert(&cancel->waits, &extra->cancel_link);
    (void)pthread_mutex_unlock(&cancel->mutex);
}

void hami_internal_cancel_detach(struct hami_wait *wait)
{
    struct hami_internal_extra *extra = wait_extra(wait);
    hami_cancel *cancel = extra ? extra->cancel : NULL;

    if (!cancel) {
        return;
    }
    (void)pthread_mutex_lock(&cancel->mutex);
    while (cancel->telling == wait) {
        (void)pthread_cond_wait(&cancel->told, &cancel->mutex);
    }
    list_remove(&extra->cancel_link);
    (void)pthread_mutex_unlock(&cancel->mutex);
    extra->cancel = hami_cancel_unref(cancel);
}

bool hami_internal_cancel_is_fired(const struct hami_wait *wait)
{
    const struct hami_internal_extra *extra = wait_extra(wait);

    return extra && hami_cancel_is_fired(extra->cancel);
}
