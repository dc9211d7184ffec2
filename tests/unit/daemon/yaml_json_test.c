/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as JSON: what scalars become, and what is refused.
 */
#include "yaml_json.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

static char error[256];

static json_t *read_text(const char *text)
{
    error[0] = '\0';
    return yaml_json_read(text, strlen(text), error, sizeof(error));
}

static const struct {
    const char *yaml;
    const char *json; /* compact */
} rows[] = {
    {"a: 1", "[{\"a\":1}]"},
    {"a: -7\nb: 08x", "[{\"a\":-7,\"b\":\"08x\"}]"},
    {"a: true\nb: False\nc: 'true'", "[{\"a\":true,\"b\":false,\"c\":\"true\"}]"},
    {"a:\nb: ~\nc: null\nd: ''", "[{\"a\":null,\"b\":null,\"c\":null,\"d\":\"\"}]"},
    {"a: 600s\nb: 99999999999999999999",
     "[{\"a\":\"600s\",\"b\":\"99999999999999999999\"}]"},
    {"- x\n- [y, {z: 1}]", "[[\"x\",[\"y\",{\"z\":1}]]]"},
    {"a: &one {b: 1}\nc: *one", "[{\"a\":{\"b\":1},\"c\":{\"b\":1}}]"},
    {"---\na: 1\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]"},
    {"{\"a\": [1, \"2\"]}", "[{\"a\":[1,\"2\"]}]"},
    {"", "[]"},
    {"# nothing\n", "[]"},
};

START_TEST(test_scalars_lists_and_mappings_become_json)
{
    json_t *got = read_text(rows[_i].yaml);
    char *text = got != NULL ? json_dumps(got, JSON_COMPACT) : NULL;
    ck_assert_msg(text != NULL, "row %d: %s", _i, error);
    ck_assert_str_eq(text, rows[_i].json);
    free(text);
    json_decref(got);
}
END_TEST

START_TEST(test_what_is_no_yaml_is_told_with_its_line)
{
    static const char *const wrong[] = {"a: 1\nb: [\n", "a: 1\n  b: 2", "a: *nothing",
                                        "{[a]: 1}", "\t- x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_msg(read_text(wrong[i]) == NULL, "%s", wrong[i]);
        ck_assert_msg(strncmp(error, "line ", 5) == 0, "%s: %s", wrong[i], error);
    }
    ck_assert_ptr_null(read_text("a: 1\nb: [\n"));
    ck_assert_msg(strncmp(error, "line 3", 6) == 0, "%s", error);
}
END_TEST

START_TEST(test_what_would_grow_without_bound_is_refused)
{
    char text[4096];
    size_t length = 0;
    /* Nine levels of nine aliases each: 387 million values. */
    length += (size_t)snprintf(text, sizeof(text), "a0: &a0 x\n");
    for (int i = 1; i < 10; i++) {
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,"
                                   "*a%d]\n",
                                   i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
                                   i - 1, i - 1);
    }
    ck_assert_ptr_null(read_text(text));
    ck_assert_ptr_nonnull(strstr(error, "too large"));
    /* An alias within its own anchor has no end. */
    ck_assert_ptr_null(read_text("a: &a [1, *a]"));
    memset(text, '[', 200);
    memset(text + 200, ']', 200);
    text[400] = '\0';
    ck_assert_ptr_null(read_text(text));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("yaml as json");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, test_scalars_lists_and_mappings_become_json, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(all, test_what_is_no_yaml_is_told_with_its_line);
    tcase_add_test(all, test_what_would_grow_without_bound_is_refused);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
