/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See scene.h. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

#include "suite.h"

struct kubesim *sim;
struct peer peer;
const struct kubesim_match patches = {.verb = "patch", .user = "u"};

void scene_start(const struct kubesim_options *options)
{
    ck_assert_int_eq(kubesim_start(options, &sim), 0);
    ck_assert_int_eq(kubesim_create_node(sim, "n1", "nvidia.com/gpu", 8), 201);
    peer_open_sim(&peer, sim, "admin");
}

void scene_setup(void)
{
    scene_start(NULL);
}

void scene_teardown(void)
{
    peer_close(&peer);
    sim = kubesim_free(sim);
}

void scene_restart(const struct kubesim_options *options)
{
    scene_teardown();
    scene_start(options);
}

void scene_setup_users(void)
{
    static const char *const users[] = {"u", "v", NULL};
    const struct kubesim_options options = {.users = users};
    ck_assert_int_eq(kubesim_start(&options, &sim), 0);
    ck_assert_int_eq(kubesim_create_node(sim, "n1", NULL, 0), 201);
    peer_open_sim(&peer, sim, "u");
}

bool choose(int index)
{
    peer.http_version = index == 0 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
    return index == 0;
}

void annotate(int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    ck_assert_int_eq(kubesim_set_annotation(sim, "nodes", NULL, "n1", "a", text), 200);
}

struct reply patch(void)
{
    return peer_send(&peer, "PATCH", NODE, MERGE_PATCH, SET_A, NULL);
}

void expect_patch(long code, bool applied, unsigned count)
{
    struct reply reply = patch();
    ck_assert_msg((reply.result == CURLE_OK) == (code != 0), "result %d: %s",
                  reply.result, curl_easy_strerror(reply.result));
    if (code != 0) {
        ck_assert_int_eq(reply.code, code);
    }
    reply_clear(&reply);
    char *value = kubesim_annotation(sim, "nodes", NULL, "n1", "a");
    ck_assert_int_eq(value != NULL, applied);
    free(value);
    ck_assert_uint_eq(kubesim_count(sim, &patches), count);
}

int scene_run(const char *name, TCase *test_case)
{
    Suite *suite = suite_create(name);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    tcase_set_timeout(test_case, 60);
    suite_add_tcase(suite, test_case);
    int code = run_suite(suite);
    curl_global_cleanup();
    return code;
}
