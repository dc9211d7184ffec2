/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* kubesim's log, users, direct calls, and its use from several threads. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scene.h"

START_TEST(the_log_has_each_delivery_in_kubernetes_form)
{
    const struct kubesim_match match = {
        .verb = "patch", .resource = "nodes", .name = "n1"};
    struct reply reply =
        peer_send(&peer, "PATCH", NODE, MERGE_PATCH,
                  "{\"metadata\":{\"annotations\":{\"a\":\"1\"}}}", METADATA);
    json_t *log = kubesim_log(sim, &match);
    json_t *event = json_array_get(log, 0);
    ck_assert_uint_eq(json_array_size(log), 1);
    ck_assert_str_eq(json_text_at(event, "/kind"), "Event");
    ck_assert_str_eq(json_text_at(event, "/apiVersion"), "audit.k8s.io/v1");
    ck_assert_str_eq(json_text_at(event, "/stage"), "ResponseComplete");
    ck_assert_str_eq(json_text_at(event, "/user/username"), "admin");
    ck_assert_str_eq(json_text_at(event, "/requestURI"), NODE);
    ck_assert_str_eq(json_text_at(event, "/objectRef/resource"), "nodes");
    ck_assert_str_eq(json_text_at(event, "/requestObject/metadata/annotations/a"), "1");
    ck_assert_str_eq(json_text_at(event, "/responseObject/kind"), "Node");
    ck_assert_str_eq(json_text_at(event, "/responseObject/metadata/resourceVersion"),
                     json_text_at(event, "/annotations/kubesim~1resource-version"));
    ck_assert_uint_eq(strlen(json_text_at(event, "/requestReceivedTimestamp")), 27);
    ck_assert_ptr_null(strstr(reply.body, "Bearer"));
    json_decref(log);
    reply_clear(&reply);
}
END_TEST

START_TEST(the_log_file_is_complete_at_the_stop)
{
    char path[] = "/tmp/kubesim-log-XXXXXX";
    int fd = mkstemp(path), lines = 0, character;
    const struct kubesim_options options = {.audit_path = path};
    ck_assert_int_ge(fd, 0);
    scene_restart(&options);
    for (int i = 0; i < 100; i++) {
        annotate(i);
    }
    kubesim_stop(sim);
    FILE *stream = fdopen(fd, "r");
    while ((character = fgetc(stream)) != EOF) {
        lines += character == '\n';
    }
    fclose(stream);
    unlink(path);
    ck_assert_int_eq(lines, 101); /* the node, and its changes */
}
END_TEST

START_TEST(users_are_told_apart_by_token_and_certificate)
{
    static const char *const users[] = {"alice", NULL};
    const struct kubesim_options options = {.users = users};
    const struct kubesim_match alice = {.user = "alice"}, admin = {.user = "admin"};
    scene_restart(&options);
    ck_assert_ptr_null(kubesim_token(sim, "bob"));
    peer_close(&peer);
    peer_open_sim(&peer, sim, "alice");
    struct reply reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 200);
    reply_clear(&reply);
    peer_close(&peer);
    peer_open_sim(&peer, sim, NULL);
    reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 401);
    reply_clear(&reply);
    peer_close(&peer);
    peer_open_sim(&peer, sim, NULL);
    peer.certificate_pem = strdup(kubesim_client_certificate_pem(sim));
    peer.key_pem = strdup(kubesim_client_key_pem(sim));
    reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 200);
    reply_clear(&reply);
    ck_assert_uint_eq(kubesim_count(sim, &alice), 1);
    ck_assert_uint_eq(kubesim_count(sim, &admin), 1);
}
END_TEST

START_TEST(a_certificate_of_another_ca_counts_as_none)
{
    struct kubesim *other;
    ck_assert_int_eq(kubesim_start(NULL, &other), 0);
    peer_close(&peer);
    peer_open_sim(&peer, sim, NULL);
    peer.certificate_pem = strdup(kubesim_client_certificate_pem(other));
    peer.key_pem = strdup(kubesim_client_key_pem(other));
    struct reply reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 401);
    reply_clear(&reply);
    kubesim_free(other);
}
END_TEST

START_TEST(without_http2_only_http1_is_offered)
{
    const struct kubesim_options options = {.without_http2 = true};
    scene_restart(&options);
    struct reply reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 200);
    ck_assert_int_eq(reply.http_version, CURL_HTTP_VERSION_1_1);
    reply_clear(&reply);
}
END_TEST

