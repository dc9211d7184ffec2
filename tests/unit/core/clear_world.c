/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See clear_world.h. */
#include "clear_world.h"

#include <string.h>

hami_memory *store;
struct hami_transport played;
struct hami_error error;
unsigned counts[STEPS];
int answers[STEPS];
bool applies[STEPS];
void (*before_write)(void);
bool says_nothing;

const struct hami_owner pod_a = {"default", "a", "uid-a"};

static void pass_result(void *data, const struct hami_transport_result *result)
{
    hami_call_done(data, result);
}

static void pass_facts(void *data, int code, const struct hami_owner_facts *facts)
{
    hami_call_done_owner(data, code, facts, NULL);
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    enum step step = hami_call_is_write(call) ? WRITE : READ;
    size_t count = 0;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);

    (void)transport;
    counts[step]++;
    if (step == WRITE && before_write) {
        before_write();
    }
    int code = answers[step];
    if (code == 0 || applies[step]) {
        (void)hami_transport_call(hami_memory_transport(store), hami_call_node(call),
                                  edits, count, hami_call_version(call), 1000,
                                  code == 0 ? pass_result : NULL, call);
    }
    if (code != 0) {
        result.code = code;
        hami_call_done(call, &result);
    }
    return 0;
}

static int ask(enum step step, hami_call *call)
{
    struct hami_owner_facts nothing = HAMI_OWNER_FACTS_INIT;

    counts[step]++;
    if (answers[step] != 0) {
        hami_call_done_owner(call, answers[step], NULL, "played");
    } else if (says_nothing) {
        hami_call_done_owner(call, 0, &nothing, NULL);
    } else {
        (void)hami_transport_call_owner(
            hami_memory_transport(store), hami_call_node(call), hami_call_owner(call),
            hami_call_revocation(call), 1000, pass_facts, call);
    }
    return 0;
}

int inspect(struct hami_transport *transport, hami_call *call)
{
    (void)transport;
    return ask(INSPECT, call);
}

static int revoke(struct hami_transport *transport, hami_call *call)
{
    (void)transport;
    return ask(REVOKE, call);
}

void start(void)
{
    memset(counts, 0, sizeof(counts));
    memset(answers, 0, sizeof(answers));
    memset(applies, 0, sizeof(applies));
    before_write = NULL;
    says_nothing = false;
    error = (struct hami_error)HAMI_ERROR_INIT;
    played = (struct hami_transport){.size = sizeof(played),
                                     .name = "played",
                                     .submit = submit,
                                     .inspect = inspect,
                                     .revoke = revoke};
    ck_assert_int_eq(hami_memory_new(HAMI_MEMORY_OWNERS, &store), 0);
}

void stop(void)
{
    hami_memory_free(store);
}

void put(const char *lock, const char *lease)
{
    ck_assert_int_eq(hami_memory_put(store, "n1", HAMI_NODELOCK_KEY, lock), 0);
    ck_assert_int_eq(hami_memory_put(store, "n1", HAMI_NODELOCK_LEASE_KEY, lease), 0);
}

void put_pod(struct hami_owner_facts facts)
{
    facts.size = sizeof(facts);
    facts.known = facts.exists = true;
    facts.uid = facts.uid ? facts.uid : pod_a.uid;
    ck_assert_int_eq(hami_memory_put_owner(store, &pod_a, &facts), 0);
}

/* What stands; "-" = absent. */
const char *value_of(const char *key)
{
    static char buffer[2][HAMI_LEASE_TEXT_MAX];
    static unsigned turn;
    char *text = buffer[turn++ % 2];

    return hami_memory_get(store, "n1", key, text, HAMI_LEASE_TEXT_MAX) == 0 ? text : "-";
}

static int clear_record(uint32_t permit, const char *lock, const char *lease,
                        uint32_t flags)
{
    char token[HAMI_PAIR_TOKEN_BYTES];
    struct hami_clear clear = HAMI_CLEAR_INIT;

    ck_assert_int_eq(hami_pair_token(lock, lease, token, sizeof(token)), 0);
    clear.node = "n1";
    clear.token = token;
    clear.permit = permit;
    clear.flags = flags;
    return hami_transport_clear(&played, &clear, &error);
}

int clear_with(const char *lock, const char *lease, uint32_t flags)
{
    return clear_record(0, lock, lease, flags);
}

int clear_permit(uint32_t permit, const char *lock, const char *lease)
{
    return clear_record(permit, lock, lease, 0);
}

void assert_stands(const char *lock, const char *lease)
{
    ck_assert_str_eq(value_of(HAMI_NODELOCK_KEY), lock);
    ck_assert_str_eq(value_of(HAMI_NODELOCK_LEASE_KEY), lease);
}
