/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See marks.h. */
#include "marks.h"

#include <string.h>

#include "kubelet.h"
#include "store.h"

#define BESIDE "1,free=scheduler,side-by-side"

/* A side that can do it, one that is told not to, and one of an older version. */
static const char *draw(struct world *world)
{
    static const char *const marks[] = {
        BESIDE, BESIDE, BESIDE, BESIDE, BESIDE, "1,free=scheduler", "1,free=node", NULL};

    return marks[engine_below(&world->engine, RANDOM_WORK,
                              sizeof(marks) / sizeof(marks[0]))];
}

void marks_first(struct world *world, const struct node *node, struct object *object)
{
    if (world->plan.beside && node->style == PLUGIN_OURS) {
        object_set(object, KEY_AGENT, draw(world));
    }
}

static bool is_beside(const struct node *node)
{
    const char *mark = object_get(node->object, KEY_AGENT);

    return mark && strcmp(mark, BESIDE) == 0;
}

static bool has_permit(const struct world *world, const struct node *node)
{
    for (size_t i = 1; i < world->slot_count; i++) {
        const char *lock = object_get(node->object, world->slots[i].lock);
        if (lock && *lock) {
            return true;
        }
    }
    return false;
}

/* Another plugin comes only where the mark is gone and no permit is held. */
static void change_style(struct world *world, struct node *node)
{
    if (node->style != PLUGIN_OURS) {
        node->style = PLUGIN_OURS;
    } else if (!is_beside(node) && !has_permit(world, node)) {
        node->style = engine_below(&world->engine, RANDOM_WORK, 2) ? PLUGIN_HAMI_210
                                                                   : PLUGIN_HAMI_27;
    }
}

void marks_visit(struct world *world, struct node *node)
{
    if (world->plan.beside == 0 || world->calm || !node->object) {
        return;
    }
    if (engine_below(&world->engine, RANDOM_WORK, 20) == 0 && kubelet_is_idle(node)) {
        change_style(world, node);
    }
    if (node->style == PLUGIN_OURS ? engine_below(&world->engine, RANDOM_WORK, 40) == 0
                                   : object_get(node->object, KEY_AGENT) != NULL) {
        struct object *next = object_copy(node->object);
        object_set(next, KEY_AGENT, node->style == PLUGIN_OURS ? draw(world) : NULL);
        store_put_node(world, node, next, WRITER_WORLD, "agent");
    }
}