START_TEST(the_direct_calls_see_and_change_the_same_objects)
{
    static const char *const annotations[] = {"k", "v", NULL};
    const struct kubesim_pod elsewhere = {.namespace_name = "ns", .name = "p"};
    const struct kubesim_pod pod = {.namespace_name = "default",
                                    .name = "p",
                                    .resource = "nvidia.com/gpu",
                                    .count = 2,
                                    .annotations = annotations};
    ck_assert_int_eq(kubesim_create_pod(sim, &elsewhere), 201);
    ck_assert_int_eq(kubesim_create_pod(sim, &pod), 201);
    ck_assert_int_eq(kubesim_create_pod(sim, &pod), 409);
    char *text = kubesim_annotation(sim, "pods", "default", "p", "k");
    ck_assert_str_eq(text, "v");
    free(text);
    text = kubesim_text(sim, "pods", "default", "p",
                        "/spec/containers/0/resources/limits/nvidia.com~1gpu");
    ck_assert_str_eq(text, "2");
    free(text);
    ck_assert_int_eq(kubesim_bind(sim, "default", "p", "n1"), 201);
    ck_assert_int_eq(kubesim_terminate(sim, "default", "p"), 200);
    text = kubesim_text(sim, "pods", "default", "p", "/metadata/deletionTimestamp");
    ck_assert_ptr_nonnull(text);
    free(text);
    ck_assert_int_eq(kubesim_set_phase(sim, "default", "p", "Failed"), 200);
    ck_assert_int_eq(kubesim_delete(sim, "pods", "default", "p"), 200);
    ck_assert_int_eq(kubesim_delete(sim, "pods", "default", "p"), 404);
    ck_assert_ptr_null(kubesim_get(sim, "pods", "default", "p"));
    json_t *nodes = kubesim_list(sim, "nodes", NULL);
    ck_assert_uint_eq(json_array_size(nodes), 1);
    json_decref(nodes);
    char *kubeconfig = kubesim_kubeconfig(sim, "admin");
    ck_assert_ptr_nonnull(strstr(kubeconfig, kubesim_url(sim)));
    free(kubeconfig);
    ck_assert_ptr_null(kubesim_kubeconfig(sim, "nobody"));
}
END_TEST

START_TEST(after_a_stop_the_store_can_still_be_read)
{
    annotate(1);
    kubesim_stop(sim);
    char *text = kubesim_annotation(sim, "nodes", NULL, "n1", "a");
    ck_assert_str_eq(text, "1");
    free(text);
    struct reply reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_ne(reply.result, CURLE_OK);
    reply_clear(&reply);
}
END_TEST

#define THREADS 4
#define TURNS 100

static void *work(void *data)
{
    struct peer own;
    long failures = 0;
    peer_open_sim(&own, sim, "admin");
    for (int i = 0; i < TURNS; i++) {
        struct reply reply =
            peer_send(&own, "PATCH", NODE, MERGE_PATCH,
                      "{\"metadata\":{\"annotations\":{\"a\":null}}}", NULL);
        failures += reply.code != 200;
        reply_clear(&reply);
        kubesim_set_annotation(sim, "nodes", NULL, "n1", "a", "1");
        (void)kubesim_count(sim, NULL);
    }
    peer_close(&own);
    *(long *)data = failures;
    return NULL;
}

START_TEST(many_threads_may_use_it_at_once)
{
    pthread_t threads[THREADS];
    long failures[THREADS];
    const struct kubesim_match match = {.verb = "patch", .user = "admin"};
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &failures[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(failures[i], 0);
    }
    ck_assert_uint_eq(kubesim_count(sim, &match), THREADS * TURNS);
}
END_TEST

int main(void)
{
    TCase *test_case = tcase_create("server");
    tcase_add_checked_fixture(test_case, scene_setup, scene_teardown);
    tcase_add_test(test_case, the_log_has_each_delivery_in_kubernetes_form);
    tcase_add_test(test_case, the_log_file_is_complete_at_the_stop);
    tcase_add_test(test_case, users_are_told_apart_by_token_and_certificate);
    tcase_add_test(test_case, a_certificate_of_another_ca_counts_as_none);
    tcase_add_test(test_case, without_http2_only_http1_is_offered);
    tcase_add_test(test_case, the_direct_calls_see_and_change_the_same_objects);
    tcase_add_test(test_case, after_a_stop_the_store_can_still_be_read);
    tcase_add_test(test_case, many_threads_may_use_it_at_once);
    return scene_run("kubesim-server", test_case);
}
