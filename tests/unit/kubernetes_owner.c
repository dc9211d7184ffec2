/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspecting pods, revoking their Bindings, and reading them for a scheduler, against
 * kubesim.
 */
#include "kubernetes_stand_in.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonpatch.h"
#include "suite.h"

#define REVOKED HAMI_HANDSHAKE_REVOKED_KEY
#define TEXT "n1,7,host_abc,1"

static struct world world;
static char *uid;

static void add_pod(const char *name, const char *node, const char *const *annotations)
{
    struct kubesim_pod pod = {.namespace_name = "default",
                              .name = name,
                              .node = node,
                              .scheduler = "hami-scheduler",
                              .resource = "nvidia.com/gpu",
                              .count = 1,
                              .annotations = annotations};
    ck_assert_int_eq(kubesim_create_pod(world.sim, &pod), 201);
    free(uid);
    uid = kubesim_text(world.sim, "pods", "default", name, "/metadata/uid");
    ck_assert_ptr_nonnull(uid);
}

static void setup(void)
{
    static const char *const annotations[] = {"hami.io/vgpu-node", "n1", NULL};
    world_begin(&world, NULL, NULL);
    world_add_node(&world, "n1");
    add_pod("a", NULL, annotations);
}

static void teardown(void)
{
    free(uid);
    uid = NULL;
    world_end(&world);
}

static void ask(struct hami_call *call, const char *name)
{
    call_begin(call, "n1", 2 * WAIT_MS); /* a net */
    call->owner = (struct hami_owner){"default", name, uid};
    call->revocation = TEXT;
}

static void arm(enum kubesim_action action, const char *verb, int status)
{
    struct kubesim_fault fault = {.match = {.verb = verb, .resource = "pods"},
                                  .count = 1,
                                  .action = action,
                                  .status = status};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

static unsigned patches(void)
{
    return kubesim_count(world.sim,
                         &(struct kubesim_match){.verb = "patch", .user = "admin"});
}

START_TEST(an_unbound_pod_is_told_with_version_and_assignment)
{
    struct hami_call call;
    ask(&call, "a");
    ck_assert_int_eq(call_inspect(&world, &call), 0);
    ck_assert_int_eq(call.facts.source, HAMI_FACTS_READ);
    ck_assert(call.facts.known && call.facts.exists);
    ck_assert_str_eq(call.facts.uid, uid);
    ck_assert_str_eq(call.facts.assigned_node, "n1");
    ck_assert_ptr_null(call.facts.node);
    char *version =
        kubesim_text(world.sim, "pods", "default", "a", "/metadata/resourceVersion");
    ck_assert_str_eq(call.facts.version, version);
    free(version);
}
END_TEST

START_TEST(a_bound_a_running_and_a_finished_pod_are_told_apart)
{
    struct hami_call call;
    ck_assert_int_eq(kubesim_bind(world.sim, "default", "a", "n1"), 201);
    ask(&call, "a");
    ck_assert_int_eq(call_inspect(&world, &call), 0);
    ck_assert_str_eq(call.facts.node, "n1");
    ck_assert(!call.facts.started && !call.facts.finished);
    kubesim_set_phase(world.sim, "default", "a", "Running");
    ask(&call, "a");
    ck_assert_int_eq(call_inspect(&world, &call), 0);
    ck_assert(call.facts.started);
    kubesim_terminate(world.sim, "default", "a");
    kubesim_set_phase(world.sim, "default", "a", "Failed");
    ask(&call, "a");
    ck_assert_int_eq(call_inspect(&world, &call), 0);
    ck_assert(call.facts.finished && call.facts.deleting);
}
END_TEST

START_TEST(a_pod_that_is_gone_is_known_not_to_exist_but_an_error_is_not_case_1_08)
{
    struct hami_call call;
    ask(&call, "gone");
    ck_assert_int_eq(call_inspect(&world, &call), 0);
    ck_assert(call.facts.known && !call.facts.exists);
    ask(&call, "Never/..");
    ck_assert_int_eq(call_inspect(&world, &call), 0);
    ck_assert(call.facts.known && !call.facts.exists);
    arm(KUBESIM_STATUS, "get", 500);
    ask(&call, "a");
    ck_assert_int_eq(call_inspect(&world, &call), HAMI_E_TRANSPORT);
    ck_assert(!call.has_facts);
    arm(KUBESIM_STATUS, "get", 403);
    ask(&call, "a");
    ck_assert_int_eq(call_inspect(&world, &call), HAMI_E_ACCESS);
    arm(KUBESIM_HANG_BEFORE, "get", 0);
    ask(&call, "a");
    call.deadline_ns = hami_kubernetes_in_ms(300);
    ck_assert_int_eq(call_inspect(&world, &call), HAMI_E_TRANSPORT);
}
END_TEST

START_TEST(a_revocation_is_one_patch_and_makes_an_older_binding_fail)
{
    struct hami_call call;
    char body[512];
    char *version =
        kubesim_text(world.sim, "pods", "default", "a", "/metadata/resourceVersion");
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ck_assert_str_eq(call.facts.revoked, TEXT);
    ck_assert_str_ne(call.facts.version, version);
    ck_assert_uint_eq(patches(), 1);
    expect_annotation(&world, "pods", "default", "a", REVOKED, TEXT);
    expect_annotation(&world, "pods", "default", "a", "hami.io/vgpu-node", "n1");
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"a\","
             "\"uid\":"
             "\"%s\",\"resourceVersion\":\"%s\"},\"target\":{\"kind\":\"Node\",\"name\":"
             "\"n1\"}}",
             uid, version);
    ck_assert_int_eq(kubesim_request(world.sim, "POST",
                                     "/api/v1/namespaces/default/pods/a/binding",
                                     "application/json", body, NULL),
                     409);
    free(version);
}
END_TEST

