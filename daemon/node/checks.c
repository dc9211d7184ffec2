/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the books are looked at, and what is said about what they tell. A look comes 100
 * ms after an answer, later ones after pauses that double; an answer that the books don't
 * have after 10 s is given up: its pod has gone, or its container is an init container,
 * which the kubelet does not list. Loop's thread; no lock.
 */
#include "checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "handed.h"
#include "log.h"
#include "node_events.h"

#define LOOK_FIRST_MS 100
#define LOOK_LAST_MS 2000
#define LOOK_TIMEOUT_MS 2000
#define GIVE_UP_NS (10 * UINT64_C(1000000000))

struct checks {
    struct books *books;
    const struct handed *handed;
    struct node_events *events;
    struct answers answers;
    struct event *timer;
    uint64_t pause_ms;
    struct books_reading *look; /* NULL: none runs */
    bool was_unreadable;        /* said already */
    struct checks_ask *asks;
    struct checks_stats stats;
};

struct checks_ask {
    struct checks *checks;
    struct books_reading *reading; /* NULL: done */
    struct handed_ask *handed;     /* NULL: not asked */
    struct answer *wanted;         /* resource and ids; the other texts are empty */
    uint64_t deadline_ns;
    char text[1024];
    checks_told_fn told;
    void *data;
    struct checks_ask *next, **link;
};

/* ---- what is said
 * ------------------------------------------------------------------------------- */

static void describe(const struct answer *answer, const struct books_row *row, char *text,
                     size_t size)
{
    (void)snprintf(text, size,
                   "devices of %s that were answered for container %s of pod %s/%s are "
                   "with container %s of pod %s/%s",
                   answer->resource, answer->container, answer->namespace_name,
                   answer->pod, row->holding.container, row->holding.namespace_name,
                   row->holding.pod);
}

static void alarm_swapped(void *data, const struct answer *answer,
                          const struct books_row *row)
{
    struct checks *checks = data;
    char text[1024];

    describe(answer, row, text, sizeof(text));
    checks->stats.swapped++;
    hamid_log_error("The kubelet gave devices to another container than was answered for",
                    "err", text, NULL);
    node_events_send(checks->events, "DevicesSwapped", text, hami_kubernetes_now());
}

static void say_unreadable(struct checks *checks, const char *problem)
{
    checks->stats.failures++;
    if (!checks->was_unreadable) {
        checks->was_unreadable = true;
        hamid_log_warning("Can't check who has the devices", "err", problem, NULL);
    }
}

/* ---- looking
 * ------------------------------------------------------------------------------------ */

static void plan_look(struct checks *checks)
{
    struct timeval pause = {(time_t)(checks->pause_ms / 1000),
                            (suseconds_t)(checks->pause_ms % 1000) * 1000};

    if (checks->look == NULL && !event_pending(checks->timer, EV_TIMEOUT, NULL)) {
        (void)event_add(checks->timer, &pause);
        checks->pause_ms *= 2;
        if (checks->pause_ms > LOOK_LAST_MS) {
            checks->pause_ms = LOOK_LAST_MS;
        }
    }
}

static void give_up_old(struct checks *checks)
{
    uint64_t now = hami_kubernetes_now();

    if (now > GIVE_UP_NS) {
        checks->stats.unseen += answers_give_up(&checks->answers, now - GIVE_UP_NS);
    }
}

void checks_compare(struct checks *checks, const struct books_page *page)
{
    checks->was_unreadable = false;
    checks->stats.confirmed +=
        answers_compare(&checks->answers, page, alarm_swapped, checks);
}

static void looked(void *data, const struct books_page *page, const char *problem)
{
    struct checks *checks = data;

    checks->look = NULL;
    if (page != NULL) {
        checks_compare(checks, page);
    } else {
        say_unreadable(checks, problem);
    }
    give_up_old(checks);
    if (checks->answers.open > 0) {
        plan_look(checks);
    }
}

static void look_due(evutil_socket_t fd, short what, void *data)
{
    struct checks *checks = data;

    (void)fd;
    (void)what;
    if (checks->answers.open > 0 && checks->look == NULL) {
        checks->look = books_read_start(checks->books, LOOK_TIMEOUT_MS, looked, checks);
        if (checks->look == NULL) {
            plan_look(checks);
        }
    }
}

void checks_add(struct checks *checks, struct answer *answer)
{
    if (answer == NULL) {
        return;
    }
    if (answers_add(&checks->answers, answer, hami_kubernetes_now())) {
        checks->pause_ms = LOOK_FIRST_MS;
        plan_look(checks);
    }
}

/* ---- before a start
 * ----------------------------------------------------------------------------- */

static void ask_end(struct checks_ask *ask, enum answers_verdict verdict,
                    const char *text)
{
    *ask->link = ask->next;
    if (ask->next != NULL) {
        ask->next->link = ask->link;
    }
    ask->checks->stats.starts[verdict]++;
    ask->told(ask->data, verdict, text);
    answer_free(ask->wanted);
    free(ask);
}

/* The one container that has all these ids on the books; NULL where there is none. */
static const struct books_row *holder(const struct books_page *page,
                                      const struct answer *wanted)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct books_row *row = &page->rows[i];
        size_t found = 0;

        for (size_t j = 0; j < wanted->id_count; j++) {
            for (size_t k = 0; k < row->id_count; k++) {
                if (strcmp(row->ids[k], wanted->ids[j]) == 0) {
                    found++;
                    break;
                }
            }
        }
        if (strcmp(row->holding.resource, wanted->resource) == 0 && found > 0 &&
            found == wanted->id_count) {
            return row;
        }
    }
    return NULL;
}

