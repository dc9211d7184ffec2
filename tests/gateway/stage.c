/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The stage's thread. */
#include "stage.h"

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <time.h>

#include "mailbox.h"

/* Something to do on the loop's thread. */
struct act {
    struct hamid_letter letter; /* first */
    struct stage *stage;
    void (*act)(void *data);
    void *data;
    bool is_done; /* mutex */
};

static void *run(void *data)
{
    struct stage *stage = data;

    (void)event_base_loop(stage->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

void stage_start(struct stage *stage)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&stage->mutex, NULL);
    pthread_cond_init(&stage->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    stage->base = event_base_new();
    ck_assert_ptr_nonnull(stage->base);
    stage->mailbox = hamid_mailbox_new(stage->base, NULL, NULL);
    ck_assert_ptr_nonnull(stage->mailbox);
    ck_assert_int_eq(pthread_create(&stage->thread, NULL, run, stage), 0);
}

static void leave(void *data)
{
    struct stage *stage = data;

    (void)event_base_loopbreak(stage->base);
}

void stage_stop(struct stage *stage)
{
    stage_do(stage, leave, stage);
    pthread_join(stage->thread, NULL);
    hamid_mailbox_free(stage->mailbox);
    event_base_free(stage->base);
    pthread_cond_destroy(&stage->changed);
    pthread_mutex_destroy(&stage->mutex);
}

void stage_change(struct stage *stage)
{
    pthread_mutex_lock(&stage->mutex);
}

void stage_changed(struct stage *stage)
{
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->mutex);
}

static void act_opened(struct hamid_letter *letter)
{
    struct act *act = (struct act *)letter;
    struct stage *stage = act->stage;

    act->act(act->data);
    stage_change(stage);
    act->is_done = true;
    stage_changed(stage);
}

static bool is_done(const void *data)
{
    return ((const struct act *)data)->is_done;
}

void stage_do(struct stage *stage, void (*do_it)(void *data), void *data)
{
    struct act act = {
        .letter.open = act_opened, .stage = stage, .act = do_it, .data = data};

    hamid_mailbox_post(stage->mailbox, &act.letter);
    ck_assert(stage_wait(stage, is_done, &act));
}

bool stage_wait(struct stage *stage, bool (*holds)(const void *data), const void *data)
{
    struct timespec until;
    bool does_hold;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += STAGE_WAIT_MS / 1000;
    pthread_mutex_lock(&stage->mutex);
    while (!(does_hold = holds(data)) &&
           pthread_cond_timedwait(&stage->changed, &stage->mutex, &until) != ETIMEDOUT) {
        continue;
    }
    pthread_mutex_unlock(&stage->mutex);
    return does_hold;
}
