/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and watch events from JSON; the table and the pod cache that hold what they
 * say.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "pod_cache.h"
#include "table.h"
#include "suite.h"

static json_t *parse(const char *text)
{
    json_t *value = hami_internal_object_parse(text, strlen(text));
    ck_assert_ptr_nonnull(value);
    return value;
}

START_TEST(members_of_another_type_are_as_good_as_absent)
{
    static const char *const texts[] = {
        "{}",
        "{\"metadata\":null}",
        "{\"metadata\":[]}",
        "{\"metadata\":{}}",
        "{\"metadata\":{\"annotations\":null,\"name\":7}}",
        "{\"metadata\":{\"annotations\":[\"k\"],\"name\":\"\"}}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hami_annotation *list;
        size_t count;
        json_t *object = parse(texts[i]);
        ck_assert_ptr_null(hami_internal_object_metadata(object, "name"));
        ck_assert_ptr_null(hami_internal_object_annotation(object, "k"));
        ck_assert(!hami_internal_object_has_annotations(object));
        ck_assert_int_eq(hami_internal_object_annotations(object, &list, &count), 0);
        ck_assert_ptr_null(list);
        ck_assert_uint_eq(count, 0);
        json_decref(object);
    }
    ck_assert_ptr_null(hami_internal_object_parse("[]", 2));
    ck_assert_ptr_null(hami_internal_object_parse("{", 1));
    ck_assert_ptr_null(hami_internal_object_parse("", 0));
}
END_TEST

