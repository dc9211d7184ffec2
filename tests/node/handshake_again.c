/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that were served and ask again: which of them count among the possible callers, as
 * a table of pods and of what the kubelet has on its books.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "pod_builder.h"

#define SERVED(uuid) ONE(1), .gpu = ";", .phase = "success", .assigned = uuid ",N,1,0:;"
#define WAITING(uuid) ONE(1), .gpu = uuid ",N,1,0:;", .assigned = uuid ",N,1,0:;"
#define BOTH .containers = {{1, 0}, {1, 0}}, .container_count = 2

static const struct {
    const char *title;
    struct pod pods[4];
    const char *books[4]; /* "POD/CONTAINER"; NULL ends */
    int code;
    const char *name; /* of the pod served */
    const char *container;
    const char *uuid;
} questions[] = {
    {"a served pod on the books is no caller",
     {{"a", SERVED("u")}, {"b", WAITING("v")}},
     {"a/c0"},
     0,
     "b",
     "c0",
     "v"},
    {"served_not_counted: a served pod that the books lack makes the next one ambiguous",
     {{"a", SERVED("u")}, {"b", WAITING("v")}},
     {NULL},
     HAMI_E_BUSY,
     NULL,
     NULL,
     NULL},
    {"case 4.20: the only possible caller gets the same devices again",
     {{"a", SERVED("u")}},
     {NULL},
     0,
     "a",
     "c0",
     "u"},
    {"books of another pod's container don't count",
     {{"a", SERVED("u")}},
     {"b/c0", "a/c1", "a/c"},
     0,
     "a",
     "c0",
     "u"},
    {"a pod that the kubelet reported on is on the books, though they don't show it yet",
     {{"a", SERVED("u"), .is_reported = true}, {"b", WAITING("v")}},
     {NULL},
     0,
     "b",
     "c0",
     "v"},
    {"case 4.20: lost books: a reported pod is served again where nobody else waits",
     {{"a", SERVED("u"), .is_reported = true}},
     {NULL},
     0,
     "a",
     "c0",
     "u"},
    {"lost books: two reported pods are ambiguous",
     {{"a", SERVED("u"), .is_reported = true}, {"b", SERVED("v"), .is_reported = true}},
     {NULL},
     HAMI_E_BUSY,
     NULL,
     NULL,
     NULL},
    {"a first container that the books lack is meant before the second",
     {{"a", BOTH, .gpu = ";v,N,1,0:;", .assigned = "u,N,1,0:;v,N,1,0:;"}},
     {NULL},
     0,
     "a",
     "c0",
     "u"},
    {"with the first on the books the second is meant",
     {{"a", BOTH, .gpu = ";v,N,1,0:;", .assigned = "u,N,1,0:;v,N,1,0:;"}},
     {"a/c0"},
     0,
     "a",
     "c1",
     "v"},
    {"the second of two served containers may ask again alone",
     {{"a", BOTH, .gpu = ";;", .phase = "success", .assigned = "u,N,1,0:;v,N,1,0:;"}},
     {"a/c0"},
     0,
     "a",
     "c1",
     "v"},
    {"init containers that end are on no books: their absence says nothing",
     {{"a", .inits = {{1, 0}}, .init_count = 1, .containers = {{0}}, .container_count = 1,
       .gpu = ";;", .phase = "success", .assigned = "u,N,1,0:;;"},
      {"b", WAITING("v")}},
     {NULL},
     0,
     "b",
     "c0",
     "v"},
    {"init containers that run on are on the books",
     {{"a", .inits = {{1, 0}}, .init_count = 1, .containers = {{0}}, .container_count = 1,
       .gpu = ";;", .phase = "success", .assigned = "u,N,1,0:;;", .is_sidecar = true}},
     {NULL},
     0,
     "a",
     "init0",
     "u"},
    {"a string of an older HAMi leaves init containers out here too",
     {{"a", .inits = {{0}}, .init_count = 1, .containers = {{1, 0}}, .container_count = 1,
       .gpu = ";", .phase = "success", .assigned = "u,N,1,0:;"}},
     {NULL},
     0,
     "a",
     "c0",
     "u"},
    {"what was assigned since, otherwise, is not handed out",
     {{"a", BOTH, .gpu = ";w,N,1,0:;", .assigned = "u,N,1,0:;v,N,1,0:;"}},
     {NULL},
     0,
     "a",
     "c1",
     "w"},
    {"a pod without a string of what is left was never served",
     {{"a", ONE(1), .phase = "success", .assigned = "u,N,1,0:;"}},
     {NULL},
     HAMI_E_LOST,
     NULL,
     NULL,
     NULL},
    {"a malformed string of what was assigned is passed over",
     {{"a", ONE(1), .gpu = ";", .phase = "success", .assigned = "u,N:;"},
      {"b", WAITING("v")}},
     {NULL},
     0,
     "b",
     "c0",
     "v"},
    {"a pod of another count concerns nobody",
     {{"a", ONE(2), .gpu = ";", .phase = "success", .assigned = "u,N,1,0:w,N,1,0:;"},
      {"b", WAITING("v")}},
     {NULL},
     0,
     "b",
     "c0",
     "v"},
    {"a pod that was refused asks no more",
     {{"a", ONE(1), .gpu = ";", .phase = "failed", .assigned = "u,N,1,0:;"},
      {"b", WAITING("v")}},
     {NULL},
     0,
     "b",
     "c0",
     "v"},
};

