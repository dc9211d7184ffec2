/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands on the nodes: locks that nobody can read, locks that are old, and nodes on
 * which no agent of ours is. Reads doctor->nodes, and the pods of old locks.
 */
#include <stdio.h>
#include <string.h>

#include <hami/handshake.h>

#include "doctor.h"
#include "explain.h"
#include "sources.h"
#include "table.h"

#define HOLDERS_MAX 50 /* pods that are read for old locks */

/* ---- locks that can't be read ------------------------------------------------------ */

static const char *trouble_of(const char *value, const char *lease)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    if (hami_lock_record_parse(value, lease, &record) != 0) {
        return NULL;
    }
    switch (record.kind) {
    case HAMI_LOCK_MALFORMED:
        return "is neither a time nor time, namespace and pod";
    case HAMI_LOCK_UNOWNED:
        return "names no pod";
    default:
        return lease != NULL && !record.has_lease && record.last_fence == 0
                   ? "has a lease that can't be read"
                   : NULL;
    }
}

static void check_readable(struct doctor *doctor, const char *node, const char *key,
                           const char *value, const char *lease)
{
    char token[HAMI_PAIR_TOKEN_BYTES];
    const char *trouble = trouble_of(value, lease);
    if (trouble == NULL) {
        return;
    }
    (void)hami_pair_token(value, lease, token, sizeof(token));
    doctor_find(
        doctor, SEVERITY_ERROR,
        json_sprintf("node %s: the lock %s, '%.200s', %s", node, key, value, trouble),
        json_string("Nobody can be asked whether its owner is done: every pod of "
                    "the node waits until the lock is old (--lock-expire)."),
        json_sprintf("If no pod of that node is being started: hamictl release "
                     "%s --key %s --expect %s",
                     node, key, token));
}

/* ---- all locks ------------------------------------------------------------------- */

/* Calls look() for each lock of each node. */
static size_t each_lock(struct doctor *doctor,
                        void (*look)(struct doctor *doctor, const char *node,
                                     const char *key, const char *value,
                                     const char *lease))
{
    static const char *const keys[] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_CAMBRICON_KEY};
    enum { RECORDS = HAMI_NODELOCK_SIDE_BY_SIDE_MAX + 1 };
    char lock_key[SOURCE_KEY_MAX];
    char lease_key[SOURCE_KEY_MAX];
    size_t found = 0;
    size_t index = 0;
    const json_t *metadata = NULL;
    json_array_foreach(doctor->nodes, index, metadata)
    {
        const json_t *annotations = json_object_get(metadata, "annotations");
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]) * RECORDS; k++) {
            (void)source_record_keys(keys[k / RECORDS], k % RECORDS, lock_key, lease_key);
            const char *value = source_text(annotations, lock_key);
            if (value[0] != '\0') {
                look(doctor, source_text(metadata, "name"), lock_key, value,
                     json_string_value(json_object_get(annotations, lease_key)));
                found++;
            }
        }
    }
    return found;
}

/* ---- old locks ------------------------------------------------------------------- */

/* What would free a lock, in words. */
static void explain_slot(struct doctor *doctor, const json_t *slot, const char *node,
                         char *buffer, size_t size)
{
    char error[SOURCE_ERROR_MAX] = "";
    bool exists = false;
    const char *name = source_text(slot, "pod");
    json_t *holder = name[0] != '\0'
                         ? source_pod(doctor->client, source_text(slot, "namespace"),
                                      name, &exists, error)
                         : NULL;
    if (holder == NULL && error[0] != '\0') {
        (void)snprintf(buffer, size, "its pod could not be read: %.200s", error);
    } else {
        explain_lock(slot, holder, node, buffer, size);
    }
    json_decref(holder);
}

static bool is_old(const struct doctor *doctor, const json_t *slot)
{
    uint64_t limit = doctor_lock_expire_ms(doctor);
    const json_t *age = json_object_get(slot, "ageSeconds");
    return age != NULL && json_number_value(age) * 1000 > (double)limit;
}

static void check_old(struct doctor *doctor)
{
    size_t found = 0;
    size_t index = 0;
    size_t k = 0;
    const json_t *metadata = NULL;
    const json_t *slot = NULL;
    doctor_begin(doctor, "old-locks", "no lock is older than its limit");
    json_array_foreach(doctor->nodes, index, metadata)
    {
        json_t *object = json_pack("{s:O}", "metadata", metadata);
        json_t *node = source_node(object);
        json_array_foreach(json_object_get(node, "slots"), k, slot)
        {
            char text[EXPLAIN_TEXT_MAX];
            char age[32];
            const char *name = source_text(metadata, "name");
            if (!is_old(doctor, slot) || source_is_cover(slot) || ++found > HOLDERS_MAX) {
                continue;
            }
            table_age(json_number_value(json_object_get(slot, "ageSeconds")), age,
                      sizeof(age));
            explain_slot(doctor, slot, name, text, sizeof(text));
            doctor_find(
                doctor, SEVERITY_WARNING,
                json_sprintf("node %s: the lock %s of %s%s%s is %s old", name,
                             source_text(slot, "key"), source_text(slot, "namespace"),
                             source_text(slot, "pod")[0] != '\0' ? "/" : "",
                             source_text(slot, "pod"), age),
                json_sprintf("%s.", text),
                json_sprintf("If it stays: hamictl release %s --key %s --expect "
                             "%s",
                             name, source_text(slot, "key"), source_text(slot, "token")));
        }
        json_decref(node);
        json_decref(object);
    }
}

