/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid node through its socket: what a device plugin is answered, and what garbage is.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_fixture.h"

/* ---- a device plugin's way ------------------------------------------------------ */

START_TEST(allocation_is_answered_and_done)
{
    char id[64], text[128];
    struct reply reply;
    json_t *root, *device;
    char *uid;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    reply = ask(id, sizeof(id));
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
    ck_assert_uint_eq(strspn(id, "0123456789abcdef"), 32);
    ck_assert_uint_eq(strlen(id), 32);
    uid = world_uid(&world, "a");
    ck_assert_str_eq(reply_text(&reply, "namespace", text, sizeof(text)), "ns");
    ck_assert_str_eq(reply_text(&reply, "name", text, sizeof(text)), "a");
    ck_assert_str_eq(reply_text(&reply, "uid", text, sizeof(text)), uid);
    ck_assert_str_eq(reply_text(&reply, "fence", text, sizeof(text)), "7");
    root = json_loads(reply.body, 0, NULL);
    device = json_object_get(json_array_get(json_object_get(root, "containers"), 0),
                             "devices");
    device = json_array_get(device, 0);
    ck_assert_str_eq(json_string_value(json_object_get(device, "uuid")), "GPU-a");
    ck_assert_str_eq(json_string_value(json_object_get(device, "type")), "NVIDIA");
    ck_assert_int_eq(json_integer_value(json_object_get(device, "memory_mib")), 1000);
    ck_assert_int_eq(json_integer_value(json_object_get(device, "core_percent")), 10);
    json_decref(root);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    ck_assert_int_eq(end(id, "done", "{}").status, 204);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    free(uid);
}
END_TEST

