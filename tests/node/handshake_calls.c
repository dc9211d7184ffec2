/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pods may be beside each other on a node if their sets of calls have no member in
 * common (docs/protocol.md, section 11). That holds only if the node side takes no pod
 * for a possible caller whose set lacks the call, whatever state the pod is in, and if
 * each call that the kubelet makes for a pod is in its set. Both are tried here with pods
 * that are drawn: one to three init containers, some that run on, two vendors, strings
 * that are new, half used up, used up, malformed, of an older HAMi, or not there, and
 * books that have lost any of it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pod.h"
#include "pod_builder.h"

#define PODS 4000
#define COUNT_MAX 4 /* of devices that a container asks, and a call has */

/* A sequence that is the same in each run. */
struct drawn {
    uint64_t state;
};

static unsigned draw(struct drawn *drawn, unsigned below)
{
    drawn->state = drawn->state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (unsigned)(drawn->state >> 33) % below;
}

static struct wants draw_wants(struct drawn *drawn)
{
    return (struct wants){(int)draw(drawn, COUNT_MAX), (int)draw(drawn, COUNT_MAX) - 1};
}

/* Devices of one container, or a wrong number of them, or nothing any more. */
static void add_entry(struct drawn *drawn, int wants, char *text, size_t size)
{
    size_t length = strlen(text);
    int count = draw(drawn, 12) == 0 ? wants + 1 : wants;

    if (draw(drawn, 3) == 0) {
        count = 0;
    }
    for (int i = 0; i < count && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length,
                                   "d%u,N,1,0:", draw(drawn, 1000));
    }
    if (length < size) {
        (void)snprintf(text + length, size - length, ";");
    }
}

static const char *draw_string(struct drawn *drawn, const struct pod *pod, char *text,
                               size_t size)
{
    bool is_older = draw(drawn, 6) == 0;

    text[0] = '\0';
    for (size_t i = 0; i < pod->init_count && !is_older; i++) {
        add_entry(drawn, pod->inits[i].gpu, text, size);
    }
    for (size_t i = 0; i < pod->container_count; i++) {
        add_entry(drawn, pod->containers[i].gpu, text, size);
    }
    switch (draw(drawn, 16)) {
    case 0:
        return NULL;
    case 1:
        return "u,N:;";
    default:
        return text;
    }
}

static struct pod draw_pod(struct drawn *drawn, char texts[2][2048])
{
    static const char *const phases[] = {NULL, "allocating", "success", "failed"};
    struct pod pod = {.name = "a",
                      .init_count = draw(drawn, 4),
                      .container_count = 1 + draw(drawn, 4),
                      .phase = phases[draw(drawn, 4)],
                      .is_reported = draw(drawn, 3) == 0,
                      .is_sidecar = draw(drawn, 3) == 0};

    for (size_t i = 0; i < pod.init_count; i++) {
        pod.inits[i] = draw_wants(drawn);
    }
    for (size_t i = 0; i < pod.container_count; i++) {
        pod.containers[i] = draw_wants(drawn);
    }
    pod.gpu = draw_string(drawn, &pod, texts[0], sizeof(texts[0]));
    pod.assigned = draw_string(drawn, &pod, texts[1], sizeof(texts[1]));
    return pod;
}

/* Both together are one caller too many, where the one can be the caller. */
static bool can_call(json_t *pod, size_t count, bool has_books, bool count_refused)
{
    static const struct hami_internal_handshake_books none = {NULL, 0};
    struct hami_internal_handshake_share share = {0};
    struct hami_internal_handshake_ask ask = make_ask(0, &count, 1);
    json_t *list = json_pack("{s:[O,O]}", "items", pod, pod);
    char text[512];
    int code;

    ask.books = has_books ? &none : NULL;
    ask.count_refused = count_refused;
    code = hami_internal_handshake_find(list, &ask, &share, text, sizeof(text));
    ck_assert_int_ne(code, 0);
    json_decref(list);
    return code == HAMI_E_BUSY;
}

static bool has_call(const json_t *pod, size_t count)
{
    struct hami_internal_pod_texts texts;
    size_t calls = hami_internal_pod_calls(pod, &texts);
    char call[64];

    snprintf(call, sizeof(call), GPU "=%zu", count);
    for (size_t i = 0; i < calls; i++) {
        if (strcmp(texts.calls[i], call) == 0) {
            return true;
        }
    }
    return false;
}

START_TEST(no_pod_can_call_what_its_set_of_calls_lacks)
{
    struct drawn drawn = {(uint64_t)_i};
    char texts[2][2048];
    unsigned callers = 0;

    for (unsigned i = 0; i < PODS; i++) {
        struct pod pod = draw_pod(&drawn, texts);
        json_t *object = pod_json(&pod);

        for (size_t count = 1; count <= COUNT_MAX + 1; count++) {
            bool calls = can_call(object, count, draw(&drawn, 2), draw(&drawn, 2));

            ck_assert_msg(!calls || has_call(object, count),
                          "pod %u of %d may call with %zu, which it does not ask", i, _i,
                          count);
            callers += calls;
        }
        json_decref(object);
    }
    ck_assert_uint_gt(callers, PODS / 4); /* or nothing was tried */
}
END_TEST

/* Plays the kubelet: container by container, each with the count that it asks. */
static unsigned allocate_all(struct pod *pod)
{
    char left[2048] = "";
    unsigned calls = 0;

    for (size_t done = 0; done < pod->init_count + pod->container_count; done++) {
        size_t count = 0;
        json_t *object;

        left[0] = '\0';
        for (size_t i = 0; i < pod->init_count + pod->container_count; i++) {
            const struct wants *wants = i < pod->init_count
                                            ? &pod->inits[i]
                                            : &pod->containers[i - pod->init_count];

            for (int device = 0; i >= done && device < wants->gpu; device++) {
                strcat(left, "d,N,1,0:");
            }
            strcat(left, ";");
            count = i == done ? (size_t)wants->gpu : count;
        }
        pod->gpu = left;
        pod->phase = "allocating";
        object = pod_json(pod);
        if (count > 0) {
            ck_assert(can_call(object, count, false, true));
            ck_assert(has_call(object, count));
            calls++;
        }
        json_decref(object);
    }
    return calls;
}

START_TEST(each_call_of_the_kubelet_is_in_its_pods_set)
{
    struct drawn drawn = {(uint64_t)_i};
    unsigned calls = 0;

    for (unsigned i = 0; i < PODS; i++) {
        char texts[2][2048];
        struct pod pod = draw_pod(&drawn, texts);

        pod.assigned = NULL;
        pod.is_reported = false;
        calls += allocate_all(&pod);
    }
    ck_assert_uint_gt(calls, PODS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calls of pods");
    TCase *cases = tcase_create("drawn");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, no_pod_can_call_what_its_set_of_calls_lacks, 1, 5);
    tcase_add_loop_test(cases, each_call_of_the_kubelet_is_in_its_pods_set, 1, 3);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
