/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded JSON Patches, byte for byte: what is tested, in which order, in which form.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonpatch.h"
#include "suite.h"

#define LOCK "hami.io/mutex.lock"
#define LEASE "hami.io/mutex.lease"
#define LOCK_PATH "\"path\":\"/metadata/annotations/hami.io~1mutex.lock\""
#define LEASE_PATH "\"path\":\"/metadata/annotations/hami.io~1mutex.lease\""

static void expect_patch(const struct hami_transport_edit *edits, size_t count,
                         const char *version, enum hami_internal_jsonpatch_form form,
                         const char *wanted)
{
    char *text = NULL;
    ck_assert_int_eq(hami_internal_jsonpatch_edits(edits, count, version, form, &text),
                     0);
    ck_assert_str_eq(text, wanted);
    free(text);
}

START_TEST(a_key_is_escaped_as_a_json_pointer_wants_it)
{
    static const struct {
        const char *key;
        const char *pointer;
    } rows[] = {
        {"plain", "/metadata/annotations/plain"},
        {LOCK, "/metadata/annotations/hami.io~1mutex.lock"},
        {"a~b/c", "/metadata/annotations/a~0b~1c"},
        {"~1", "/metadata/annotations/~01"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buffer[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
        size_t needed = strlen(rows[i].pointer) + 1;
        ck_assert_int_eq(
            hami_internal_jsonpatch_pointer(rows[i].key, buffer, sizeof(buffer)), 0);
        ck_assert_str_eq(buffer, rows[i].pointer);
        ck_assert_int_eq(hami_internal_jsonpatch_pointer(rows[i].key, buffer, needed), 0);
        ck_assert_int_eq(hami_internal_jsonpatch_pointer(rows[i].key, buffer, needed - 1),
                         HAMI_E_LIMIT);
    }
}
END_TEST

START_TEST(the_longest_key_fits_and_one_more_character_is_refused)
{
    char key[HAMI_NODELOCK_KEY_MAX + 8];
    char buffer[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
    memset(key, '/', sizeof(key));
    key[HAMI_NODELOCK_KEY_MAX] = '\0';
    ck_assert_int_eq(hami_internal_jsonpatch_pointer(key, buffer, sizeof(buffer)), 0);
    key[HAMI_NODELOCK_KEY_MAX] = '/';
    key[sizeof(key) - 1] = '\0';
    ck_assert_int_eq(hami_internal_jsonpatch_pointer(key, buffer, sizeof(buffer)),
                     HAMI_E_LIMIT);
}
END_TEST

START_TEST(a_take_tests_that_both_are_absent_before_it_adds_them)
{
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, LOCK, NULL, "T,ns,a"},
        {HAMI_EDIT_PUT, LEASE, NULL, "{\"version\":1}"},
    };
    expect_patch(edits, 2, NULL, HAMI_INTERNAL_JSONPATCH_BY_KEY,
                 "[{\"op\":\"test\"," LOCK_PATH ",\"value\":null},"
                 "{\"op\":\"test\"," LEASE_PATH ",\"value\":null},"
                 "{\"op\":\"add\"," LOCK_PATH ",\"value\":\"T,ns,a\"},"
                 "{\"op\":\"add\"," LEASE_PATH ",\"value\":\"{\\\"version\\\":1}\"}]");
}
END_TEST

START_TEST(a_node_version_is_tested_first)
{
    const struct hami_transport_edit edits[] = {{HAMI_EDIT_PUT, LOCK, NULL, "x"}};
    expect_patch(
        edits, 1, "4711", HAMI_INTERNAL_JSONPATCH_BY_KEY,
        "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"4711\"},"
        "{\"op\":\"test\"," LOCK_PATH ",\"value\":null},"
        "{\"op\":\"add\"," LOCK_PATH ",\"value\":\"x\"}]");
}
END_TEST

START_TEST(a_hand_over_replaces_what_it_tested)
{
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, LOCK, "T,ns,a", "U,ns,b"},
        {HAMI_EDIT_PUT, LEASE, "old", "new"},
    };
    expect_patch(edits, 2, NULL, HAMI_INTERNAL_JSONPATCH_BY_KEY,
                 "[{\"op\":\"test\"," LOCK_PATH ",\"value\":\"T,ns,a\"},"
                 "{\"op\":\"test\"," LEASE_PATH ",\"value\":\"old\"},"
                 "{\"op\":\"replace\"," LOCK_PATH ",\"value\":\"U,ns,b\"},"
                 "{\"op\":\"replace\"," LEASE_PATH ",\"value\":\"new\"}]");
}
END_TEST