START_TEST(annotations_are_told_all_but_those_that_are_no_texts)
{
    struct hami_annotation *list;
    size_t count;
    json_t *object = parse("{\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":"
                           "{\"a\":\"1\",\"b\":2,\"c\":\"\"}}}");
    ck_assert(hami_internal_object_has_annotations(object));
    ck_assert_str_eq(hami_internal_object_metadata(object, "resourceVersion"), "7");
    ck_assert_str_eq(hami_internal_object_annotation(object, "c"), "");
    ck_assert_int_eq(hami_internal_object_annotations(object, &list, &count), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(list[0].key, "a");
    ck_assert_str_eq(list[1].value, "");
    free(list);
    json_decref(object);
}
END_TEST

START_TEST(a_nul_in_a_text_does_not_hide_the_rest)
{
    json_t *object = parse("{\"metadata\":{\"name\":\"n\",\"annotations\":"
                           "{\"a\":\"x\\u0000y\",\"b\":\"z\"}}}");
    ck_assert_str_eq(hami_internal_object_annotation(object, "a"), "x");
    ck_assert_str_eq(hami_internal_object_annotation(object, "b"), "z");
    json_decref(object);
}
END_TEST

START_TEST(managed_fields_are_left_out_and_nothing_else)
{
    static const struct {
        const char *text;
        const char *rest;
    } rows[] = {
        {"{\"a\":1,\"managedFields\":[{\"x\":[1,\"]\\\"\"]}]}", "{\"a\":1}"},
        {"{\"managedFields\":[],\"a\":1}", "{\"a\":1}"},
        {"{\"managedFields\":[[],{}]}", "{}"},
        {"{\"a\":1,\"managedFields\":[{}],\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{\"items\":[{\"managedFields\":[1]},{\"a\":1,\"managedFields\":[2]}]}",
         "{\"items\":[{},{\"a\":1}]}"},
        {"{\"a\":\"x,\\\"managedFields\\\":[\"}",
         "{\"a\":\"x,\\\"managedFields\\\":[\"}"},
        {"{\"a\":\"managedFields\"}", "{\"a\":\"managedFields\"}"},
        {"{\"managedFields\":null}", "{\"managedFields\":null}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *object = parse(rows[i].text);
        json_t *wanted = json_loads(rows[i].rest, 0, NULL);
        ck_assert_msg(json_equal(object, wanted), "%s", rows[i].text);
        json_decref(object);
        json_decref(wanted);
    }
}
END_TEST

START_TEST(text_that_ends_within_managed_fields_is_no_object)
{
    static const char whole[] =
        "{\"a\":1,\"managedFields\":[{\"x\":[1,\"]\\\"\"]}],\"b\":\"c\"}";
    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        ck_assert_ptr_null(hami_internal_object_parse(whole, length));
    }
}
END_TEST

/* Whatever is read the quick way must be what jansson reads. Returns whether it was. */
static bool is_read_alike(const char *text, size_t length)
{
    json_t *quick = hami_internal_object_read(text, length);
    json_t *slow = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
    bool is_read = quick != NULL;
    ck_assert_msg(!is_read || json_equal(quick, slow), "%.*s", (int)length, text);
    json_decref(quick);
    json_decref(slow);
    return is_read;
}

START_TEST(what_is_read_quickly_is_what_jansson_reads)
{
    static const struct {
        const char *text;
        bool is_quick;
    } rows[] = {
        {"{}", true},
        {" { } ", true},
        {"{\"a\":[],\"b\":[1,-2,0,-0],\"c\":{\"d\":null}}", true},
        {"{\"a\" : true ,\n\"b\"\t:false}", true},
        {"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20AC\"}", true},
        {"{\"\\u0061/b~\":\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"}", true},
        {"{\"a\":1,\"a\":2}", true},
        {"{\"a\":123456789012345678}", true},
        {"{\"a\":1234567890123456789}", false},
        {"{\"a\":1.5}", false},
        {"{\"a\":1e3}", false},
        {"{\"a\":\"\\ud83d\\ude00\"}", false},
        {"{\"a\":\"\\u0000\"}", false},
        {"{\"a\":01}", false},
        {"{\"a\":-}", false},
        {"{\"a\":\"\x01\"}", false},
        {"{\"a\":\"\xc3\"}", false},
        {"{\"a\":\"\\x\"}", false},
        {"{\"a\":1,}", false},
        {"{\"a\":[1,]}", false},
        {"{\"a\":1}}", false},
        {"{\"a\"}", false},
        {"{,}", false},
        {"[]", false},
        {"{\"a\":tru}", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(is_read_alike(rows[i].text, strlen(rows[i].text)) ==
                          rows[i].is_quick,
                      "%s", rows[i].text);
    }
}
END_TEST

START_TEST(a_text_that_was_cut_or_changed_is_read_as_jansson_reads_it)
{
    static const char whole[] =
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a-1\",\"generation\":12,"
        "\"annotations\":{\"hami.io/mutex.lease\":\"{\\\"fence\\\":\\\"7\\\"}\","
        "\"x\":\"\\u003c\xc3\xa4\\n\"},\"finalizers\":[\"f\",\"g\"]},\"spec\":{"
        "\"tolerations\":[{\"key\":\"k\",\"tolerationSeconds\":300}],\"enable\":true,"
        "\"none\":null}}";
    size_t quick = 0;
    srand(20261130);
    ck_assert(is_read_alike(whole, sizeof(whole) - 1));
    for (int round = 0; round < 50000; round++) {
        /* As long as it says: whoever reads on is seen by a sanitizer. */
        size_t length = 1 + (size_t)rand() % (sizeof(whole) - 1);
        length = rand() % 2 == 0 ? sizeof(whole) - 1 : length;
        char *text = malloc(length);
        ck_assert_ptr_nonnull(text);
        memcpy(text, whole, length);
        for (int changes = rand() % 3; changes > 0; changes--) {
            text[(size_t)rand() % length] =
                rand() % 2 == 0 ? whole[(size_t)rand() % (sizeof(whole) - 1)]
                                : (char)rand();
        }
        quick += is_read_alike(text, length);
        free(text);
    }
    ck_assert_uint_gt(quick, 5000);
    ck_assert_uint_lt(quick, 45000);
}
END_TEST

START_TEST(nesting_beyond_reason_is_left_to_jansson)
{
    char text[1024] = "{\"a\":";
    size_t at = strlen(text);
    memset(text + at, '[', 100);
    memset(text + at + 100, ']', 100);
    memcpy(text + at + 200, "}", 2);
    ck_assert(!is_read_alike(text, strlen(text)));
    json_decref(parse(text));
}
END_TEST

START_TEST(events_are_told_apart)
{
    static const struct {
        const char *line;
        enum hami_internal_event_kind kind;
        const char *version;
        bool end;
        int error;
    } rows[] = {
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\"}}}",
         HAMI_INTERNAL_EVENT_CHANGED, "5", false, 0},
        {"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{}}}",
         HAMI_INTERNAL_EVENT_CHANGED, NULL, false, 0},
        {"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"6\"}}}",
         HAMI_INTERNAL_EVENT_DELETED, "6", false, 0},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
         HAMI_INTERNAL_EVENT_BOOKMARK, "7", false, 0},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\","
         "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}",
         HAMI_INTERNAL_EVENT_BOOKMARK, "8", true, 0},
        {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
         "\"message\":\"too old\"}}",
         HAMI_INTERNAL_EVENT_ERROR, NULL, false, 410},
        {"{\"type\":\"ERROR\",\"object\":{\"code\":\"x\"}}", HAMI_INTERNAL_EVENT_ERROR,
         NULL, false, 0},
        {"{\"type\":\"NEWS\",\"object\":{}}", HAMI_INTERNAL_EVENT_UNKNOWN, NULL, false,
         0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hami_internal_event event;
        ck_assert_int_eq(
            hami_internal_event_parse(rows[i].line, strlen(rows[i].line), &event), 0);
        ck_assert_msg(event.kind == rows[i].kind, "row %zu", i);
        ck_assert_msg((event.version == NULL) == (rows[i].version == NULL), "row %zu", i);
        if (event.version != NULL) {
            ck_assert_str_eq(event.version, rows[i].version);
        }
        ck_assert_int_eq(event.initial_end, rows[i].end);
        ck_assert_int_eq(event.error_code, rows[i].error);
        ck_assert_ptr_nonnull(event.error_text);
        hami_internal_event_done(&event);
    }
}
END_TEST

