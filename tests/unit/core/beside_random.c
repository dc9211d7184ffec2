/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two managers on one store, and pods that come, are bound, served or given back in an
 * order that is made up: no call is in flight twice, nobody is beside an exclusive pod,
 * everybody is served, and nothing but memories is left.
 */
#include "beside_world.h"

#include <stdio.h>
#include <string.h>

enum { PODS = 20, STEPS = 400 };
enum stage { AWAY = 0, WAITING, HELD, BOUND };

struct pod {
    char name[2];
    struct scripted_wait wait;
    const char *calls; /* NULL = exclusive */
    enum stage stage;
    uint64_t fence;
    unsigned age; /* each time it comes it is another pod of that name */
    char uid[24];
};

static struct pod pods[PODS];
static hami_nodelock *other;
static uint64_t random_state;
static unsigned loses; /* in 1000 writes, of which half arrive */

static const char *const calls_of_pods[] = {
    GPU1, GPU1, GPU2, GPU12, GPU3, "amd.com/gpu=1", GPU1, NULL};

static unsigned draw(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % below);
}

static int lose(hami_call *call, enum scripted_kind kind)
{
    (void)call;
    scripted_answer_kind(SCRIPTED_WRITE, kind == SCRIPTED_WRITE && draw(1000) < loses
                                             ? HAMI_E_IN_DOUBT
                                             : 0);
    return 0;
}

static void settle(void)
{
    scripted_dispatch();
    beside_dispatch(other);
    scripted_dispatch();
}

static void pass_time(unsigned ms)
{
    for (unsigned i = 0; i < ms; i += 10) {
        scripted_advance(10);
        beside_dispatch(other);
    }
}

static bool has_call_of(const struct pod *one, const struct pod *two)
{
    char list[128], wanted[128];
    bool found = !one->calls || !two->calls;

    (void)snprintf(list, sizeof(list), ",%s,", one->calls ? one->calls : "");
    for (size_t i = 0; !found && two->calls && i < 5; i++) {
        static const char *const all[] = {GPU1, GPU2, GPU3, "amd.com/gpu=1"};
        if (i < 4 && strstr(two->calls, all[i])) {
            (void)snprintf(wanted, sizeof(wanted), ",%s,", all[i]);
            found = strstr(list, wanted) != NULL;
        }
    }
    return found;
}

static void look_at_waits(void)
{
    for (int i = 0; i < PODS; i++) {
        struct pod *pod = &pods[i];
        if (pod->stage == WAITING && pod->wait.ended) {
            ck_assert_msg(pod->wait.code == 0, "%s: %d, %s", pod->name, pod->wait.code,
                          pod->wait.text);
            pod->stage = HELD;
            pod->fence = hami_lease_fence(pod->wait.lease);
        }
    }
    for (int i = 0; i < PODS; i++) {
        for (int j = 0; j < i; j++) {
            ck_assert_msg(pods[i].stage < HELD || pods[j].stage < HELD ||
                              !has_call_of(&pods[i], &pods[j]),
                          "%s (%s) and %s (%s) are in flight together", pods[i].name,
                          pods[i].calls ? pods[i].calls : "exclusive", pods[j].name,
                          pods[j].calls ? pods[j].calls : "exclusive");
        }
    }
}

static void came(void *data, int code, hami_lease *lease, const struct hami_error *error)
{
    struct pod *pod = data;

    pod->wait.ended = true;
    pod->wait.code = code;
    pod->wait.lease = lease;
    (void)snprintf(pod->wait.text, sizeof(pod->wait.text), "%s", error->text);
}