START_TEST(a_release_removes_the_lock_and_keeps_the_fence)
{
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, LOCK, "T,ns,a", NULL},
        {HAMI_EDIT_PUT, LEASE, "old", "fence"},
        {HAMI_EDIT_READ, "other", NULL, NULL},
    };
    expect_patch(edits, 3, NULL, HAMI_INTERNAL_JSONPATCH_BY_KEY,
                 "[{\"op\":\"test\"," LOCK_PATH ",\"value\":\"T,ns,a\"},"
                 "{\"op\":\"test\"," LEASE_PATH ",\"value\":\"old\"},"
                 "{\"op\":\"remove\"," LOCK_PATH "},"
                 "{\"op\":\"replace\"," LEASE_PATH ",\"value\":\"fence\"}]");
}
END_TEST

START_TEST(an_empty_value_is_a_value_and_a_removal_of_nothing_only_a_test)
{
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, LOCK, "", "x"},
        {HAMI_EDIT_PUT, LEASE, NULL, NULL},
        {HAMI_EDIT_TEST, "k", "", NULL},
    };
    expect_patch(edits, 3, NULL, HAMI_INTERNAL_JSONPATCH_BY_KEY,
                 "[{\"op\":\"test\"," LOCK_PATH ",\"value\":\"\"},"
                 "{\"op\":\"test\"," LEASE_PATH ",\"value\":null},"
                 "{\"op\":\"test\",\"path\":\"/metadata/annotations/k\",\"value\":\"\"},"
                 "{\"op\":\"replace\"," LOCK_PATH ",\"value\":\"x\"}]");
}
END_TEST

START_TEST(a_missing_map_is_tested_and_added_whole)
{
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, LOCK, NULL, "x"},
        {HAMI_EDIT_TEST, "k", NULL, NULL},
        {HAMI_EDIT_PUT, LEASE, NULL, "y"},
    };
    expect_patch(
        edits, 3, "7", HAMI_INTERNAL_JSONPATCH_NEW_MAP,
        "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"},"
        "{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null},"
        "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":"
        "{\"" LOCK "\":\"x\",\"" LEASE "\":\"y\"}}]");
}
END_TEST

START_TEST(a_test_alone_of_a_missing_map_adds_nothing)
{
    const struct hami_transport_edit edits[] = {{HAMI_EDIT_TEST, LOCK, NULL, NULL}};
    expect_patch(edits, 1, NULL, HAMI_INTERNAL_JSONPATCH_NEW_MAP,
                 "[{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null}]");
}
END_TEST

START_TEST(the_map_form_fits_only_where_nothing_is_expected)
{
    const struct hami_transport_edit absent[] = {{HAMI_EDIT_PUT, LOCK, NULL, "x"},
                                                 {HAMI_EDIT_READ, "k", "ignored", NULL}};
    const struct hami_transport_edit present[] = {{HAMI_EDIT_PUT, LOCK, NULL, "x"},
                                                  {HAMI_EDIT_TEST, LEASE, "", NULL}};
    ck_assert(hami_internal_jsonpatch_fits_new_map(absent, 2));
    ck_assert(!hami_internal_jsonpatch_fits_new_map(present, 2));
}
END_TEST

START_TEST(a_text_that_is_not_utf8_is_refused)
{
    const struct hami_transport_edit value[] = {{HAMI_EDIT_PUT, LOCK, NULL, "\xff"}};
    const struct hami_transport_edit expect[] = {
        {HAMI_EDIT_TEST, LOCK, "\xc3\x28", NULL}};
    char *text = NULL;
    ck_assert_int_eq(hami_internal_jsonpatch_edits(value, 1, NULL,
                                                   HAMI_INTERNAL_JSONPATCH_BY_KEY, &text),
                     HAMI_E_PROTO);
    ck_assert_int_eq(hami_internal_jsonpatch_edits(
                         value, 1, NULL, HAMI_INTERNAL_JSONPATCH_NEW_MAP, &text),
                     HAMI_E_PROTO);
    ck_assert_int_eq(hami_internal_jsonpatch_edits(expect, 1, NULL,
                                                   HAMI_INTERNAL_JSONPATCH_BY_KEY, &text),
                     HAMI_E_PROTO);
    ck_assert_ptr_null(text);
}
END_TEST

