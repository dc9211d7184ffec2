/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See peer.h. The order of reads and writes is that of HAMi, since its faults lie between
 * them. It shares no code with the library.
 */
#include "peer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TRIES 5

/* ---- the store ---- */

static bool read_node(struct peer *peer, const char *node, struct peer_node *ret)
{
    unsigned number = peer->reads++;

    if (peer->before) {
        peer->before(peer, PEER_READ, number);
    }
    return peer->store->read(peer->store->data, node, ret);
}

static bool write_node(struct peer *peer, const char *node, const char *version,
                       const char *value)
{
    unsigned number = peer->writes++;

    if (peer->before) {
        peer->before(peer, PEER_WRITE, number);
    }
    return peer->store->write(peer->store->data, node, version, value,
                              peer->version < PEER_V2_7_0);
}

/* ---- values ---- */

static bool parse_time(const char *text, int64_t *ret)
{
    struct tm parts = {0};
    int hours = 0, minutes = 0;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);

    if (!rest) {
        return false;
    }
    if (*rest == '.') {
        rest += 1 + strspn(rest + 1, "0123456789");
    }
    if (strcmp(rest, "Z") != 0) {
        char sign = *rest;
        int used = 0;
        if ((sign != '+' && sign != '-') ||
            sscanf(rest + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 ||
            rest[1 + used]) {
            return false;
        }
        hours = sign == '-' ? -hours : hours;
        minutes = sign == '-' ? -minutes : minutes;
    }
    *ret = (int64_t)timegm(&parts) - hours * 3600 - minutes * 60;
    return true;
}

enum peer_owner peer_parse(const struct peer *peer, const char *value, int64_t *ret_time,
                           char *ret_namespace, char *ret_name)
{
    char copy[PEER_VALUE_MAX];

    ret_namespace[0] = ret_name[0] = '\0';
    (void)snprintf(copy, sizeof(copy), "%s", value);
    char *first = strchr(copy, ',');
    if (!first || peer->version == PEER_V2_3) {
        return parse_time(copy, ret_time) ? PEER_LEGACY : PEER_UNREADABLE;
    }
    char *second = strchr(first + 1, ',');
    if (!second || strchr(second + 1, ',')) {
        return PEER_UNREADABLE;
    }
    *first = *second = '\0';
    if (!parse_time(copy, ret_time)) {
        return PEER_UNREADABLE;
    }
    (void)snprintf(ret_namespace, PEER_VALUE_MAX, "%s", first + 1);
    (void)snprintf(ret_name, PEER_VALUE_MAX, "%s", second + 1);
    return *ret_namespace && *ret_name ? PEER_OWNED : PEER_LEGACY;
}

static void make_value(const struct peer *peer, const char *namespace_name,
                       const char *name, char *ret)
{
    struct tm parts;
    char text[32];
    time_t now = (time_t)peer->now_s;

    (void)gmtime_r(&now, &parts);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (peer->version == PEER_V2_3) {
        (void)snprintf(ret, PEER_VALUE_MAX, "%s", text);
    } else {
        (void)snprintf(ret, PEER_VALUE_MAX, "%s,%s,%s", text, namespace_name, name);
    }
}

static bool ends_with(const char *value, const char *namespace_name, const char *name)
{
    char end[PEER_VALUE_MAX];
    int length = snprintf(end, sizeof(end), ",%s,%s", namespace_name, name);
    size_t whole = strlen(value);

    return whole >= (size_t)length && strcmp(value + whole - (size_t)length, end) == 0;
}

/* ---- release ---- */

static bool may_release(const struct peer *peer, const char *value,
                        const char *namespace_name, const char *name)
{
    switch (peer->version) {
    case PEER_V2_3:
    case PEER_V2_4:
        return true;
    case PEER_V2_5:
    case PEER_V2_7_0:
        return strstr(value, name) != NULL;
    case PEER_V2_7_1:
        return ends_with(value, namespace_name, name);
    default:
        return !strchr(value, ',') || ends_with(value, namespace_name, name);
    }
}

/* Whether what is there now is still what a repeated removal is meant for. */
static bool is_still_meant(const struct peer *peer, const struct peer_node *seen,
                           const struct peer_node *now, bool forced,
                           const char *namespace_name, const char *name)
{
    if (peer->version < PEER_V2_10) {
        return true;
    }
    return forced || !strchr(seen->value, ',')
               ? now->has_value && strcmp(now->value, seen->value) == 0
               : ends_with(now->value, namespace_name, name);
}

static enum peer_answer release(struct peer *peer, const char *node,
                                const char *namespace_name, const char *name, bool forced)
{
    struct peer_node seen, now;

    if (!read_node(peer, node, &seen)) {
        return PEER_ERROR;
    }
    if (!seen.has_value ||
        (!forced && !may_release(peer, seen.value, namespace_name, name))) {
        return PEER_DONE;
    }
    now = seen;
    for (unsigned i = 0; i < TRIES; i++) {
        if (!now.has_value ||
            !is_still_meant(peer, &seen, &now, forced, namespace_name, name) ||
            write_node(peer, node, now.version, NULL)) {
            return PEER_DONE;
        }
        if (!read_node(peer, node, &now)) {
            return PEER_ERROR;
        }
    }
    return PEER_ERROR;
}

enum peer_answer peer_release(struct peer *peer, const char *node,
                              const char *namespace_name, const char *name)
{
    return release(peer, node, namespace_name, name, false);
}

/* ---- lock ---- */

static enum peer_answer set(struct peer *peer, const char *node,
                            const char *namespace_name, const char *name)
{
    struct peer_node now;
    char value[PEER_VALUE_MAX];

    make_value(peer, namespace_name, name, value);
    if (!read_node(peer, node, &now)) {
        return PEER_ERROR;
    }
    if (now.has_value) {
        return PEER_CONTENTION;
    }
    for (unsigned i = 0; i < TRIES; i++) {
        if (write_node(peer, node, now.version, value)) {
            return PEER_DONE;
        }
        if (!read_node(peer, node, &now)) {
            return PEER_ERROR;
        }
        if (peer->version == PEER_V2_10 && now.has_value) {
            return ends_with(now.value, namespace_name, name) ? PEER_DONE
                                                              : PEER_CONTENTION;
        }
        /* Up to v2.9 the version is fresh, and the lock that is there is not looked at.
         */
    }
    return PEER_ERROR;
}

enum peer_answer peer_lock(struct peer *peer, const char *node,
                           const char *namespace_name, const char *name)
{
    struct peer_node seen;
    char owner_namespace[PEER_VALUE_MAX], owner[PEER_VALUE_MAX];
    int64_t since = 0;

    if (!read_node(peer, node, &seen)) {
        return PEER_ERROR;
    }
    if (!seen.has_value) {
        return set(peer, node, namespace_name, name);
    }
    enum peer_owner kind = peer_parse(peer, seen.value, &since, owner_namespace, owner);
    if (kind == PEER_UNREADABLE) {
        return PEER_ERROR;
    }
    bool stale = peer->now_s - since > PEER_EXPIRE_S;
    if (!stale && peer->version == PEER_V2_10 &&
        ends_with(seen.value, namespace_name, name)) {
        return PEER_DONE;
    }
    if (!stale && kind == PEER_OWNED && peer->version >= PEER_V2_7_0) {
        stale = peer->gone && strcmp(peer->gone, owner) == 0;
    }
    if (!stale) {
        return PEER_CONTENTION;
    }
    if (release(peer, node, namespace_name, name, true) != PEER_DONE) {
        return PEER_ERROR;
    }
    return set(peer, node, namespace_name, name);
}
