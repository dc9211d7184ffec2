/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller is told when a bind does not come about: one line that names the node,
 * the holder and the reason. It becomes a pod's event, where people look for HAMi's own
 * phrases "node lock contention" and "has been locked within": both stay.
 */
#include "bind_internal.h"

#include <stdio.h>
#include <string.h>

#include "flags.h"

/* Thousands of waiters may end at one moment: the node is not looked at for each of them.
 */
#define HOLDER_FRESH_NS 100000000ull

struct holder_question {
    char *buffer;
    size_t size;
    uint64_t now_ns;
};

static int describe_holder(void *data, const struct hami_node_view *view)
{
    struct holder_question *question = data;
    for (size_t i = 0; i < view->slot_count; i++) {
        const struct hami_slot_view *slot = &view->slots[i];
        if (slot->value == NULL || slot->value[0] == '\0') {
            continue;
        }
        double age = slot->since_ns != 0 && slot->since_ns < question->now_ns
                         ? (double)(question->now_ns - slot->since_ns) / 1e9
                         : 0;
        if (slot->owner.name != NULL) {
            (void)snprintf(
                question->buffer, question->size, " by pod %.63s/%.253s (seen for %.1fs)",
                slot->owner.namespace_name != NULL ? slot->owner.namespace_name : "",
                slot->owner.name, age);
        } else {
            (void)snprintf(question->buffer, question->size,
                           " by a writer that named no pod (seen for %.1fs)", age);
        }
        return 1;
    }
    return 0;
}

static const char *holder_text(struct binder *binder, const char *node)
{
    uint64_t now = hami_nodelock_now(binder->config.lock);
    bool is_fresh = strcmp(binder->holder_node, node) == 0 && binder->holder_ns != 0 &&
                    now - binder->holder_ns < HOLDER_FRESH_NS;
    if (!is_fresh) {
        struct holder_question question = {binder->holder_text,
                                           sizeof(binder->holder_text), now};
        binder->holder_text[0] = '\0';
        (void)snprintf(binder->holder_node, sizeof(binder->holder_node), "%s", node);
        binder->holder_ns = now;
        (void)hami_nodelock_snapshot(binder->config.lock, node, describe_holder,
                                     &question);
    }
    return binder->holder_text;
}

void bind_text_acquire(struct binder *binder, const struct bind_request *request,
                       int code, const char *text, char *buffer, size_t size)
{
    char expire[32];
    const char *separator = text[0] != '\0' ? ": " : "";
    switch (code) {
    case HAMI_E_TIMEDOUT:
    case HAMI_E_LIMIT:
        hamid_duration_format(binder->config.lock_expire_ms, expire, sizeof(expire));
        (void)snprintf(buffer, size,
                       "node lock contention: node %s has been locked within %s%s%s%s; "
                       "the place in the queue is kept",
                       request->node, expire, holder_text(binder, request->node),
                       separator, text);
        break;
    case HAMI_E_CLOSED:
        (void)snprintf(buffer, size, "hamid is shutting down; ask again");
        break;
    case HAMI_E_NODE:
        (void)snprintf(buffer, size, "there is no node %s%s%s", request->node, separator,
                       text);
        break;
    case HAMI_E_LOST:
        (void)snprintf(buffer, size, "pod %s/%s can't be bound to node %s%s%s",
                       request->namespace_name, request->name, request->node, separator,
                       text);
        break;
    default:
        (void)snprintf(buffer, size, "could not lock node %s: %s%s%s", request->node,
                       hami_strerror(code), separator, text);
        break;
    }
}

void bind_text_binding(const struct bind_request *request, int code, const char *text,
                       char *buffer, size_t size)
{
    (void)snprintf(buffer, size, "could not bind pod %s/%s to node %s: %s%s%s",
                   request->namespace_name, request->name, request->node,
                   hami_strerror(code), text[0] != '\0' ? ": " : "", text);
}
