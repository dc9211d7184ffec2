/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Letters to the event loop: how an answer that comes on a library's thread gets to the
 * loop's.
 *
 * A letter lies within whatever it is about, so that posting needs no memory and can't
 * fail. It belongs to the mailbox from post until `open` is called, once, on the loop's
 * thread. `ring` only asks for a turn of the loop: the mailbox then calls `rung`, once
 * for any number of rings.
 */
#ifndef HAMID_MAILBOX_H
#define HAMID_MAILBOX_H

struct event_base;
struct hamid_mailbox;

struct hamid_letter {
    struct hamid_letter *next;
    void (*open)(struct hamid_letter *letter);
};

/*
 * Makes a mailbox that wakes `base`.
 * @rung     NULL, or called with data on the loop's thread after hamid_mailbox_ring()
 * Returns   NULL without memory or file descriptors
 */
struct hamid_mailbox *hamid_mailbox_new(struct event_base *base, void (*rung)(void *data),
                                        void *data);

/* Letters that are still in it are opened. Nobody may post any more. Takes NULL, returns
 * NULL. */
struct hamid_mailbox *hamid_mailbox_free(struct hamid_mailbox *mailbox);

/* From any thread; never blocks. */
void hamid_mailbox_post(struct hamid_mailbox *mailbox, struct hamid_letter *letter);

/* From any thread; never blocks. Fits hami_nodelock_config.wakeup. */
void hamid_mailbox_ring(void *mailbox);

#endif
