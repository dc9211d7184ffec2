/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the watch of pods knows of those that are to be bound, and what it tells of those
 * that are bound and wait for their devices, against kubesim.
 */
#include "kubernetes_stand_in.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define TRIES 100 /* of what is a race with 20 ms */

static struct world world;
static hami_nodelock *manager;

static void setup(void)
{
    static const char *const schedulers[] = {"hami-scheduler", NULL};
    world_begin(&world, NULL, schedulers);
    world_add_node(&world, "n1");
    manager = manager_new();
    ck_assert_int_eq(world.transport->watch(world.transport, manager), 0);
    ck_assert(wait_synced(&world));
}

static void teardown(void)
{
    world.transport->unwatch(world.transport, manager);
    world_end(&world);
    manager_free(manager);
}

static void add_pod(const char *name)
{
    static const char *const annotations[] = {"hami.io/vgpu-node",
                                              "n1",
                                              "hami.io/vgpu-devices-to-allocate",
                                              "GPU-1,NVIDIA,100,10:;",
                                              "scheduling.k8s.io/group-name",
                                              "gang",
                                              NULL};
    struct kubesim_pod pod = {.name = name,
                              .scheduler = "hami-scheduler",
                              .resource = "nvidia.com/gpu",
                              .count = 2,
                              .annotations = annotations};
    ck_assert_int_eq(kubesim_create_pod(world.sim, &pod), 201);
}

static unsigned gets(void)
{
    return kubesim_count(
        world.sim,
        &(struct kubesim_match){.verb = "get", .resource = "pods", .user = "admin"});
}

struct found {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool done;
    int code;
    enum hami_facts_source source;
    bool exists, devices_left;
    char scheduler[64], group[64], node[64], resource[64], call[64];
    size_t resource_count, call_count;
};

static void copy(char *to, const char *text)
{
    snprintf(to, 64, "%s", text != NULL ? text : "");
}

static void keep(void *data, int code, const struct hami_kubernetes_pod *pod,
                 const char *text)
{
    struct found *found = data;
    (void)text;
    pthread_mutex_lock(&found->mutex);
    found->done = true;
    found->code = code;
    if (pod != NULL) {
        found->source = pod->facts.source;
        found->exists = pod->facts.exists;
        found->devices_left = pod->facts.devices_left;
        found->resource_count = pod->resource_count;
        found->call_count = pod->call_count;
        copy(found->call, pod->call_count > 0 ? pod->calls[0] : "");
        copy(found->node, pod->facts.node);
        copy(found->scheduler, pod->scheduler_name);
        copy(found->group, pod->group);
        copy(found->resource, pod->resource_count > 0 ? pod->resources[0] : "");
    }
    pthread_cond_signal(&found->ended);
    pthread_mutex_unlock(&found->mutex);
}

static void start(struct found *found, const char *name)
{
    *found = (struct found){.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .ended = PTHREAD_COND_INITIALIZER};
    ck_assert_int_eq(hami_kubernetes_find_pod_start(world.transport, "default", name,
                                                    hami_kubernetes_in_ms(5000), keep,
                                                    found),
                     0);
}

static void wait_found(struct found *found)
{
    pthread_mutex_lock(&found->mutex);
    while (!found->done) {
        pthread_cond_wait(&found->ended, &found->mutex);
    }
    pthread_mutex_unlock(&found->mutex);
}

static struct found find(const char *name)
{
    struct found found;
    start(&found, name);
    wait_found(&found);
    return found;
}

START_TEST(a_pod_that_the_watch_knows_is_told_whole_without_a_read)
{
    struct found found;
    add_pod("a");
    /* Its news may be on the way still: then it is waited for, or the pod is read. */
    for (unsigned i = 0; i < TRIES && find("a").source != HAMI_FACTS_WATCH; i++) {
    }
    unsigned before = gets();
    found = find("a");
    ck_assert_int_eq(found.code, 0);
    ck_assert_int_eq(found.source, HAMI_FACTS_WATCH);
    ck_assert_uint_eq(gets(), before);
    ck_assert(found.exists && found.devices_left);
    ck_assert_str_eq(found.scheduler, "hami-scheduler");
    ck_assert_str_eq(found.group, "gang");
    ck_assert_uint_eq(found.resource_count, 1);
    ck_assert_str_eq(found.resource, "nvidia.com/gpu");
    ck_assert_uint_eq(found.call_count, 1);
    ck_assert_str_eq(found.call, "nvidia.com/gpu=2");
}
END_TEST

START_TEST(news_that_comes_within_the_wait_saves_the_read)
{
    enum hami_facts_source source = HAMI_FACTS_READ;
    for (unsigned i = 0; i < TRIES && source != HAMI_FACTS_WATCH; i++) {
        struct found found;
        char name[32];
        snprintf(name, sizeof(name), "pod-%u", i);
        kubesim_pause_watches(world.sim, true);
        add_pod(name);
        start(&found, name);
        kubesim_pause_watches(world.sim, false);
        wait_found(&found);
        ck_assert_int_eq(found.code, 0);
        ck_assert(found.exists);
        source = found.source;
    }
    ck_assert_int_eq(source, HAMI_FACTS_WATCH);
}
END_TEST

