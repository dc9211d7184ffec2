/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the behaviours on one backend: PROGRAM memory|kubesim. Prints TAP. */
#include "consumer.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *id;
    behaviour_fn run;
    bool memory_only;
};

static const struct row rows[] = {
    {"deadline-queued", deadline_queued, false},
    {"deadline-past", deadline_past, false},
    {"cancel-queued", cancel_queued, false},
    {"cancel-in-flight", cancel_in_flight, false},
    {"cancel-after-grant", cancel_after_grant, false},
    {"grant-cancel-race", grant_cancel_race, false},
    {"drop", drop, false},
    {"release", release, false},
    {"hand-off", hand_off, false},
    {"order", order, false},
    {"lanes", lanes, false},
    {"limit", limit, false},
    {"try", try_held, false},
    {"many-nodes", many_nodes, false},
    {"callback-thread", callback_thread, false},
    {"close", close_waiters, false},
    {"fork", forked_child, false},
    {"lost", lost, false},
    {"re-entry", re_entry, false},
    {"arguments", arguments, false},
    {"transport", own_transport, true},
    {"look", look, false},
};

void consumer_fail(struct world *world, const char *file, int line, const char *text)
{
    world->failed = true;
    printf("# %s:%d: %s\n", file, line, text);
}

void consumer_code(struct world *world, const char *file, int line, const char *text,
                   int code, int expected)
{
    if (code != expected) {
        world->failed = true;
        printf("# %s:%d: %s was %s (%d), not %s\n", file, line, text, hami_errname(code),
               code, hami_errname(expected));
    }
}

int main(int count, char **words)
{
    static struct world world;
    int number = 0;
    bool bad = false;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (count != 2 || world_open(&world, words[1]) != 0) {
        printf("Bail out! no backend %s\n", count == 2 ? words[1] : "was named");
        return 1;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].memory_only && world.kubesim) {
            continue;
        }
        world.failed = false;
        rows[i].run(&world);
        bad = bad || world.failed;
        printf("%s %d - %s %s\n", world.failed ? "not ok" : "ok", ++number, words[1],
               rows[i].id);
    }
    printf("1..%d\n", number);
    world_close(&world);
    return bad ? 1 : 0;
}