START_TEST(a_version_can_stand_in_for_texts_that_servers_write_differently)
{
    const struct hami_transport_edit edits[] = {{HAMI_EDIT_PUT, LOCK, "a\bc", "x"},
                                                {HAMI_EDIT_PUT, LEASE, NULL, "y"}};
    const struct hami_transport_edit plain[] = {{HAMI_EDIT_PUT, LOCK, "a\nc", "x\f"},
                                                {HAMI_EDIT_READ, LEASE, "\b", "y"}};
    char *text = NULL;
    ck_assert(hami_internal_jsonpatch_is_odd(edits, 2));
    ck_assert(!hami_internal_jsonpatch_is_odd(plain, 2));
    expect_patch(
        edits, 2, "9", HAMI_INTERNAL_JSONPATCH_BY_VERSION,
        "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"9\"},"
        "{\"op\":\"replace\"," LOCK_PATH ",\"value\":\"x\"},"
        "{\"op\":\"add\"," LEASE_PATH ",\"value\":\"y\"}]");
    /* Without a version there would be no test at all. */
    ck_assert_int_eq(hami_internal_jsonpatch_edits(
                         edits, 2, NULL, HAMI_INTERNAL_JSONPATCH_BY_VERSION, &text),
                     HAMI_E_PROTO);
}
END_TEST

START_TEST(a_revocation_tests_uid_version_and_that_the_pod_is_not_bound)
{
    char *text = NULL;
    ck_assert_int_eq(hami_internal_jsonpatch_unbound_pod(
                         "u-1", "42", "hami.io/mutex.revoked", "n1,7,h,1",
                         HAMI_INTERNAL_JSONPATCH_BY_KEY, &text),
                     0);
    ck_assert_str_eq(
        text, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u-1\"},"
              "{\"op\":\"test\",\"path\":\"/spec/nodeName\",\"value\":null},"
              "{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\","
              "\"value\":\"42\"},"
              "{\"op\":\"add\",\"path\":\"/metadata/annotations/hami.io~1mutex.revoked\","
              "\"value\":\"n1,7,h,1\"}]");
    free(text);
    ck_assert_int_eq(hami_internal_jsonpatch_unbound_pod(
                         "u-1", "42", "k", "v", HAMI_INTERNAL_JSONPATCH_NEW_MAP, &text),
                     0);
    ck_assert_str_eq(
        text,
        "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u-1\"},"
        "{\"op\":\"test\",\"path\":\"/spec/nodeName\",\"value\":null},"
        "{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"42\"},"
        "{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null},"
        "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"k\":\"v\"}}]");
    free(text);
}
END_TEST

