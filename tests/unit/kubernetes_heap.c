/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap that tells the client's thread which job is due next.
 */
#include <stdlib.h>

#include "http_client.h"
#include "kubernetes_support.h"
#include "suite.h"

#define JOBS 500

static void check_heap(const struct hami_internal_http_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++) {
        ck_assert_uint_eq(heap->jobs[i]->heap_index, i);
        ck_assert_uint_ge(heap->jobs[i]->due_ns,
                          heap->jobs[i > 0 ? (i - 1) / 2 : 0]->due_ns);
    }
}

START_TEST(the_heap_stays_in_order_whatever_is_moved_or_taken_out)
{
    static struct hami_internal_http_job jobs[JOBS];
    struct hami_internal_http_heap heap = {0};
    uint64_t last = 0;

    srandom((unsigned)_i + 1);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i].due_ns = (uint64_t)random() % 1000;
        ck_assert(hami_internal_http_heap_reserve(&heap));
        hami_internal_http_heap_push(&heap, &jobs[i]);
    }
    check_heap(&heap);
    for (size_t i = 0; i < JOBS; i += 3) {
        hami_internal_http_heap_move(&heap, &jobs[i], (uint64_t)random() % 1000);
        check_heap(&heap);
    }
    for (size_t i = 1; i < JOBS; i += 3) {
        hami_internal_http_heap_remove(&heap, &jobs[i]);
        check_heap(&heap);
    }
    while (hami_internal_http_heap_first(&heap) != NULL) {
        struct hami_internal_http_job *job = hami_internal_http_heap_first(&heap);

        ck_assert_uint_ge(job->due_ns, last);
        last = job->due_ns;
        hami_internal_http_heap_remove(&heap, job);
    }
    ck_assert_uint_eq(heap.count, 0);
    free(heap.jobs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes heap");
    TCase *tcase = tcase_create("heap");

    tcase_add_loop_test(tcase, the_heap_stays_in_order_whatever_is_moved_or_taken_out, 0,
                        10);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
