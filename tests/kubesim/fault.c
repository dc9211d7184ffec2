/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of armed faults: see fault.h. Invariant: the list is in order of arming and
 * holds one reference on each; a fault that has had its last hit stays, disarmed, so
 * that its hits can be read. Server's thread only, no lock.
 */
#include "fault.h"

#include <stdlib.h>
#include <string.h>

#include "server.h"

static const char *const action_names[] = {
    [KUBESIM_NOTHING] = "nothing",
    [KUBESIM_DROP_BEFORE] = "drop_before",
    [KUBESIM_DROP_AFTER] = "drop_after",
    [KUBESIM_RESET_BEFORE] = "reset_before",
    [KUBESIM_RESET_AFTER] = "reset_after",
    [KUBESIM_HANG_BEFORE] = "hang_before",
    [KUBESIM_HANG_AFTER] = "hang_after",
    [KUBESIM_TWICE] = "twice",
    [KUBESIM_TWICE_SECOND] = "twice_second",
    [KUBESIM_STATUS] = "status",
    [KUBESIM_STATUS_AFTER] = "status_after",
    [KUBESIM_REFUSE_STREAM] = "refuse_stream",
    [KUBESIM_GOAWAY] = "goaway",
    [KUBESIM_GOAWAY_REFUSE] = "goaway_refuse",
    [KUBESIM_TRUNCATE] = "truncate",
    [KUBESIM_CUT_WATCHES] = "cut_watches",
    [KUBESIM_EXPIRE_WATCHES] = "expire_watches",
};

#define ACTION_COUNT (sizeof(action_names) / sizeof(action_names[0]))

const char *sim_fault_action_name(enum kubesim_action action)
{
    return (size_t)action < ACTION_COUNT ? action_names[action] : NULL;
}

bool sim_fault_action_find(const char *name, enum kubesim_action *ret)
{
    for (size_t i = 0; i < ACTION_COUNT; i++) {
        if (strcmp(action_names[i], name) == 0) {
            *ret = (enum kubesim_action)i;
            return true;
        }
    }
    return false;
}

/* Replace *TEXT by a copy that FAULT owns. */
static void own(struct sim_fault *fault, const char **text)
{
    if (*text != NULL) {
        char *copy = strdup(*text);
        if (copy == NULL) {
            abort();
        }
        fault->strings[fault->string_count++] = copy;
        *text = copy;
    }
}

static void own_strings(struct sim_fault *fault)
{
    struct kubesim_fault *what = &fault->what;
    const char **all[] = {
        &what->match.verb,           &what->match.resource, &what->match.subresource,
        &what->match.namespace_name, &what->match.name,     &what->match.user,
        &what->match.body,           &what->watches,        &what->write_resource,
        &what->write_namespace,      &what->write_name,     &what->write_key,
        &what->write_value};
    fault->strings = calloc(sizeof(all) / sizeof(all[0]), sizeof(char *));
    if (fault->strings == NULL) {
        abort();
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        own(fault, all[i]);
    }
}

static unsigned bounded(unsigned delay_ms)
{
    return delay_ms < SIM_DELAY_LIMIT_MS ? delay_ms : SIM_DELAY_LIMIT_MS;
}

int sim_fault_arm(struct sim_faults *faults, const struct kubesim_fault *what)
{
    struct sim_fault *fault = calloc(1, sizeof(*fault));
    struct sim_fault **end = &faults->first;
    if (fault == NULL) {
        abort();
    }
    fault->references = 1;
    fault->id = ++faults->last_id;
    fault->what = *what;
    fault->what.delay_before_ms = bounded(what->delay_before_ms);
    fault->what.delay_answer_ms = bounded(what->delay_answer_ms);
    fault->random = what->seed * 2 + 1;
    fault->armed = true;
    own_strings(fault);
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = fault;
    return fault->id;
}

void sim_fault_unref(struct sim_fault *fault)
{
    if (fault == NULL || --fault->references > 0) {
        return;
    }
    for (size_t i = 0; i < fault->string_count; i++) {
        free(fault->strings[i]);
    }
    free(fault->strings);
    free(fault);
}

void sim_fault_disarm(struct sim_faults *faults, int id)
{
    struct sim_fault **at = &faults->first;
    while (*at != NULL) {
        struct sim_fault *fault = *at;
        if (id != 0 && fault->id != id) {
            at = &fault->next;
            continue;
        }
        *at = fault->next;
        sim_fault_unref(fault);
    }
}

/* SplitMix64: a small generator with a full period, enough for a coin. */
static double next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) / 9007199254740992.0;
}