START_TEST(a_line_that_is_no_event_is_refused)
{
    static const char *const lines[] = {"",
                                        "x",
                                        "{}",
                                        "[]",
                                        "{\"type\":\"ADDED\"}",
                                        "{\"object\":{}}",
                                        "{\"type\":1,\"object\":{}}",
                                        "{\"type\":\"ADDED\",\"object\":[]}"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct hami_internal_event event;
        ck_assert_msg(hami_internal_event_parse(lines[i], strlen(lines[i]), &event) ==
                          HAMI_E_PROTO,
                      "line %zu", i);
    }
}
END_TEST

static void count_name(void *data, const char *name)
{
    *(size_t *)data += strlen(name);
}

START_TEST(a_table_keeps_thousands_of_names_and_sweeps_what_a_list_lacks)
{
    struct hami_internal_table table = {0};
    char name[16];
    size_t swept = 0;
    ck_assert_ptr_null(hami_internal_table_get(&table, "x"));
    ck_assert(!hami_internal_table_remove(&table, "x"));
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "n%04u", i);
        ck_assert(hami_internal_table_put(&table, name, &i, sizeof(i)));
    }
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "n%04u", i);
        const uint32_t *found = hami_internal_table_get(&table, name);
        ck_assert_ptr_nonnull(found);
        ck_assert_uint_eq(*found, i);
    }
    hami_internal_table_begin_round(&table);
    for (uint32_t i = 0; i < 5000; i += 2) {
        snprintf(name, sizeof(name), "n%04u", i);
        ck_assert(hami_internal_table_put(&table, name, NULL, 0));
    }
    ck_assert_uint_eq(table.count, 5000);
    hami_internal_table_sweep(&table, count_name, &swept);
    ck_assert_uint_eq(table.count, 2500);
    ck_assert_uint_eq(swept, 2500 * 5);
    ck_assert_ptr_nonnull(hami_internal_table_get(&table, "n0000"));
    ck_assert_ptr_null(hami_internal_table_get(&table, "n0001"));
    ck_assert(hami_internal_table_remove(&table, "n0000"));
    ck_assert_ptr_null(hami_internal_table_get(&table, "n0000"));
    hami_internal_table_done(&table);
    ck_assert_uint_eq(table.count, 0);
}
END_TEST

START_TEST(a_full_table_takes_no_more_and_loses_nothing_else)
{
    struct hami_internal_table table = {.limit = 2};
    ck_assert(hami_internal_table_put(&table, "a", "1", 2));
    ck_assert(hami_internal_table_put(&table, "b", "2", 2));
    ck_assert(!hami_internal_table_put(&table, "c", "3", 2));
    ck_assert(hami_internal_table_put(&table, "a", "4", 2));
    ck_assert_str_eq(hami_internal_table_get(&table, "a"), "4");
    ck_assert_str_eq(hami_internal_table_get(&table, "b"), "2");
    hami_internal_table_done(&table);
}
END_TEST