/* ---- agents ---------------------------------------------------------------------- */

/* A node of HAMi's: its plugins say there what devices it has. */
static bool is_registered(const json_t *annotations)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)annotations, key, value)
    {
        if (strncmp(key, "hami.io/node-", 13) == 0 && strstr(key, "register") != NULL) {
            return true;
        }
    }
    return false;
}

static void check_agents(struct doctor *doctor)
{
    size_t registered = 0;
    size_t with_agent = 0;
    size_t index = 0;
    const json_t *metadata = NULL;
    const char *without = NULL;
    doctor_begin(doctor, "node-agents", "all of HAMi's nodes have hamid node, or none");
    json_array_foreach(doctor->nodes, index, metadata)
    {
        const json_t *annotations = json_object_get(metadata, "annotations");
        const char *agent = source_text(annotations, HAMI_HANDSHAKE_AGENT_KEY);
        if (agent[0] != '\0' && strcmp(agent, "1,free=node") != 0 &&
            strcmp(agent, "1,free=scheduler") != 0 &&
            strcmp(agent, HAMI_HANDSHAKE_AGENT_SIDE_BY_SIDE) != 0) {
            doctor_find(doctor, SEVERITY_WARNING,
                        json_sprintf("node %s: " HAMI_HANDSHAKE_AGENT_KEY " is '%.100s'",
                                     source_text(metadata, "name"), agent),
                        json_string("A hamid of another version runs there, or somebody "
                                    "else wrote it; who frees the lock is not known."),
                        json_string("Run the same version of hamid on all nodes."));
        }
        if (agent[0] != '\0' || is_registered(annotations)) {
            registered++;
            with_agent += agent[0] != '\0' ? 1 : 0;
            without = agent[0] == '\0' && without == NULL ? source_text(metadata, "name")
                                                          : without;
        }
    }
    doctor_note(doctor, "%zu of %zu have it", with_agent, registered);
    if (with_agent > 0 && with_agent < registered) {
        doctor_find(doctor, SEVERITY_WARNING,
                    json_sprintf("%zu of %zu nodes with HAMi's devices have no hamid "
                                 "node, such as %s",
                                 registered - with_agent, registered, without),
                    json_string("Where it is down, Allocate is served by HAMi's rules "
                                "alone: the first container's call frees the lock."),
                    json_sprintf("Look at its pod on %s: is the DaemonSet's nodeSelector "
                                 "that of HAMi's plugin?",
                                 without));
    }
}

/* ---- side by side ---------------------------------------------------------------- */

/* hamid lets pods go side by side: do the nodes' agents say that they can tell them
 * apart? */
static void check_side_by_side(struct doctor *doctor)
{
    const char *most = doctor_hamid_flag(doctor, "side-by-side");
    const json_t *metadata = NULL;
    const char *without = NULL;
    size_t with_agent = 0;
    size_t able = 0;
    size_t index = 0;
    if (most == NULL || strcmp(most, "0") == 0) {
        return;
    }
    doctor_begin(doctor, "side-by-side", "nodes let pods go side by side, as hamid does");
    json_array_foreach(doctor->nodes, index, metadata)
    {
        const char *agent = source_text(json_object_get(metadata, "annotations"),
                                        HAMI_HANDSHAKE_AGENT_KEY);
        bool is_able = strcmp(agent, HAMI_HANDSHAKE_AGENT_SIDE_BY_SIDE) == 0;
        with_agent += agent[0] != '\0' ? 1 : 0;
        able += is_able ? 1 : 0;
        without = agent[0] != '\0' && !is_able && without == NULL
                      ? source_text(metadata, "name")
                      : without;
    }
    doctor_note(doctor, "%zu of %zu nodes with hamid node do", able, with_agent);
    if (able < with_agent || with_agent == 0) {
        doctor_find(
            doctor, able == 0 ? SEVERITY_WARNING : SEVERITY_INFO,
            with_agent == 0
                ? json_string(
                      "hamid runs with --side-by-side, and no node has hamid node")
                : json_sprintf("hamid runs with --side-by-side %s, and %zu of %zu nodes "
                               "with hamid node do not, such as %s",
                               most, with_agent - able, with_agent, without),
            json_string("Pods take turns on such a node, as without the option: no harm, "
                        "and no gain."),
            json_string("Where no device plugin of a node looks for its pod by the "
                        "lock's name, start its hamid node with --free scheduler "
                        "--side-by-side."));
    }
}

void doctor_check_locks(struct doctor *doctor)
{
    doctor_begin(doctor, "readable-locks", "each lock can be read");
    if (doctor->nodes == NULL) {
        doctor_skip(doctor, "%s", doctor->nodes_error);
        return;
    }
    size_t found = each_lock(doctor, check_readable);
    doctor_note(doctor, "%zu lock%s on %zu nodes", found, found == 1 ? "" : "s",
                json_array_size(doctor->nodes));
    check_old(doctor);
    check_agents(doctor);
    check_side_by_side(doctor);
}
