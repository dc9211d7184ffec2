/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See asks.h. */
#include "asks.h"

#include <stdio.h>
#include <string.h>

#define KINDS 8
#define COUNTS 4 /* of each resource: 1 to so many ids */

static const char *const resources[] = {"a.example/gpu", "b.example/npu"};
static const char *const types[] = {"NVIDIA", "OTHER"};

void asks_draw(struct world *world, struct pod *pod)
{
    pod->call_count = 1;
    pod->calls[0] = 0;
    pod->call_set = 1;
    pod->alone = true;
    if (world->plan.beside == 0) {
        return;
    }
    uint64_t more = engine_below(&world->engine, RANDOM_WORK, 10);
    pod->call_count = more < 7 ? 1 : more < 9 ? 2 : 3;
    pod->call_set = 0;
    for (unsigned i = 0; i < pod->call_count; i++) {
        pod->calls[i] = (uint8_t)engine_below(&world->engine, RANDOM_WORK, KINDS);
        pod->call_set |= 1u << pod->calls[i];
    }
    /* Some are nobody's to name: exclusive. */
    pod->alone = engine_below(&world->engine, RANDOM_WORK, 12) == 0;
}

static void append(char *buffer, size_t size, const char *text)
{
    size_t length = strlen(buffer);

    (void)snprintf(buffer + length, size - length, "%s", text);
}

void asks_devices(const struct pod *pod, char *buffer, size_t size)
{
    char one[40];

    buffer[0] = '\0';
    for (unsigned i = 0; i < pod->call_count; i++) {
        for (unsigned id = 0; id <= pod->calls[i] % COUNTS; id++) {
            (void)snprintf(one, sizeof(one), "GPU-%u,%s,1000,10:", id + 1,
                           types[pod->calls[i] / COUNTS]);
            append(buffer, size, one);
        }
        append(buffer, size, ";");
    }
}

void asks_text(unsigned set, char *buffer, size_t size)
{
    char one[40];

    buffer[0] = '\0';
    for (unsigned kind = 0; kind < KINDS; kind++) {
        if (set >> kind & 1) {
            (void)snprintf(one, sizeof(one), "%s%s=%u", buffer[0] ? "," : "",
                           resources[kind / COUNTS], kind % COUNTS + 1);
            append(buffer, size, one);
        }
    }
}

static const char *section(const char *devices, unsigned container)
{
    const char *at = devices ? devices : "";

    for (; container > 0 && *at; container--) {
        at += strcspn(at, ";");
        at += *at == ';';
    }
    return at;
}

bool asks_is_left(const char *devices, unsigned container)
{
    const char *at = section(devices, container);

    return *at != '\0' && *at != ';';
}

void asks_without(const char *devices, unsigned container, char *buffer, size_t size)
{
    const char *at = section(devices, container), *rest = at + strcspn(at, ";");

    (void)snprintf(buffer, size, "%.*s%s", (int)(at - (devices ? devices : at)),
                   devices ? devices : "", *rest ? rest : ";");
}
