/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See after.h. */
#include "after.h"

#include <stdarg.h>
#include <stdio.h>

#include "call.h"
#include "dispatch.h"
#include "grant.h"
#include "memory.h"

void hami_internal_after_init(struct hami_internal_after *after,
                              struct hami_internal_node *node)
{
    after->lock = node->lock;
    after->node = node;
    list_init(&after->ready_waits);
    list_init(&after->ready_dones);
    list_init(&after->ended_grants);
    after->fact_count = 0;
    after->need_call = after->need_grant = after->lost = after->wake = false;
    after->abort = after->free_call = NULL;
    after->log_count = 0;
}

void hami_internal_after_free_facts(struct hami_internal_after *after,
                                    struct hami_internal_facts *facts)
{
    if (!facts) {
        return;
    }
    if (after->fact_count < sizeof(after->facts) / sizeof(after->facts[0])) {
        after->facts[after->fact_count++] = facts;
    } else {
        /* More than a node's operation ever sets free: better under the lock than lost.
         */
        hami_internal_memory_free(hami_internal_allocator(after->lock), facts);
    }
}

void hami_internal_after_log(struct hami_internal_after *after, enum hami_log_level level,
                             const char *format, ...)
{
    va_list arguments;

    if (!after->lock->config.log ||
        after->log_count == sizeof(after->logs) / sizeof(after->logs[0])) {
        return;
    }
    after->logs[after->log_count].level = level;
    va_start(arguments, format);
    (void)vsnprintf(after->logs[after->log_count].line, sizeof(after->logs[0].line),
                    format, arguments);
    va_end(arguments);
    after->log_count++;
}

void hami_internal_after_run(struct hami_internal_after *after)
{
    struct hami_nodelock *lock = after->lock;

    LIST_EACH_SAFE(link, next, &after->ended_grants)
    {
        hami_internal_grant_free(lock,
                                 LIST_ENTRY(link, struct hami_internal_grant, link));
    }
    list_init(&after->ended_grants);
    for (size_t i = 0; i < after->fact_count; i++) {
        hami_internal_memory_free(hami_internal_allocator(lock), after->facts[i]);
    }
    after->fact_count = 0;
    hami_internal_call_free(after->free_call);
    after->free_call = NULL;
    for (size_t i = 0; i < after->log_count; i++) {
        lock->config.log(lock->config.log_data, after->logs[i].level,
                         after->logs[i].line);
    }
    after->log_count = 0;
    if (after->abort && lock->transport->abort) {
        lock->transport->abort(lock->transport, after->abort);
    }
    hami_internal_call_free(after->abort);
    after->abort = NULL;
    hami_internal_dispatch_queue(after);
}