static bool hits_now(struct sim_fault *fault)
{
    const struct kubesim_fault *what = &fault->what;
    if (fault->seen++ < what->skip) {
        return false;
    }
    if (what->probability > 0 && next_random(&fault->random) >= what->probability) {
        return false;
    }
    fault->hits++;
    if (what->count > 0 && fault->hits == what->count) {
        fault->armed = false;
    }
    return true;
}

struct sim_fault *sim_fault_meet(struct sim_faults *faults,
                                 const struct sim_exchange *exchange)
{
    for (struct sim_fault *fault = faults->first; fault != NULL; fault = fault->next) {
        if (fault->armed && sim_match_request(&fault->what.match, exchange) &&
            hits_now(fault)) {
            fault->references++;
            return fault;
        }
    }
    return NULL;
}

unsigned sim_fault_hits(const struct sim_faults *faults, int id)
{
    for (const struct sim_fault *fault = faults->first; fault != NULL;
         fault = fault->next) {
        if (fault->id == id) {
            return fault->hits;
        }
    }
    return 0;
}

static const char *text_of(const json_t *value, const char *key)
{
    return json_string_value(json_object_get(value, key));
}

static unsigned number_of(const json_t *value, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(value, key));
    return number > 0 && number < INT32_MAX ? (unsigned)number : 0;
}

/* Every member must be a known one, so that a misspelt fault is not silently harmless. */
static bool all_known(const json_t *value)
{
    static const char *const known[] = {"verb",
                                        "resource",
                                        "subresource",
                                        "namespace",
                                        "name",
                                        "user",
                                        "body",
                                        "skip",
                                        "count",
                                        "probability",
                                        "seed",
                                        "action",
                                        "delay_before_ms",
                                        "delay_answer_ms",
                                        "status",
                                        "retry_after",
                                        "date_skew",
                                        "watches",
                                        "write_resource",
                                        "write_namespace",
                                        "write_name",
                                        "write_key",
                                        "write_value"};
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)value, key, member)
    {
        size_t i = 0;
        while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], key) != 0) {
            i++;
        }
        if (i == sizeof(known) / sizeof(known[0])) {
            return false;
        }
    }
    return true;
}

const char *sim_fault_parse(const json_t *value, struct kubesim_fault *what)
{
    const char *action = text_of(value, "action");
    if (!json_is_object(value) || !all_known(value)) {
        return "not an object of known members";
    }
    *what = (struct kubesim_fault){
        .match = {.verb = text_of(value, "verb"),
                  .resource = text_of(value, "resource"),
                  .subresource = text_of(value, "subresource"),
                  .namespace_name = text_of(value, "namespace"),
                  .name = text_of(value, "name"),
                  .user = text_of(value, "user"),
                  .body = text_of(value, "body")},
        .skip = number_of(value, "skip"),
        .count = number_of(value, "count"),
        .probability = json_number_value(json_object_get(value, "probability")),
        .seed = (uint64_t)json_integer_value(json_object_get(value, "seed")),
        .delay_before_ms = number_of(value, "delay_before_ms"),
        .delay_answer_ms = number_of(value, "delay_answer_ms"),
        .status = (int)number_of(value, "status"),
        .retry_after = (int)json_integer_value(json_object_get(value, "retry_after")),
        .date_skew = (int)json_integer_value(json_object_get(value, "date_skew")),
        .watches = text_of(value, "watches"),
        .write_resource = text_of(value, "write_resource"),
        .write_namespace = text_of(value, "write_namespace"),
        .write_name = text_of(value, "write_name"),
        .write_key = text_of(value, "write_key"),
        .write_value = text_of(value, "write_value"),
    };
    if (action != NULL && !sim_fault_action_find(action, &what->action)) {
        return "unknown action";
    }
    if ((what->action == KUBESIM_STATUS || what->action == KUBESIM_STATUS_AFTER) &&
        (what->status < 200 || what->status > 599)) {
        return "this action needs a status";
    }
    return NULL;
}

json_t *sim_fault_list(const struct sim_faults *faults)
{
    json_t *list = json_array();
    for (const struct sim_fault *fault = faults->first; fault != NULL;
         fault = fault->next) {
        json_array_append_new(
            list, json_pack("{s:i,s:s,s:b,s:i,s:i}", "id", fault->id, "action",
                            sim_fault_action_name(fault->what.action), "armed",
                            (int)fault->armed, "seen", (int)fault->seen, "hits",
                            (int)fault->hits));
    }
    return list;
}