START_TEST(a_pod_without_annotations_is_revoked_too)
{
    struct hami_call call;
    world_drop_annotations(&world, "pods", "default", "a");
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ck_assert_str_eq(call.facts.revoked, TEXT);
    ck_assert_uint_eq(patches(), 1);
    expect_annotation(&world, "pods", "default", "a", REVOKED, TEXT);
}
END_TEST

static void annotate(struct kubesim *sim, void *data)
{
    (void)data;
    kubesim_set_annotation(sim, "pods", "default", "a", "other", "1");
}

START_TEST(a_map_that_comes_or_goes_meanwhile_is_followed_case_2_04)
{
    struct hami_call call;
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "pods"},
                                  .count = 1,
                                  .action = KUBESIM_NOTHING,
                                  .hook = annotate};
    world_drop_annotations(&world, "pods", "default", "a");
    kubesim_arm(world.sim, &fault);
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    expect_annotation(&world, "pods", "default", "a", REVOKED, TEXT);
    expect_annotation(&world, "pods", "default", "a", "other", "1");
}
END_TEST

START_TEST(a_bound_pod_is_not_revoked)
{
    struct hami_call call;
    ck_assert_int_eq(kubesim_bind(world.sim, "default", "a", "n1"), 201);
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), HAMI_E_HELD);
    ck_assert(call.has_facts);
    ck_assert_str_eq(call.facts.node, "n1");
    expect_annotation(&world, "pods", "default", "a", REVOKED, NULL);
}
END_TEST

START_TEST(another_uid_is_not_revoked)
{
    struct hami_call call;
    ask(&call, "a");
    call.owner.uid = "another";
    ck_assert_int_eq(call_revoke(&world, &call), HAMI_E_HELD);
    ck_assert_str_eq(call.facts.uid, uid);
    expect_annotation(&world, "pods", "default", "a", REVOKED, NULL);
}
END_TEST

START_TEST(what_is_gone_needs_no_revocation_and_what_has_no_uid_gets_none)
{
    struct hami_call call;
    ask(&call, "gone");
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ck_assert(call.facts.known && !call.facts.exists);
    unsigned before = patches();
    ask(&call, "a");
    call.owner.uid = "";
    ck_assert_int_eq(call_revoke(&world, &call), HAMI_E_PROTO);
    ask(&call, "No/Pod");
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ck_assert(!call.facts.exists);
    ck_assert_uint_eq(patches(), before);
}
END_TEST