START_TEST(a_cached_pod_is_told_as_its_watch_saw_it)
{
    struct hami_internal_pod_cache *cache = hami_internal_pod_cache_new(0);
    struct hami_owner_facts facts;
    char texts[HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
    json_t *pod =
        parse("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\","
              "\"resourceVersion\":\"5\",\"annotations\":{\"hami.io/vgpu-node\":\"n1\","
              "\"hami.io/mutex.revoked\":\"r\",\"hami.io/mutex.fence\":\"9\","
              "\"hami.io/bind-phase\":\"failed\","
              "\"hami.io/vgpu-devices-to-allocate\":\"G,NVIDIA,1,1:;\"}}}");
    json_t *bare =
        parse("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\","
              "\"resourceVersion\":\"6\"}}");
    hami_internal_pod_cache_put(cache, pod);
    ck_assert(
        hami_internal_pod_cache_get(cache, "ns", "a", &facts, texts, sizeof(texts)));
    ck_assert_int_eq(facts.source, HAMI_FACTS_WATCH);
    ck_assert(facts.known && facts.exists && facts.devices_left && !facts.deleting);
    ck_assert_str_eq(facts.uid, "u");
    ck_assert_str_eq(facts.version, "5");
    ck_assert_str_eq(facts.assigned_node, "n1");
    ck_assert_str_eq(facts.revoked, "r");
    ck_assert_ptr_null(facts.node);
    ck_assert_uint_eq(facts.fence, 9);
    ck_assert_int_eq(facts.bind_phase, HAMI_BIND_PHASE_FAILED);
    hami_internal_pod_cache_put(cache, bare);
    ck_assert(
        hami_internal_pod_cache_get(cache, "ns", "a", &facts, texts, sizeof(texts)));
    ck_assert_str_eq(facts.version, "6");
    ck_assert_ptr_null(facts.assigned_node);
    ck_assert_ptr_null(facts.revoked);
    ck_assert_uint_eq(hami_internal_pod_cache_count(cache), 1);
    ck_assert(!hami_internal_pod_cache_get(cache, "ns", "a", &facts, texts, 2));
    ck_assert(
        !hami_internal_pod_cache_get(cache, "ns", "b", &facts, texts, sizeof(texts)));
    hami_internal_pod_cache_begin_round(cache);
    hami_internal_pod_cache_sweep(cache);
    ck_assert_uint_eq(hami_internal_pod_cache_count(cache), 0);
    json_decref(pod);
    json_decref(bare);
    hami_internal_pod_cache_free(cache);
}
END_TEST

START_TEST(a_pod_that_cannot_be_kept_takes_its_old_entry_along)
{
    static char huge[4096];
    char text[5000];
    struct hami_owner_facts facts;
    char texts[HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
    struct hami_internal_pod_cache *cache = hami_internal_pod_cache_new(0);
    json_t *small =
        parse("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\","
              "\"resourceVersion\":\"5\"}}");
    memset(huge, 'x', sizeof(huge) - 1);
    snprintf(
        text, sizeof(text),
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\","
        "\"resourceVersion\":\"6\",\"annotations\":{\"hami.io/mutex.revoked\":\"%s\"}}}",
        huge);
    json_t *large = parse(text);
    hami_internal_pod_cache_put(cache, small);
    hami_internal_pod_cache_put(cache, large);
    ck_assert(
        !hami_internal_pod_cache_get(cache, "ns", "a", &facts, texts, sizeof(texts)));
    hami_internal_pod_cache_put(cache, small);
    hami_internal_pod_cache_remove(cache, "ns", NULL);
    hami_internal_pod_cache_remove(cache, "ns", "a");
    ck_assert_uint_eq(hami_internal_pod_cache_count(cache), 0);
    json_decref(small);
    json_decref(large);
    hami_internal_pod_cache_free(cache);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_object");
    TCase *cases = tcase_create("object");
    tcase_add_test(cases, members_of_another_type_are_as_good_as_absent);
    tcase_add_test(cases, annotations_are_told_all_but_those_that_are_no_texts);
    tcase_add_test(cases, a_nul_in_a_text_does_not_hide_the_rest);
    tcase_add_test(cases, managed_fields_are_left_out_and_nothing_else);
    tcase_add_test(cases, text_that_ends_within_managed_fields_is_no_object);
    tcase_add_test(cases, what_is_read_quickly_is_what_jansson_reads);
    tcase_add_test(cases, a_text_that_was_cut_or_changed_is_read_as_jansson_reads_it);
    tcase_add_test(cases, nesting_beyond_reason_is_left_to_jansson);
    tcase_add_test(cases, events_are_told_apart);
    tcase_add_test(cases, a_line_that_is_no_event_is_refused);
    tcase_add_test(cases, a_table_keeps_thousands_of_names_and_sweeps_what_a_list_lacks);
    tcase_add_test(cases, a_full_table_takes_no_more_and_loses_nothing_else);
    tcase_add_test(cases, a_cached_pod_is_told_as_its_watch_saw_it);
    tcase_add_test(cases, a_pod_that_cannot_be_kept_takes_its_old_entry_along);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