static json_t *pods_of(size_t question)
{
    json_t *items = json_array();

    for (size_t i = 0; questions[question].pods[i].name != NULL; i++) {
        json_array_append_new(items, pod_json(&questions[question].pods[i]));
    }
    return json_pack("{s:o}", "items", items);
}

/* Rows of the kubelet's books; each pod also holds a device of another resource. */
static size_t books_of(size_t question, char texts[4][32],
                       struct hami_handshake_holding *rows)
{
    size_t count = 0;

    for (size_t i = 0; questions[question].books[i] != NULL; i++) {
        char *slash;

        strcpy(texts[i], questions[question].books[i]);
        slash = strchr(texts[i], '/');
        *slash = '\0';
        rows[count++] = (struct hami_handshake_holding){"ns", texts[i], slash + 1, GPU};
        rows[count++] = (struct hami_handshake_holding){"other", "a", "c0", GPU};
    }
    rows[count++] = (struct hami_handshake_holding){"ns", "a", "c0", NPU};
    return count;
}

START_TEST(caller_is_found)
{
    struct hami_internal_handshake_share share = {0};
    struct hami_handshake_holding rows[9];
    char texts[4][32];
    struct hami_internal_handshake_books books = {rows, books_of(_i, texts, rows)};
    size_t counts[] = {1};
    struct hami_internal_handshake_ask ask = make_ask(0, counts, 1);
    json_t *list = pods_of(_i);
    char text[512] = "";
    int code;

    ask.books = &books;
    code = hami_internal_handshake_find(list, &ask, &share, text, sizeof(text));
    ck_assert_msg(code == questions[_i].code, "%s: %s, \"%s\"", questions[_i].title,
                  hami_errname(code), text);
    if (code == 0) {
        ck_assert_str_eq(json_string_value(json_object_get(
                             json_object_get(share.pod, "metadata"), "name")),
                         questions[_i].name);
        ck_assert_str_eq(share.names[0], questions[_i].container);
        ck_assert_str_eq(hami_devices_get(share.devices, share.entries[0], 0)->uuid,
                         questions[_i].uuid);
    }
    hami_internal_handshake_share_done(&share);
    json_decref(list);
}
END_TEST

/* Serving the same once more erases nothing anew, and the last container is the last. */
START_TEST(next_write_of_a_pod_that_asks_again_keeps_its_string)
{
    const struct pod pod = {"a", BOTH, .gpu = ";;", .phase = "success",
                            .assigned = "u,N,1,0:;v,N,1,0:;"};
    struct hami_internal_handshake_share share = {0};
    struct hami_internal_handshake_step step;
    struct hami_internal_handshake_books books = {NULL, 0};
    size_t counts[] = {1};
    struct hami_internal_handshake_ask ask = make_ask(0, counts, 1);
    json_t *list = json_pack("{s:[o]}", "items", pod_json(&pod));
    char text[512];

    ask.books = &books;
    ck_assert_int_eq(hami_internal_handshake_find(list, &ask, &share, text, sizeof(text)),
                     0);
    ck_assert(share.is_again);
    ck_assert_int_eq(hami_internal_handshake_next(share.pod, &ask, &share, &step), 0);
    ck_assert_str_eq(step.new_text, ";;");
    ck_assert(!step.is_last); /* its second container asks again, too */
    hami_internal_handshake_step_done(&step);
    hami_internal_handshake_share_done(&share);
    json_decref(list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pods that ask again");
    TCase *pods = tcase_create("pods");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(pods, caller_is_found, 0, COUNT(questions));
    tcase_add_test(pods, next_write_of_a_pod_that_asks_again_keeps_its_string);
    suite_add_tcase(suite, pods);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