START_TEST(a_revocation_whose_answer_is_lost_is_read_back_case_1_14)
{
    static const enum kubesim_action actions[] = {KUBESIM_DROP_AFTER, KUBESIM_RESET_AFTER,
                                                  KUBESIM_STATUS_AFTER, KUBESIM_TRUNCATE};
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        struct hami_call call;
        char text[32];
        arm(actions[i], "patch", 500);
        ask(&call, "a");
        snprintf(text, sizeof(text), "n1,7,h,%zu", i);
        call.revocation = text;
        int code = call_revoke(&world, &call);
        ck_assert_msg(code == 0, "action %zu: %d %s", i, code, call.text);
        ck_assert_str_eq(call.facts.revoked, text);
        ck_assert_uint_eq(patches(), i + 1);
    }
}
END_TEST

/* A proxy may hold back the second copy of a write for as long as it likes. */
START_TEST(a_late_copy_of_a_revocation_does_not_cover_a_newer_one)
{
    struct hami_call call;
    char *version =
        kubesim_text(world.sim, "pods", "default", "a", "/metadata/resourceVersion");
    char *copy = NULL;
    ck_assert_int_eq(hami_internal_jsonpatch_unbound_pod(uid, version, REVOKED, TEXT,
                                                         HAMI_INTERNAL_JSONPATCH_BY_KEY,
                                                         &copy),
                     0);
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ask(&call, "a");
    call.revocation = "n1,8,h,2";
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ck_assert_int_eq(kubesim_request(world.sim, "PATCH",
                                     "/api/v1/namespaces/default/pods/a",
                                     HAMI_INTERNAL_JSONPATCH_TYPE, copy, NULL),
                     422);
    expect_annotation(&world, "pods", "default", "a", REVOKED, "n1,8,h,2");
    free(copy);
    free(version);
}
END_TEST

START_TEST(a_revocation_that_was_lost_before_it_was_applied_is_sent_again)
{
    struct hami_call call;
    arm(KUBESIM_DROP_BEFORE, "patch", 0);
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ck_assert_str_eq(call.facts.revoked, TEXT);
    expect_annotation(&world, "pods", "default", "a", REVOKED, TEXT);
}
END_TEST

static void bind_now(struct kubesim *sim, void *data)
{
    (void)data;
    kubesim_bind(sim, "default", "a", "n1");
}

START_TEST(a_binding_that_lands_first_is_told_though_the_answer_is_lost)
{
    struct hami_call call;
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "pods"},
                                  .count = 1,
                                  .action = KUBESIM_DROP_AFTER,
                                  .hook = bind_now};
    kubesim_arm(world.sim, &fault);
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), HAMI_E_HELD);
    ck_assert_str_eq(call.facts.node, "n1");
}
END_TEST

START_TEST(a_revocation_that_nobody_answers_is_in_doubt_by_its_deadline)
{
    struct hami_call call;
    struct kubesim_fault fault = {
        .match = {.verb = "patch", .resource = "pods", .user = "admin"},
        .action = KUBESIM_HANG_BEFORE};
    kubesim_arm(world.sim, &fault);
    /* A deadline that leaves time to send it, however slow the machine is. */
    int code = HAMI_E_TRANSPORT;
    for (uint64_t ms = 400; code == HAMI_E_TRANSPORT && ms <= WAIT_MS; ms *= 2) {
        ask(&call, "a");
        call.deadline_ns = hami_kubernetes_in_ms(ms);
        code = call_revoke(&world, &call);
    }
    ck_assert_int_eq(code, HAMI_E_IN_DOUBT);
}
END_TEST

START_TEST(a_revocation_that_is_always_lost_ends_in_doubt_after_a_few_tries)
{
    struct hami_call call;
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "pods"},
                                  .action = KUBESIM_STATUS,
                                  .status = 500};
    kubesim_arm(world.sim, &fault);
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), HAMI_E_IN_DOUBT);
    ck_assert_uint_le(patches(), 4);
    kubesim_disarm(world.sim, 0);
    fault.status = 403;
    kubesim_arm(world.sim, &fault);
    ask(&call, "a");
    ck_assert_int_eq(call_revoke(&world, &call), HAMI_E_ACCESS);
}
END_TEST

START_TEST(an_aborted_revocation_ends_soon)
{
    struct hami_call call;
    arm(KUBESIM_HANG_BEFORE, "patch", 0);
    ask(&call, "a");
    call.deadline_ns = hami_kubernetes_in_ms(60000);
    ck_assert_int_eq(world.transport->revoke(world.transport, &call), 0);
    ck_assert(kubesim_wait_count(
        world.sim, &(struct kubesim_match){.verb = "patch", .user = "admin"}, 1,
        WAIT_MS));
    world.transport->abort(world.transport, &call);
    ck_assert_int_eq(call_wait_for(&call, 5000), HAMI_E_IN_DOUBT);
}
END_TEST

