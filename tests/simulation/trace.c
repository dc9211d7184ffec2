/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See trace.h. A ring of lines of the whole world; those of one node are picked out. */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES 20000
#define SHOWN 600

struct trace {
    size_t end;
    struct {
        int node;
        char text[400];
    } lines[LINES];
};

void trace_start(struct world *world, bool keep)
{
    world->trace = keep ? calloc(1, sizeof(*world->trace)) : NULL;
}

void trace_done(struct world *world)
{
    free(world->trace);
    world->trace = NULL;
}

void trace_line(struct world *world, const struct node *node, const char *format, ...)
{
    va_list arguments;

    if (!world->trace) {
        return;
    }
    size_t at = world->trace->end++ % LINES;
    char *text = world->trace->lines[at].text;
    size_t size = sizeof(world->trace->lines[at].text);
    world->trace->lines[at].node = node ? (int)node->index : -1;
    int length = snprintf(text, size, "%10.4f #%" PRIu64 " ",
                          (double)world_now(world) / 1e9, world->step);
    va_start(arguments, format);
    (void)vsnprintf(text + length, size - (size_t)length, format, arguments);
    va_end(arguments);
}

static const char *text_of(const struct object *object, const char *key)
{
    const char *value = object_get(object, key);

    return value ? value : "-";
}

void trace_node(struct world *world, const struct node *node, const struct object *before,
                const struct object *after, const char *who)
{
    for (size_t i = 0; world->trace && i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        bool same =
            before && after &&
            strcmp(text_of(before, slot->lock), text_of(after, slot->lock)) == 0 &&
            strcmp(text_of(before, slot->lease), text_of(after, slot->lease)) == 0;
        if (same && world->slot_count > 1) {
            continue;
        }
        trace_line(world, node, "%s v%" PRIu64 " %s by %s: %s %s lease %s", node->name,
                   world->version,
                   !before  ? "made"
                   : !after ? "deleted"
                            : "written",
                   who, slot->lock, text_of(after, slot->lock),
                   text_of(after, slot->lease));
    }
    if (world->trace &&
        strcmp(text_of(before, KEY_AGENT), text_of(after, KEY_AGENT)) != 0) {
        trace_line(world, node, "%s says %s", node->name, text_of(after, KEY_AGENT));
    }
}

void trace_pod(struct world *world, const struct pod *pod, const struct object *before,
               const struct object *after, const char *who)
{
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};

    if (world->trace) {
        trace_line(world, pod->node,
                   "%s v%" PRIu64 " %s by %s: uid %s on %s%s %s phase %s done %s "
                   "revoked %s",
                   pod->name, world->version,
                   !before  ? "made"
                   : !after ? "deleted"
                            : "written",
                   who, after ? after->uid : before->uid,
                   after && after->node[0] ? after->node : "-",
                   after && after->deleting ? " deleting" : "",
                   after ? phases[after->phase] : "-", text_of(after, KEY_PHASE),
                   text_of(after, KEY_DONE), text_of(after, KEY_REVOKED));
    }
}

void trace_print(struct world *world, const struct node *node)
{
    if (!world->trace) {
        return;
    }
    size_t kept = world->trace->end < LINES ? world->trace->end : LINES;
    size_t first = world->trace->end - kept, count = 0;
    int wanted = node ? (int)node->index : -1;
    for (size_t i = world->trace->end; i > first; i--) {
        int one = world->trace->lines[(i - 1) % LINES].node;
        count += one == wanted || one == -1;
        if (count == SHOWN) {
            first = i - 1;
            break;
        }
    }
    for (size_t i = first; i < world->trace->end; i++) {
        int one = world->trace->lines[i % LINES].node;
        if (one == wanted || one == -1) {
            (void)printf("# %s\n", world->trace->lines[i % LINES].text);
        }
    }
}
