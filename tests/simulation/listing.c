/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See listing.h. A token is `<number of the list>-<first object>`. */
#include "listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTINGS_MAX 16 /* kept at a time; the oldest expires */
#define PAGES_MAX 5

struct listing {
    struct listing *next;
    uint64_t number, version;
    bool pods;
    struct object **objects;
    size_t count, page;
};

static void free_listing(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        object_unref(listing->objects[i]);
    }
    free(listing->objects);
    free(listing);
}

static void drop(struct world *world, const struct listing *gone)
{
    for (struct listing **link = &world->listings; *link; link = &(*link)->next) {
        if (*link == gone) {
            struct listing *listing = *link;
            *link = listing->next;
            free_listing(listing);
            return;
        }
    }
}

void listing_done(struct world *world)
{
    while (world->listings) {
        drop(world, world->listings);
    }
}

static struct listing *begin(struct world *world, bool pods)
{
    struct listing *listing = calloc(1, sizeof(*listing));
    size_t most = pods ? world->pod_count : world->plan.nodes;

    listing->objects = calloc(most + 1, sizeof(struct object *));
    for (size_t i = 0; i < most; i++) {
        struct object *object = pods ? world->pods[i]->object : world->nodes[i].object;
        bool selected =
            object &&
            (!pods || (object->node[0] == '\0' && object->phase < POD_SUCCEEDED));
        if (selected) {
            listing->objects[listing->count++] = object_ref(object);
        }
    }
    listing->pods = pods;
    listing->version = world->version;
    listing->number = ++world->listing_number;
    listing->page =
        listing->count / (1 + engine_below(&world->engine, RANDOM_NETWORK, PAGES_MAX)) +
        1;
    listing->next = world->listings;
    world->listings = listing;
    return listing;
}

static void expire(struct world *world)
{
    size_t count = 0;

    for (struct listing *at = world->listings; at; at = at->next) {
        if (++count > LISTINGS_MAX) {
            drop(world, at);
            return;
        }
    }
}

static struct listing *find(struct world *world, const char *token, size_t *ret_first)
{
    uint64_t number = 0, first = 0;

    (void)sscanf(token, "%" SCNu64 "-%" SCNu64, &number, &first);
    for (struct listing *at = world->listings; at; at = at->next) {
        if (at->number == number) {
            *ret_first = (size_t)first;
            return at;
        }
    }
    return NULL;
}

static char *page_text(const struct listing *listing, size_t first, size_t last)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    (void)fprintf(stream, "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{");
    (void)fprintf(stream, "\"resourceVersion\":\"%" PRIu64 "\"", listing->version);
    if (last < listing->count) {
        (void)fprintf(stream, ",\"continue\":\"%" PRIu64 "-%zu\"", listing->number, last);
    }
    (void)fprintf(stream, "},\"items\":[");
    for (size_t i = first; i < last; i++) {
        (void)fprintf(stream, "%s%s", i > first ? "," : "",
                      object_line(listing->objects[i]));
    }
    (void)fprintf(stream, "]}");
    (void)fclose(stream);
    return text;
}

int listing_page(struct request *request, char **ret)
{
    struct world *world = request->world;
    size_t first = 0;
    bool goes_on = request->token[0] != '\0';

    if (goes_on && fault_happens(world, FAULT_MID_LIST)) {
        fault_injected(world, FAULT_MID_LIST);
        fault_touch_replica(world, FAULT_MID_LIST, request->replica);
        return 410;
    }
    struct listing *listing =
        goes_on ? find(world, request->token, &first) : begin(world, request->pods);
    if (!listing) {
        return 410;
    }
    size_t last = first + listing->page;
    last = last < listing->count ? last : listing->count;
    *ret = page_text(listing, first, last);
    if (last == listing->count) {
        drop(world, listing);
    }
    expire(world);
    return 200;
}