/* ---- reading for a scheduler ---- */

struct described {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool done;
    int code;
    bool exists;
    char scheduler[64];
    char resource[64];
    size_t resource_count;
};

static void keep(void *data, int code, const struct hami_kubernetes_pod *pod,
                 const char *text)
{
    struct described *described = data;
    (void)text;
    pthread_mutex_lock(&described->mutex);
    described->done = true;
    described->code = code;
    if (pod != NULL) {
        described->exists = pod->facts.exists;
        described->resource_count = pod->resource_count;
        snprintf(described->scheduler, sizeof(described->scheduler), "%s",
                 pod->scheduler_name != NULL ? pod->scheduler_name : "");
        snprintf(described->resource, sizeof(described->resource), "%s",
                 pod->resource_count > 0 ? pod->resources[0] : "");
    }
    pthread_cond_signal(&described->ended);
    pthread_mutex_unlock(&described->mutex);
}

static struct described read_pod(const char *name)
{
    struct described described = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
    ck_assert_int_eq(hami_kubernetes_read_pod_start(world.client, "default", name,
                                                    hami_kubernetes_in_ms(5000), keep,
                                                    &described),
                     0);
    pthread_mutex_lock(&described.mutex);
    while (!described.done) {
        pthread_cond_wait(&described.ended, &described.mutex);
    }
    pthread_mutex_unlock(&described.mutex);
    return described;
}

START_TEST(a_scheduler_reads_what_a_pod_asks_for)
{
    struct described described = read_pod("a");
    ck_assert_int_eq(described.code, 0);
    ck_assert(described.exists);
    ck_assert_str_eq(described.scheduler, "hami-scheduler");
    ck_assert_uint_eq(described.resource_count, 1);
    ck_assert_str_eq(described.resource, "nvidia.com/gpu");
    described = read_pod("gone");
    ck_assert_int_eq(described.code, 0);
    ck_assert(!described.exists);
    arm(KUBESIM_STATUS, "get", 403);
    described = read_pod("a");
    ck_assert_int_eq(described.code, HAMI_E_ACCESS);
    ck_assert_int_eq(
        hami_kubernetes_read_pod_start(world.client, "default", "../x", 0, keep, NULL),
        HAMI_E_INVAL);
    ck_assert_int_eq(
        hami_kubernetes_read_pod_start(world.client, NULL, "x", 0, keep, NULL),
        HAMI_E_INVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_owner");
    TCase *cases = tcase_create("owner");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, an_unbound_pod_is_told_with_version_and_assignment);
    tcase_add_test(cases, a_bound_a_running_and_a_finished_pod_are_told_apart);
    tcase_add_test(
        cases, a_pod_that_is_gone_is_known_not_to_exist_but_an_error_is_not_case_1_08);
    tcase_add_test(cases, a_revocation_is_one_patch_and_makes_an_older_binding_fail);
    tcase_add_test(cases, a_pod_without_annotations_is_revoked_too);
    tcase_add_test(cases, a_map_that_comes_or_goes_meanwhile_is_followed_case_2_04);
    tcase_add_test(cases, a_bound_pod_is_not_revoked);
    tcase_add_test(cases, another_uid_is_not_revoked);
    tcase_add_test(cases, what_is_gone_needs_no_revocation_and_what_has_no_uid_gets_none);
    tcase_add_test(cases, a_revocation_whose_answer_is_lost_is_read_back_case_1_14);
    tcase_add_test(cases, a_late_copy_of_a_revocation_does_not_cover_a_newer_one);
    tcase_add_test(cases, a_revocation_that_was_lost_before_it_was_applied_is_sent_again);
    tcase_add_test(cases, a_binding_that_lands_first_is_told_though_the_answer_is_lost);
    tcase_add_test(cases, a_revocation_that_nobody_answers_is_in_doubt_by_its_deadline);
    tcase_add_test(cases,
                   a_revocation_that_is_always_lost_ends_in_doubt_after_a_few_tries);
    tcase_add_test(cases, an_aborted_revocation_ends_soon);
    tcase_add_test(cases, a_scheduler_reads_what_a_pod_asks_for);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
