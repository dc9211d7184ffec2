/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers on the client's thread. Locks: none of its own (http_job.c).
 */
#include "http_client.h"

#include <stdlib.h>

void hami_internal_http_timer_end(hami_kubernetes *client,
                                  struct hami_internal_http_timer *timer, int code)
{
    if (timer->job.heap_index != SIZE_MAX) {
        hami_internal_http_heap_remove(&client->heap, &timer->job);
    }
    timer->on_fire(timer->data, code == HAMI_E_NOMEM ? HAMI_E_CANCELED : code);
    hami_internal_http_job_free(client, &timer->job);
}

int hami_internal_http_timer_start(hami_kubernetes *client, uint64_t delay_ms,
                                   hami_internal_http_timer_fn on_fire, void *data,
                                   struct hami_internal_http_timer **ret)
{
    struct hami_internal_http_timer *timer = calloc(1, sizeof(*timer));
    int code;

    if (timer == NULL) {
        return HAMI_E_NOMEM;
    }
    timer->job.kind = HAMI_INTERNAL_HTTP_TIMER;
    timer->job.heap_index = SIZE_MAX;
    timer->job.due_ns = hami_kubernetes_in_ms(delay_ms);
    timer->on_fire = on_fire;
    timer->data = data;
    if (ret != NULL) {
        *ret = timer;
    }
    code = hami_internal_http_job_enter(client, &timer->job);
    if (code != 0) {
        free(timer);
        if (ret != NULL) {
            *ret = NULL;
        }
    }
    return code;
}

void hami_internal_http_timer_cancel(hami_kubernetes *client,
                                     struct hami_internal_http_timer *timer)
{
    hami_internal_http_job_cancel(client, &timer->job);
}