START_TEST(what_the_watch_does_not_show_unbound_is_read)
{
    struct found found;
    struct kubesim_pod other = {.name = "other", .scheduler = "default-scheduler"};
    ck_assert_int_eq(kubesim_create_pod(world.sim, &other), 201);
    found = find("other");
    ck_assert_int_eq(found.source, HAMI_FACTS_READ);
    ck_assert_str_eq(found.scheduler, "default-scheduler");
    found = find("never-there");
    ck_assert_int_eq(found.code, 0);
    ck_assert(!found.exists);
    add_pod("a");
    kubesim_bind(world.sim, "default", "a", "n1");
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OWNER, "default/a", NULL), 0);
    found = find("a");
    ck_assert_int_eq(found.source, HAMI_FACTS_READ);
    ck_assert_str_eq(found.node, "n1");
    ck_assert_uint_eq(gets(), 3);
}
END_TEST

START_TEST(a_watch_that_was_lost_answers_nothing)
{
    struct kubesim_fault fault = {.match = {.verb = "watch", .resource = "pods"},
                                  .action = KUBESIM_STATUS,
                                  .status = 500};
    add_pod("a");
    kubesim_arm(world.sim, &fault);
    kubesim_cut_watches(world.sim, "pods");
    uint64_t until = hami_kubernetes_in_ms(WAIT_MS);
    while (find("a").source != HAMI_FACTS_READ) {
        ck_assert_uint_lt(hami_kubernetes_now(), until);
        (void)poll(NULL, 0, 1);
    }
}
END_TEST

START_TEST(managers_are_told_of_the_success_on_a_bound_pod)
{
    add_pod("a");
    kubesim_bind(world.sim, "default", "a", "n1");
    size_t at = manager_wait(manager, 0, NEWS_OWNER, "default/a", NULL);
    ck_assert_uint_gt(at, 0);
    ck_assert_str_eq(manager->news[at - 1].node, "n1");
    kubesim_set_annotation(world.sim, "pods", "default", "a", HAMI_HANDSHAKE_DONE_KEY,
                           "77");
    at = manager_wait(manager, at, NEWS_OWNER, "default/a", NULL);
    ck_assert_uint_gt(at, 0);
    ck_assert_str_eq(manager->news[at - 1].node, "n1");
    ck_assert_uint_eq(manager->news[at - 1].done, 77);
    /* It runs: nothing more of it is told but that it left. */
    kubesim_set_phase(world.sim, "default", "a", "Running");
    at = manager_wait(manager, at, NEWS_OWNER, "default/a", NULL);
    ck_assert_uint_gt(at, 0);
    kubesim_set_annotation(world.sim, "pods", "default", "a", "example.com/x", "1");
    add_pod("b");
    kubesim_bind(world.sim, "default", "b", "n1");
    ck_assert_uint_gt(manager_wait(manager, at, NEWS_OWNER, "default/b", NULL), 0);
    ck_assert_uint_eq(manager_count(manager), at + 1);
}
END_TEST

START_TEST(a_wrong_question_is_refused)
{
    uint64_t deadline_ns = hami_kubernetes_in_ms(5000);
    ck_assert_int_eq(
        hami_kubernetes_find_pod_start(NULL, "default", "a", deadline_ns, keep, NULL),
        HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_find_pod_start(world.transport, "default", "../x",
                                                    deadline_ns, keep, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_find_pod_start(world.transport, "a/b", "x",
                                                    deadline_ns, keep, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_find_pod_start(world.transport, "default", "a",
                                                    deadline_ns, NULL, NULL),
                     HAMI_E_INVAL);
}
END_TEST

START_TEST(in_a_forked_child_nothing_is_looked_for)
{
    int status = -1;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int code = hami_kubernetes_find_pod_start(
            world.transport, "default", "a", hami_kubernetes_in_ms(5000), keep, NULL);
        _exit(code == HAMI_E_FORKED ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes find");
    TCase *cases = tcase_create("find");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_pod_that_the_watch_knows_is_told_whole_without_a_read);
    tcase_add_test(cases, news_that_comes_within_the_wait_saves_the_read);
    tcase_add_test(cases, what_the_watch_does_not_show_unbound_is_read);
    tcase_add_test(cases, a_watch_that_was_lost_answers_nothing);
    tcase_add_test(cases, managers_are_told_of_the_success_on_a_bound_pod);
    tcase_add_test(cases, a_wrong_question_is_refused);
    tcase_add_test(cases, in_a_forked_child_nothing_is_looked_for);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
