/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See history.h. Each entry: its size, the entry itself, six texts one after the other.
 */
#include "history.h"

#include <string.h>

enum { TEXTS = 6, ALIGNED = 8 };

struct packed {
    size_t bytes; /* of the whole entry, aligned */
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

static struct packed *packed_at(const struct hami_internal_history *history, size_t at)
{
    return (struct packed *)(void *)&history->bytes[at];
}

static void drop_oldest(struct hami_internal_history *history)
{
    size_t bytes = packed_at(history, 0)->bytes;

    history->used -= bytes;
    history->count--;
    memmove(history->bytes, history->bytes + bytes, history->used);
}

void hami_internal_history_add(struct hami_internal_history *history,
                               const struct hami_internal_hand_over *entry)
{
    const char *texts[TEXTS];
    size_t bytes = sizeof(struct packed);

    texts_of(entry, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        bytes += strlen(texts[i]) + 1;
    }
    bytes = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (bytes > sizeof(history->bytes)) {
        return;
    }
    while (history->used + bytes > sizeof(history->bytes) ||
           history->count >= HAMI_NODELOCK_HAND_OVERS_MAX) {
        drop_oldest(history);
    }
    struct packed *packed = packed_at(history, history->used);
    char *text = packed->texts;
    packed->bytes = bytes;
    packed->entry = *entry;
    for (size_t i = 0; i < TEXTS; i++) {
        size_t length = strlen(texts[i]) + 1;
        memcpy(text, texts[i], length);
        text += length;
    }
    history->used += bytes;
    history->count++;
}

bool hami_internal_history_read(const struct hami_internal_history *history, size_t *at,
                                struct hami_internal_hand_over *ret)
{
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
