/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See history.h. Each entry: its size, the entry itself, six texts one after the other,
 * all in one piece; what is left at the end of the ring, too small for the next, is a
 * gap. */
#include "history.h"

#include <string.h>

enum { TEXTS = 6, ALIGNED = 8, GAP = 1, TYPICAL = 224 /* bytes of an entry */ };

struct packed {
    size_t bytes; /* of the whole entry, aligned; | GAP: nothing is in it */
    struct hami_internal_hand_over entry;
    char texts[];
};

static void texts_of(const struct hami_internal_hand_over *entry, const char **texts)
{
    const struct hami_owner *owners[] = {&entry->from, &entry->to};

    for (size_t i = 0; i < 2; i++) {
        texts[3 * i] = owners[i]->namespace_name;
        texts[3 * i + 1] = owners[i]->name;
        texts[3 * i + 2] = owners[i]->uid;
    }
}

/* @at  bytes from the oldest entry */
static struct packed *packed_at(const struct hami_internal_history *history, size_t at)
{
    size_t from = history->first + at;

    from = from < history->size ? from : from - history->size;
    return (struct packed *)(void *)&history->bytes[from];
}

static void drop_oldest(struct hami_internal_history *history)
{
    size_t bytes = packed_at(history, 0)->bytes;

    history->count -= (bytes & GAP) == 0;
    bytes &= ~(size_t)GAP;
    history->used -= bytes;
    history->first += bytes;
    if (history->first == history->size) {
        history->first = 0;
    }
}

/* Room in one piece behind the newest entry. */
static struct packed *make_room(struct hami_internal_history *history, size_t bytes)
{
    size_t from = (history->first + history->used) % history->size;
    size_t gap = history->size - from < bytes ? history->size - from : 0;

    while (history->count > 0 && (history->used + gap + bytes > history->size ||
                                  history->count >= HAMI_NODELOCK_HAND_OVERS_MAX)) {
        drop_oldest(history);
    }
    if (history->count == 0) {
        history->first = history->used = gap = 0;
    }
    if (gap > 0) {
        packed_at(history, history->used)->bytes = gap | GAP;
        history->used += gap;
    }
    return packed_at(history, history->used);
}

void hami_internal_history_add(struct hami_internal_history *history,
                               const struct hami_internal_hand_over *entry)
{
    const char *texts[TEXTS];
    size_t lengths[TEXTS], bytes = sizeof(struct packed);

    texts_of(entry, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        lengths[i] = strlen(texts[i]) + 1;
        bytes += lengths[i];
    }
    bytes = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (bytes > history->size) {
        history->missed = bytes > history->missed ? (uint32_t)bytes : history->missed;
        return;
    }
    struct packed *packed = make_room(history, bytes);
    char *text = packed->texts;
    packed->bytes = bytes;
    packed->entry = *entry;
    for (size_t i = 0; i < TEXTS; i++) {
        memcpy(text, texts[i], lengths[i]);
        text += lengths[i];
    }
    history->used += bytes;
    history->count++;
}

bool hami_internal_history_read(const struct hami_internal_history *history, size_t *at,
                                struct hami_internal_hand_over *ret)
{
    while (*at < history->used && (packed_at(history, *at)->bytes & GAP)) {
        *at += packed_at(history, *at)->bytes & ~(size_t)GAP;
    }
    if (*at >= history->used) {
        return false;
    }
    const struct packed *packed = packed_at(history, *at);
    const char *texts[TEXTS];
    const char *text = packed->texts;
    for (size_t i = 0; i < TEXTS; i++) {
        texts[i] = text;
        text += strlen(text) + 1;
    }
    *ret = packed->entry;
    ret->from = (struct hami_owner){texts[0], texts[1], texts[2]};
    ret->to = (struct hami_owner){texts[3], texts[4], texts[5]};
    *at += packed->bytes;
    return true;
}

size_t hami_internal_history_fit(const struct hami_internal_history *history,
                                 size_t waiters)
{
    size_t size = history ? history->size : HAMI_INTERNAL_HISTORY_LEAST;
    size_t used = history ? history->used : 0;
    size_t most = HAMI_INTERNAL_HISTORY_BYTES / TYPICAL;
    size_t wanted = used + TYPICAL * ((waiters < most ? waiters : most) + 1);

    if (history && history->missed > wanted) {
        wanted = history->missed;
    }
    while (size < wanted && size < HAMI_INTERNAL_HISTORY_BYTES) {
        size *= 2;
    }
    return size;
}

void hami_internal_history_move(struct hami_internal_history *to,
                                const struct hami_internal_history *from)
{
    struct hami_internal_hand_over entry;
    size_t at = 0;

    while (hami_internal_history_read(from, &at, &entry)) {
        hami_internal_history_add(to, &entry);
    }
}