static void ask_handed_told(void *data, enum handed_word word)
{
    struct checks_ask *ask = data;

    ask->handed = NULL;
    if (word == HANDED_NOT) {
        node_events_send(ask->checks->events, "DevicesSwapped", ask->text,
                         hami_kubernetes_now());
        ask_end(ask, ANSWERS_SWAPPED, ask->text);
        return;
    }
    ask_end(ask, word == HANDED_OUT ? ANSWERS_CONFIRMED : ANSWERS_UNKNOWN,
            word == HANDED_OUT ? ""
                               : "nothing is known about these devices here, and their "
                                 "pod does not tell whether they were handed out");
}

/* We did not answer for these devices, perhaps an agent before us. */
static void ask_pod(struct checks_ask *ask, const struct books_page *page)
{
    const struct books_row *row = holder(page, ask->wanted);

    if (row == NULL) {
        ask_end(ask, ANSWERS_UNKNOWN,
                "nothing is known about all of these devices here, or they are not on "
                "the kubelet's books");
        return;
    }
    (void)snprintf(ask->text, sizeof(ask->text),
                   "container %s of pod %s/%s has devices of %s, and its pod waits for "
                   "them still: they were handed out for another one",
                   row->holding.container, row->holding.namespace_name, row->holding.pod,
                   row->holding.resource);
    ask->handed = handed_ask_start(ask->checks->handed, &row->holding, ask->deadline_ns,
                                   ask_handed_told, ask);
    if (ask->handed == NULL) {
        ask_end(ask, ANSWERS_UNKNOWN, "the pod can't be asked");
    }
}

static void ask_read(void *data, const struct books_page *page, const char *problem)
{
    struct checks_ask *ask = data;
    const struct answer *answer = NULL;
    const struct books_row *row = NULL;
    enum answers_verdict verdict;

    ask->reading = NULL;
    if (page == NULL) {
        say_unreadable(ask->checks, problem);
        ask_end(ask, ANSWERS_UNKNOWN, problem);
        return;
    }
    checks_compare(ask->checks, page);
    verdict = answers_judge(&ask->checks->answers, page, ask->wanted->resource,
                            ask->wanted->ids, ask->wanted->id_count, &answer, &row);
    if (verdict == ANSWERS_UNKNOWN) {
        ask_pod(ask, page);
        return;
    }
    if (verdict == ANSWERS_SWAPPED) {
        describe(answer, row, ask->text, sizeof(ask->text));
    }
    ask_end(ask, verdict, ask->text);
}

static void ask_break_off(struct checks_ask *ask)
{
    if (ask->reading != NULL) {
        books_read_cancel(ask->reading);
    }
    if (ask->handed != NULL) {
        handed_ask_cancel(ask->handed);
    }
}

struct checks_ask *checks_ask_start(struct checks *checks, const char *resource,
                                    const char *const *ids, size_t count,
                                    uint64_t timeout_ms, checks_told_fn told, void *data)
{
    static const struct hami_owner nobody = {"", "", ""};
    struct checks_ask *ask = calloc(1, sizeof(*ask));

    if (ask == NULL) {
        return NULL;
    }
    ask->checks = checks;
    ask->deadline_ns = hami_kubernetes_in_ms(timeout_ms);
    ask->told = told;
    ask->data = data;
    ask->wanted = answer_new(resource, &nobody, "", ids, count);
    ask->reading = ask->wanted != NULL
                       ? books_read_start(checks->books, timeout_ms, ask_read, ask)
                       : NULL;
    if (ask->reading == NULL) {
        answer_free(ask->wanted);
        free(ask);
        return NULL;
    }
    ask->next = checks->asks;
    ask->link = &checks->asks;
    if (ask->next != NULL) {
        ask->next->link = &ask->next;
    }
    checks->asks = ask;
    return ask;
}

void checks_ask_cancel(struct checks_ask *ask)
{
    ask_break_off(ask);
    *ask->link = ask->next;
    if (ask->next != NULL) {
        ask->next->link = ask->link;
    }
    answer_free(ask->wanted);
    free(ask);
}

/* ---- life
 * ---------------------------------------------------------------------------------------
 */

void checks_stats(const struct checks *checks, struct checks_stats *ret)
{
    *ret = checks->stats;
    ret->open = checks->answers.open;
    ret->swapped_now = 0;
    for (const struct answer *answer = checks->answers.newest; answer != NULL;
         answer = answer->older) {
        ret->swapped_now += answer->state == ANSWER_SWAPPED;
    }
}

struct checks *checks_new(struct event_base *base, struct books *books,
                          struct node_events *events, const struct handed *handed)
{
    struct checks *checks = calloc(1, sizeof(*checks));

    if (checks == NULL) {
        return NULL;
    }
    checks->books = books;
    checks->events = events;
    checks->handed = handed;
    checks->pause_ms = LOOK_FIRST_MS;
    checks->timer = event_new(base, -1, 0, look_due, checks);
    if (answers_init(&checks->answers) < 0 || checks->timer == NULL) {
        return checks_free(checks);
    }
    return checks;
}

struct checks *checks_free(struct checks *checks)
{
    if (checks == NULL) {
        return NULL;
    }
    while (checks->asks != NULL) {
        struct checks_ask *ask = checks->asks;

        ask_break_off(ask);
        ask_end(ask, ANSWERS_UNKNOWN, "stopping");
    }
    if (checks->look != NULL) {
        books_read_cancel(checks->look);
    }
    if (checks->timer != NULL) {
        event_free(checks->timer);
    }
    answers_done(&checks->answers);
    free(checks);
    return NULL;
}