START_TEST(texts_are_escaped_as_the_server_escapes_its_own)
{
    static const struct {
        const char *value;
        const char *text;
    } rows[] = {
        {"a<b>&c", "a\\u003cb\\u003e\\u0026c"},
        {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", "\\u2028\\u2029\xe2\x80\xaa"},
        {"\x1f\x0b\x7f", "\\u001f\\u000b\x7f"},
        {"\\u001F \"q\" \\\\", "\\\\u001F \\\"q\\\" \\\\\\\\"},
        {"\n\r\t", "\\n\\r\\t"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct hami_transport_edit edit = {HAMI_EDIT_TEST, "k", rows[i].value,
                                                 NULL};
        char wanted[256];
        snprintf(wanted, sizeof(wanted),
                 "[{\"op\":\"test\",\"path\":\"/metadata/annotations/k\","
                 "\"value\":\"%s\"}]",
                 rows[i].text);
        expect_patch(&edit, 1, NULL, HAMI_INTERNAL_JSONPATCH_BY_KEY, wanted);
    }
}
END_TEST

/* The same by way of a tree; NULL with its code where there is none. */
static int by_tree(const struct hami_transport_edit *edits, size_t count,
                   const char *version, enum hami_internal_jsonpatch_form form,
                   char **ret)
{
    json_t *operations = json_array();
    int code = hami_internal_jsonpatch_add_edits(operations, edits, count, version, form);
    if (code == 0) {
        code = hami_internal_jsonpatch_dump(operations, ret);
    }
    json_decref(operations);
    return code;
}

/* A text of pieces that need care, some of them no UTF-8. NULL now and then. */
static const char *any_text(char *buffer)
{
    static const char *const pieces[] = {"plain",
                                         "\"",
                                         "\\",
                                         "<",
                                         ">",
                                         "&",
                                         "\x01",
                                         "\x1f",
                                         "\x7f",
                                         "\n\t\r",
                                         "\b\f",
                                         "\xc3\xa4",
                                         "\xe2\x80\xa8",
                                         "\xe2\x80\xa9",
                                         "\xe2\x80\xaa",
                                         "\xf0\x9f\x98\x80",
                                         "\xed\x9f\xbf",
                                         "\xef\xbf\xbf",
                                         "/",
                                         "~",
                                         "\xc0\x80",
                                         "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80",
                                         "\xff",
                                         "\xc3",
                                         "\xe0\x80\x80",
                                         "\xf0\x80\x80\x80"};
    size_t valid = 20;
    size_t count = (size_t)rand() % 6;
    buffer[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t known = sizeof(pieces) / sizeof(pieces[0]);
        strcat(buffer, pieces[(size_t)rand() % (rand() % 8 == 0 ? known : valid)]);
    }
    return rand() % 5 == 0 ? NULL : buffer;
}

START_TEST(a_patch_is_written_as_it_would_be_by_way_of_a_tree)
{
    size_t refused = 0;
    srand(20261130);
    for (int round = 0; round < 20000; round++) {
        char texts[6][64];
        struct hami_transport_edit edits[3];
        size_t count = 1 + (size_t)rand() % 3;
        for (size_t i = 0; i < count; i++) {
            edits[i] = (struct hami_transport_edit){
                (enum hami_edit_action)(rand() % 3), rand() % 2 == 0 ? LOCK : "a~<\"",
                any_text(texts[2 * i]), any_text(texts[2 * i + 1])};
        }
        enum hami_internal_jsonpatch_form form = rand() % 3 == 0
                                                     ? HAMI_INTERNAL_JSONPATCH_BY_VERSION
                                                     : HAMI_INTERNAL_JSONPATCH_BY_KEY;
        const char *version = rand() % 2 == 0 ? "12" : NULL;
        char *wanted = NULL;
        char *text = NULL;
        int code = by_tree(edits, count, version, form, &wanted);
        ck_assert_int_eq(
            hami_internal_jsonpatch_edits(edits, count, version, form, &text), code);
        refused += code != 0;
        if (code == 0) {
            ck_assert_str_eq(text, wanted);
        }
        free(text);
        free(wanted);
    }
    ck_assert_uint_gt(refused, 100);
    ck_assert_uint_lt(refused, 15000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_jsonpatch");
    TCase *cases = tcase_create("jsonpatch");
    tcase_add_test(cases, a_key_is_escaped_as_a_json_pointer_wants_it);
    tcase_add_test(cases, the_longest_key_fits_and_one_more_character_is_refused);
    tcase_add_test(cases, a_take_tests_that_both_are_absent_before_it_adds_them);
    tcase_add_test(cases, a_node_version_is_tested_first);
    tcase_add_test(cases, a_hand_over_replaces_what_it_tested);
    tcase_add_test(cases, a_release_removes_the_lock_and_keeps_the_fence);
    tcase_add_test(cases, an_empty_value_is_a_value_and_a_removal_of_nothing_only_a_test);
    tcase_add_test(cases, a_missing_map_is_tested_and_added_whole);
    tcase_add_test(cases, a_test_alone_of_a_missing_map_adds_nothing);
    tcase_add_test(cases, the_map_form_fits_only_where_nothing_is_expected);
    tcase_add_test(cases, a_text_that_is_not_utf8_is_refused);
    tcase_add_test(cases, texts_are_escaped_as_the_server_escapes_its_own);
    tcase_add_test(cases,
                   a_version_can_stand_in_for_texts_that_servers_write_differently);
    tcase_add_test(cases, a_revocation_tests_uid_version_and_that_the_pod_is_not_bound);
    tcase_add_test(cases, a_patch_is_written_as_it_would_be_by_way_of_a_tree);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
