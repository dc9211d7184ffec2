/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of the last happenings. Number n is at place n modulo HISTORY_MAX.
 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include <hami/kubernetes.h>

struct history {
    uint64_t last;
    void (*told)(void *data);
    void *data;
    struct happening ring[HISTORY_MAX];
};

struct history *history_new(void (*told)(void *data), void *data)
{
    struct history *history = calloc(1, sizeof(*history));
    if (history != NULL) {
        history->told = told;
        history->data = data;
    }
    return history;
}

struct history *history_free(struct history *history)
{
    free(history);
    return NULL;
}

/* Cut between two characters of UTF-8, so that it stays a text. */
static void keep_text(char *to, const char *text)
{
    size_t length = strnlen(text, HISTORY_TEXT_MAX);
    if (length == HISTORY_TEXT_MAX) {
        length--;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

void history_add(struct history *history, enum happening_kind kind,
                 const struct bind_request *about, uint64_t arrival_ns, const char *text)
{
    if (history == NULL) {
        return;
    }
    uint64_t now = hami_kubernetes_now();
    uint64_t sequence = ++history->last;
    struct happening *one = &history->ring[sequence % HISTORY_MAX];
    one->sequence = sequence;
    one->at_ns = now;
    one->span_ns = arrival_ns != 0 && now > arrival_ns ? now - arrival_ns : 0;
    one->kind = kind;
    one->about = *about;
    keep_text(one->text, text != NULL ? text : "");
    if (history->told != NULL) {
        history->told(history->data);
    }
}

static void fill(struct bind_request *ret, const struct hami_owner *owner,
                 const char *node)
{
    const struct {
        char *to;
        size_t size;
        const char *from;
    } texts[] = {
        {ret->namespace_name, sizeof(ret->namespace_name), owner->namespace_name},
        {ret->name, sizeof(ret->name), owner->name},
        {ret->uid, sizeof(ret->uid), owner->uid},
        {ret->node, sizeof(ret->node), node},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *from = texts[i].from != NULL ? texts[i].from : "";
        size_t length = strnlen(from, texts[i].size - 1);
        memcpy(texts[i].to, from, length);
        texts[i].to[length] = '\0';
    }
}

void history_add_owner(struct history *history, enum happening_kind kind,
                       const struct hami_owner *owner, const char *node, const char *text)
{
    struct bind_request about;
    fill(&about, owner, node);
    history_add(history, kind, &about, 0, text);
}

uint64_t history_last(const struct history *history)
{
    return history->last;
}

const struct happening *history_at(const struct history *history, uint64_t sequence)
{
    const struct happening *one = &history->ring[sequence % HISTORY_MAX];
    return sequence != 0 && one->sequence == sequence ? one : NULL;
}

const char *happening_name(enum happening_kind kind)
{
    static const char *const names[] = {"granted", "bound", "refused", "lost"};
    return names[kind];
}