static void come(struct pod *pod)
{
    struct hami_nodelock_request request;

    (void)snprintf(pod->uid, sizeof(pod->uid), "uid-%s-%u", pod->name, ++pod->age);
    scripted_pod(pod->name, pod->uid);
    pod->calls = calls_of_pods[draw(sizeof(calls_of_pods) / sizeof(calls_of_pods[0]))];
    pod->stage = WAITING;
    pod->wait = (struct scripted_wait){.code = 1};
    scripted_request(&request, "n1", pod->name);
    request.owner.uid = pod->uid;
    request.calls = pod->calls;
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_int_eq(hami_nodelock_acquire_start(draw(2) == 1 ? other : scripted_lock,
                                                 &request, came, pod, NULL),
                     0);
}

/* It is bound under its lock; or it was served then. */
static void put_facts(const struct pod *pod, bool served)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    facts.known = facts.exists = true;
    facts.devices_left = !served;
    facts.uid = pod->uid;
    facts.node = "n1";
    facts.bind_phase = served ? HAMI_BIND_PHASE_SUCCESS : HAMI_BIND_PHASE_ALLOCATING;
    facts.fence = pod->fence;
    facts.done = served ? pod->fence : 0;
    scripted_pod_facts(pod->name, &facts);
}

static void bind(struct pod *pod)
{
    put_facts(pod, false);
    ck_assert_int_eq(hami_lease_handoff(pod->wait.lease), 0);
    pod->stage = BOUND;
}

static void act(struct pod *pod)
{
    switch (pod->stage) {
    case AWAY:
        come(pod);
        break;
    case WAITING:
        break;
    case HELD:
        if (draw(4) == 0) {
            pod->stage = AWAY; /* from here on its Binding can't come */
            ck_assert_int_eq(hami_lease_release_start(pod->wait.lease,
                                                      HAMI_DEADLINE_NEVER, NULL, NULL),
                             0);
        } else {
            bind(pod);
        }
        break;
    case BOUND:
        pod->stage = AWAY;
        put_facts(pod, true);
        break;
    }
    settle();
    look_at_waits();
}

static bool all_are_away(void)
{
    for (int i = 0; i < PODS; i++) {
        if (pods[i].stage != AWAY) {
            return false;
        }
    }
    return true;
}

START_TEST(no_call_is_in_flight_twice_whatever_happens)
{
    struct scripted_options options = {
        .watch = _i % 5 != 4, .owners = true, .config = HAMI_NODELOCK_CONFIG_INIT};

    options.config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
    options.config.side_by_side = _i % 3 == 0 ? 2 : 8;
    beside_start_as(options, MARK);
    other = beside_other(_i % 2 == 0 ? 8 : 3);
    random_state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(_i + 1);
    loses = _i % 4 == 3 ? 100 : 0;
    scripted_submitted = lose;
    memset(pods, 0, sizeof(pods));
    for (int i = 0; i < PODS; i++) {
        pods[i].name[0] = (char)('a' + i);
    }
    for (int step = 0; step < STEPS; step++) {
        act(&pods[draw(PODS)]);
        if (draw(4) == 0) {
            pass_time(10 * draw(12));
            look_at_waits();
        }
    }
    loses = 0;
    for (int round = 0; round < 600 && !all_are_away(); round++) {
        for (int i = 0; i < PODS; i++) {
            if (pods[i].stage != AWAY) {
                act(&pods[i]);
            }
        }
        pass_time(100);
        look_at_waits();
    }
    ck_assert_msg(all_are_away(), "somebody was never served");
    pass_time(30000);
    beside_assert_empty();
    ck_assert_uint_eq(scripted_stats().lost, 0);
    /* Without faults nothing is left behind that somebody has to be told of. */
    ck_assert_msg(_i % 4 == 3 || _i % 5 == 4 || scripted_logs == 0, "%s",
                  scripted_last_log);
    hami_nodelock_free(other);
    scripted_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside random");
    TCase *world = tcase_create("beside random");

    tcase_set_timeout(world, 60);
    tcase_add_loop_test(world, no_call_is_in_flight_twice_whatever_happens, 0, 40);
    suite_add_tcase(suite, world);
    return scripted_run(suite);
}