START_TEST(failure_is_written)
{
    char id[64];

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ask(id, sizeof(id));
    ck_assert_int_eq(end(id, "failed", "{\"reason\":\"no such\\ndevice\"}").status, 204);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(done_said_twice_is_answered_twice_and_written_once)
{
    char id[64];
    unsigned writes;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ask(id, sizeof(id));
    ck_assert_int_eq(end(id, "done", "").status, 204);
    writes = world_writes(&world);
    ck_assert_int_eq(end(id, "done", "{}").status, 204);
    ck_assert_int_eq(end(id, "failed", "{}").status, 409);
    ck_assert_uint_eq(world_writes(&world), writes);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

START_TEST(refusals_say_why_and_write_nothing)
{
    char id[64], text[32];
    struct kubesim_match patches = {.verb = "patch", .user = "admin"};
    struct kubesim_match events = {.verb = "create", .resource = "events"};
    unsigned writes = kubesim_count(world.sim, &patches);
    char *lease = world_lease_text(WORLD_TIME ",ns,gone", "uid-of-gone", "9");
    struct reply reply = ask(id, sizeof(id));

    ck_assert_int_eq(reply.status, 404);
    ck_assert_str_eq(reply_text(&reply, "code", text, sizeof(text)), "LOST");
    world_simple_pod(&world, "a");
    world_pair(&world, WORLD_TIME ",ns,gone", lease);
    reply = ask(id, sizeof(id));
    ck_assert_int_eq(reply.status, 409);
    ck_assert_str_eq(reply_text(&reply, "code", text, sizeof(text)), "HELD");
    ck_assert_ptr_nonnull(strstr(reply.body, "ns/gone"));
    world_simple_pod(&world, "b");
    reply = ask(id, sizeof(id));
    ck_assert_int_eq(reply.status, 409);
    ck_assert_str_eq(reply_text(&reply, "code", text, sizeof(text)), "BUSY");
    ck_assert_uint_eq(kubesim_count(world.sim, &patches), writes);
    ck_assert(kubesim_wait_count(world.sim, &events, 3, 30000)); /* each one an event */
    free(lease);
}
END_TEST

START_TEST(case_4_19_server_that_hangs_is_answered_in_time)
{
    struct kubesim_fault fault = {.match = {.verb = "list", .resource = "pods"},
                                  .action = KUBESIM_HANG_BEFORE};
    char id[64];
    uint64_t before = hami_kubernetes_now();

    kubesim_arm(world.sim, &fault);
    ck_assert_int_eq(ask(id, sizeof(id)).status, 504);
    ck_assert_uint_lt(hami_kubernetes_now() - before, 5000 * UINT64_C(1000000));
    ck_assert_int_eq(agent_request(&agent, "/livez", NULL).status, 200);
}
END_TEST

START_TEST(case_3_27_pod_that_changed_is_told_at_the_end)
{
    char id[64];

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ask(id, sizeof(id));
    ck_assert_int_eq(kubesim_delete(world.sim, "pods", "ns", "a"), 200);
    ck_assert_int_eq(end(id, "done", "{}").status, 409);
    ck_assert_int_eq(end(id, "done", "{}").status, 409); /* asked again: the same */
}
END_TEST

/* ---- garbage -------------------------------------------------------------------- */

static const struct {
    const char *path;
    const char *body; /* NULL: GET */
    long status;
} garbage[] = {
    {"/v1/allocations", "", 400},
    {"/v1/allocations", "x", 400},
    {"/v1/allocations", "{", 400},
    {"/v1/allocations", "[]", 400},
    {"/v1/allocations", "null", 400},
    {"/v1/allocations", "7", 400},
    {"/v1/allocations", "{}", 400},
    {"/v1/allocations", "{\"resource\":7,\"containers\":[[\"a\"]]}", 400},
    {"/v1/allocations", "{\"resource\":\"\",\"containers\":[[\"a\"]]}", 400},
    {"/v1/allocations", "{\"resource\":\"a/b\",\"containers\":[[\"a\"]]}", 400},
    {"/v1/allocations", "{\"resource\":\"nvidia.com/gpu\"}", 400},
    {"/v1/allocations", "{\"resource\":\"nvidia.com/gpu\",\"containers\":[]}", 400},
    {"/v1/allocations", "{\"resource\":\"nvidia.com/gpu\",\"containers\":{}}", 400},
    {"/v1/allocations", "{\"resource\":\"nvidia.com/gpu\",\"containers\":[\"a\"]}", 400},
    {"/v1/allocations", "{\"resource\":\"nvidia.com/gpu\",\"containers\":[[]]}", 400},
    {"/v1/allocations", "{\"resource\":\"nvidia.com/gpu\",\"containers\":[[7]]}", 400},
    {"/v1/allocations", "{\"resource\":\"nvidia.com/gpu\",\"containers\":[[\"\"]]}", 400},
    {"/v1/allocations",
     "{\"resource\":\"nvidia.com/gpu\",\"resource\":\"x/y\",\"containers\":[[\"a\"]]}",
     400},
    {"/v1/allocations", "{\"resource\":\"\\u0000\",\"containers\":[[\"a\"]]}", 400},
    {"/v1/allocations", "\xff\xfe", 400},
    {"/v1/allocations", NULL, 405},
    {"/v1/allocations/0123456789abcdef0123456789abcdef/done", NULL, 405},
    {"/v1/allocations/0123456789abcdef0123456789abcdef/done", "{}", 410},
    {"/v1/allocations/0123456789abcdef0123456789abcdef/failed", "{}", 410},
    {"/v1/allocations/0123456789abcdef0123456789abcdef/done", "x", 400},
    {"/v1/allocations/0123456789abcdef0123456789abcdef/failed", "{\"reason\":7}", 400},
    {"/v1/allocations/0123456789abcdef0123456789abcdef/more", "{}", 404},
    {"/v1/allocations/0123456789abcdef0123456789abcdef", "{}", 404},
    {"/v1/allocations/0123456789ABCDEF0123456789abcdef/done", "{}", 404},
    {"/v1/allocations/short/done", "{}", 404},
    {"/v1/allocations/", "{}", 404},
    {"/v1/allocations/../../etc/passwd/done", "{}", 404},
    {"/v2/allocations", "{}", 404},
    {"/", NULL, 404},
};

START_TEST(garbage_is_answered_clearly_and_harms_nothing)
{
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        struct reply reply = agent_request(&agent, garbage[i].path, garbage[i].body);
        char text[512];

        ck_assert_msg(reply.status == garbage[i].status, "%s %s: %ld %s", garbage[i].path,
                      garbage[i].body ? garbage[i].body : "(GET)", reply.status,
                      reply.body);
        ck_assert_str_ne(reply_text(&reply, "code", text, sizeof(text)), "");
        ck_assert_str_ne(reply_text(&reply, "message", text, sizeof(text)), "");
    }
    ck_assert_int_eq(agent_request(&agent, "/livez", NULL).status, 200);
}
END_TEST

/* A body that is too long, nested too deep, or has more than anybody needs. */
START_TEST(bodies_beyond_all_bounds_are_refused)
{
    size_t size = 400 * 1024;
    char *body = malloc(size + 1);
    char *text = body;

    memset(body, ' ', size);
    body[size] = '\0';
    ck_assert_int_eq(agent_request(&agent, "/v1/allocations", body).status, 413);
    memset(body, '[', 200 * 1024);
    body[200 * 1024] = '\0';
    ck_assert_int_eq(agent_request(&agent, "/v1/allocations", body).status, 400);
    text += sprintf(text, "{\"resource\":\"nvidia.com/gpu\",\"containers\":[");
    for (int i = 0; i < 65; i++) {
        text += sprintf(text, "%s[\"a\"]", i > 0 ? "," : "");
    }
    strcpy(text, "]}");
    ck_assert_int_eq(agent_request(&agent, "/v1/allocations", body).status, 400);
    text =
        body + sprintf(body, "{\"resource\":\"nvidia.com/gpu\",\"containers\":[[\"a\"");
    for (int i = 0; i < 8192; i++) {
        text += sprintf(text, ",\"a\"");
    }
    strcpy(text, "]]}");
    ck_assert_int_eq(agent_request(&agent, "/v1/allocations", body).status, 400);
    ck_assert_int_eq(agent_request(&agent, "/livez", NULL).status, 200);
    free(body);
}
END_TEST

int main(int argc, char **argv)
{
    TCase *cases = tcase_create("agent");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, allocation_is_answered_and_done);
    tcase_add_test(cases, failure_is_written);
    tcase_add_test(cases, done_said_twice_is_answered_twice_and_written_once);
    tcase_add_test(cases, refusals_say_why_and_write_nothing);
    tcase_add_test(cases, case_4_19_server_that_hangs_is_answered_in_time);
    tcase_add_test(cases, case_3_27_pod_that_changed_is_told_at_the_end);
    tcase_add_test(cases, garbage_is_answered_clearly_and_harms_nothing);
    tcase_add_test(cases, bodies_beyond_all_bounds_are_refused);
    return agent_main(argc, argv, "hamid node", cases);
}
