/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See wait.h. Its mutex is held over nothing else. */
#include "wait.h"

#include <stddef.h>

void hami_internal_wait_end(struct hami_internal_wait *wait)
{
    pthread_mutex_lock(&wait->mutex);
    wait->has_ended = true;
    pthread_cond_signal(&wait->ended);
    pthread_mutex_unlock(&wait->mutex);
}

void hami_internal_wait_for(struct hami_internal_wait *wait)
{
    int before;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&wait->mutex);
    while (!wait->has_ended) {
        pthread_cond_wait(&wait->ended, &wait->mutex);
    }
    pthread_mutex_unlock(&wait->mutex);
    (void)pthread_setcancelstate(before, NULL);
    pthread_cond_destroy(&wait->ended);
    pthread_mutex_destroy(&wait->mutex);
}
