/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Letters to the event loop, in the order in which they were posted. `mutex` guards the
 * list alone and is held over nothing else; the eventfd wakes the loop, and is written to
 * only where that was not done since it was read last.
 */
#include "mailbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

struct hamid_mailbox {
    pthread_mutex_t mutex;
    struct hamid_letter *first; /* mutex */
    struct hamid_letter **last; /* mutex */
    int fd;
    atomic_bool is_rung;
    struct event *readable;
    void (*rung)(void *data);
    void *data;
};

static void open_letters(struct hamid_mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->mutex);
    struct hamid_letter *letter = mailbox->first;
    mailbox->first = NULL;
    mailbox->last = &mailbox->first;
    (void)pthread_mutex_unlock(&mailbox->mutex);
    while (letter != NULL) {
        struct hamid_letter *next = letter->next;
        letter->open(letter);
        letter = next;
    }
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    struct hamid_mailbox *mailbox = data;
    uint64_t count = 0;
    (void)what;
    ssize_t taken = read(fd, &count, sizeof(count));
    (void)taken; /* nothing to take is as good: the list says what there is */
    atomic_store(&mailbox->is_rung, false); /* before the look at what there is */
    open_letters(mailbox);
    if (mailbox->rung != NULL) {
        mailbox->rung(mailbox->data);
    }
}

struct hamid_mailbox *hamid_mailbox_new(struct event_base *base, void (*rung)(void *data),
                                        void *data)
{
    struct hamid_mailbox *mailbox = calloc(1, sizeof(*mailbox));
    if (mailbox == NULL) {
        return NULL;
    }
    mailbox->last = &mailbox->first;
    mailbox->rung = rung;
    mailbox->data = data;
    (void)pthread_mutex_init(&mailbox->mutex, NULL);
    mailbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mailbox->fd >= 0) {
        mailbox->readable =
            event_new(base, mailbox->fd, EV_READ | EV_PERSIST, on_readable, mailbox);
    }
    if (mailbox->readable == NULL || event_add(mailbox->readable, NULL) != 0) {
        return hamid_mailbox_free(mailbox);
    }
    return mailbox;
}

struct hamid_mailbox *hamid_mailbox_free(struct hamid_mailbox *mailbox)
{
    if (mailbox == NULL) {
        return NULL;
    }
    open_letters(mailbox);
    if (mailbox->readable != NULL) {
        event_free(mailbox->readable);
    }
    if (mailbox->fd >= 0) {
        (void)close(mailbox->fd);
    }
    (void)pthread_mutex_destroy(&mailbox->mutex);
    free(mailbox);
    return NULL;
}

void hamid_mailbox_ring(void *data)
{
    struct hamid_mailbox *mailbox = data;
    uint64_t one = 1;
    if (atomic_exchange(&mailbox->is_rung, true)) {
        return;
    }
    ssize_t written = write(mailbox->fd, &one, sizeof(one));
    (void)written; /* full means that the loop is awake already */
}

void hamid_mailbox_post(struct hamid_mailbox *mailbox, struct hamid_letter *letter)
{
    letter->next = NULL;
    (void)pthread_mutex_lock(&mailbox->mutex);
    *mailbox->last = letter;
    mailbox->last = &letter->next;
    (void)pthread_mutex_unlock(&mailbox->mutex);
    hamid_mailbox_ring(mailbox);
}
