/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines: what is read, what is refused and in which words, and durations as text.
 */
#include "flags.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

struct values {
    const char *text;
    struct hamid_flag_list list;
    uint64_t duration;
    uint64_t number;
    bool boolean;
    bool given;
    struct hamid_flag_list ignored;
    struct hamid_flag_list arguments;
    char error[HAMID_FLAG_ERROR_MAX];
};

static enum hamid_flags_result parse(struct values *values, int argc,
                                     const char *const *argv)
{
    const struct hamid_flag flags[] = {
        {"listen", "http_bind bind", HAMID_FLAG_TEXT, &values->text, "HOST:PORT",
         "Where.", 0, 0, NULL},
        {"name", NULL, HAMID_FLAG_LIST, &values->list, "NAME", "Who.", 0, 0, NULL},
        {"wait", NULL, HAMID_FLAG_DURATION, &values->duration, "TIME", "How long.", 1000,
         60000, &values->given},
        {"v", NULL, HAMID_FLAG_NUMBER, &values->number, "N", "How much.", 0, 10, NULL},
        {"insecure", NULL, HAMID_FLAG_BOOLEAN, &values->boolean, NULL, "Whether.", 0, 0,
         NULL},
        {"kube-qps", NULL, HAMID_FLAG_IGNORED, &values->ignored, NULL, "", 0, 0, NULL},
        {NULL, NULL, HAMID_FLAG_TEXT, NULL, NULL, NULL, 0, 0, NULL},
    };
    struct hamid_command command = {"prog", "[flags]", "Does it.", NULL, flags};
    memset(values, 0, sizeof(*values));
    return hamid_flags_parse(&command, argc, (char *const *)argv, &values->arguments,
                             values->error);
}

#define PARSE(values, ...)                                                               \
    parse(values, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),         \
          (const char *[]){__VA_ARGS__})

START_TEST(test_both_ways_to_write_a_value)
{
    struct values values;
    ck_assert_int_eq(PARSE(&values, "--listen", "a:1", "--wait=2s", "-v=4"),
                     HAMID_FLAGS_OK);
    ck_assert_str_eq(values.text, "a:1");
    ck_assert_uint_eq(values.duration, 2000);
    ck_assert_uint_eq(values.number, 4);
    ck_assert(values.given);
    ck_assert_int_eq(PARSE(&values, "--listen=b:=2", "-v", "3"), HAMID_FLAGS_OK);
    ck_assert_str_eq(values.text, "b:=2");
    ck_assert_uint_eq(values.number, 3);
    ck_assert(!values.given);
}
END_TEST

START_TEST(test_aliases_and_lists)
{
    struct values values;
    ck_assert_int_eq(PARSE(&values, "--http_bind=x:1", "--name", "a", "--name=b"),
                     HAMID_FLAGS_OK);
    ck_assert_str_eq(values.text, "x:1");
    ck_assert_uint_eq(values.list.count, 2);
    ck_assert_str_eq(values.list.values[1], "b");
    ck_assert_int_eq(PARSE(&values, "--bind", "y:1"), HAMID_FLAGS_OK);
    ck_assert_str_eq(values.text, "y:1");
    ck_assert_int_eq(PARSE(&values, "--http", "y:1"), HAMID_FLAGS_WRONG);
}
END_TEST

START_TEST(test_booleans_take_no_next_word)
{
    struct values values;
    ck_assert_int_eq(PARSE(&values, "--insecure", "word"), HAMID_FLAGS_OK);
    ck_assert(values.boolean);
    ck_assert_uint_eq(values.arguments.count, 1);
    ck_assert_int_eq(PARSE(&values, "--insecure", "--insecure=false"), HAMID_FLAGS_OK);
    ck_assert(!values.boolean);
    ck_assert_int_eq(PARSE(&values, "--insecure=yes"), HAMID_FLAGS_WRONG);
    ck_assert_str_eq(values.error, "--insecure: 'yes' is neither true nor false");
}
END_TEST

START_TEST(test_ignored_flags_are_listed_and_take_their_value_along)
{
    struct values values;
    ck_assert_int_eq(
        PARSE(&values, "--kube-qps", "5", "--kube-qps=6", "--kube-qps", "-v=1"),
        HAMID_FLAGS_OK);
    ck_assert_uint_eq(values.ignored.count, 3);
    ck_assert_uint_eq(values.arguments.count, 0);
    ck_assert_uint_eq(values.number, 1);
}
END_TEST

START_TEST(test_an_error_names_the_flag_and_what_it_takes)
{
    struct values values;
    ck_assert_int_eq(PARSE(&values, "--wait", "fast"), HAMID_FLAGS_WRONG);
    ck_assert_str_eq(values.error,
                     "--wait: 'fast' is no duration such as 30s, 200ms or 1m30s of "
                     "at least 1s and at most 1m0s");
    ck_assert_int_eq(PARSE(&values, "--wait", "61s"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(PARSE(&values, "--wait"), HAMID_FLAGS_WRONG);
    ck_assert_str_eq(values.error, "--wait needs a value: TIME");
    ck_assert_int_eq(PARSE(&values, "-v=11"), HAMID_FLAGS_WRONG);
    ck_assert_str_eq(values.error, "--v: '11' is no whole number from 0 to 10");
    ck_assert_int_eq(PARSE(&values, "-v=-1"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(PARSE(&values, "--nope=1"), HAMID_FLAGS_WRONG);
    ck_assert_str_eq(values.error,
                     "--nope is not known here; 'prog --help' lists the flags");
}
END_TEST

START_TEST(test_a_list_is_bounded)
{
    const char *argv[HAMID_FLAG_LIST_MAX + 1];
    struct values values;
    for (int i = 0; i <= HAMID_FLAG_LIST_MAX; i++) {
        argv[i] = "--name=x";
    }
    ck_assert_int_eq(parse(&values, HAMID_FLAG_LIST_MAX, argv), HAMID_FLAGS_OK);
    ck_assert_int_eq(parse(&values, HAMID_FLAG_LIST_MAX + 1, argv), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(values.error, "--name"));
}
END_TEST

START_TEST(test_words_after_two_dashes_are_arguments)
{
    struct values values;
    ck_assert_int_eq(PARSE(&values, "a", "--", "--name"), HAMID_FLAGS_OK);
    ck_assert_uint_eq(values.arguments.count, 2);
    ck_assert_str_eq(values.arguments.values[1], "--name");
}
END_TEST

START_TEST(test_help_comes_from_the_table)
{
    uint64_t duration = 0;
    const struct hamid_flag flags[] = {
        {"wait", "node-wait", HAMID_FLAG_DURATION, &duration, "TIME",
         "A long explanation that has to be wrapped because it does not fit on one line "
         "of eighty-eight.",
         1000, 60000, NULL},
        {"secret", NULL, HAMID_FLAG_IGNORED, NULL, NULL, "", 0, 0, NULL},
        {NULL, NULL, HAMID_FLAG_TEXT, NULL, NULL, NULL, 0, 0, NULL},
    };
    struct hamid_command command = {"prog", "[flags]", "Does it.", "Closing words.",
                                    flags};
    struct values values;
    ck_assert_int_eq(PARSE(&values, "--help"), HAMID_FLAGS_HELP);
    char *help = hamid_flags_help(&command);
    ck_assert_ptr_nonnull(strstr(help, "usage: prog [flags]\n"));
    ck_assert_ptr_nonnull(strstr(help, "  --wait TIME, --node-wait  (1s to 1m0s)\n"));
    ck_assert_ptr_nonnull(strstr(help, "Closing words."));
    ck_assert_ptr_null(strstr(help, "secret"));
    for (const char *line = help; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        ck_assert_uint_le(length, 96);
        line += length + 1;
    }
    free(help);
}
END_TEST

START_TEST(test_durations_as_text)
{
    static const struct {
        const char *text;
        uint64_t nanoseconds;
    } good[] = {
        {"30s", 30000000000ull},
        {"5m", 300000000000ull},
        {"200ms", 200000000},
        {"1m30s", 90000000000ull},
        {"1h2m3s", 3723000000000ull},
        {"1.5h", 5400000000000ull},
        {"0", 0},
        {"0s", 0},
        {"+1s", 1000000000},
        {"10us", 10000},
        {"10\xc2\xb5s", 10000},
        {"7ns", 7},
        {".5s", 500000000},
        {"1.s", 1000000000},
    };
    static const char *const bad[] = {"",      "s",    "1",      "-1s",
                                      "1 s",   "1sec", "abc",    "1s2",
                                      "1..5s", ".s",   "99999h", "9999999999999999s",
                                      "1s-"};
    uint64_t nanoseconds = 0;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_msg(hamid_duration_parse(good[i].text, &nanoseconds) == 0, "%s",
                      good[i].text);
        ck_assert_msg(nanoseconds == good[i].nanoseconds, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(hamid_duration_parse(bad[i], &nanoseconds) != 0, "%s", bad[i]);
    }
}
END_TEST

START_TEST(test_durations_are_written_as_kubernetes_writes_them)
{
    static const struct {
        uint64_t milliseconds;
        const char *text;
    } rows[] = {{0, "0s"},           {200, "200ms"},    {1500, "1.5s"},
                {30000, "30s"},      {300000, "5m0s"},  {90000, "1m30s"},
                {3600000, "1h0m0s"}, {61010, "1m1.01s"}};
    char text[32];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hamid_duration_format(rows[i].milliseconds, text, sizeof(text));
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemon flags");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_both_ways_to_write_a_value);
    tcase_add_test(all, test_aliases_and_lists);
    tcase_add_test(all, test_booleans_take_no_next_word);
    tcase_add_test(all, test_ignored_flags_are_listed_and_take_their_value_along);
    tcase_add_test(all, test_an_error_names_the_flag_and_what_it_takes);
    tcase_add_test(all, test_a_list_is_bounded);
    tcase_add_test(all, test_words_after_two_dashes_are_arguments);
    tcase_add_test(all, test_help_comes_from_the_table);
    tcase_add_test(all, test_durations_as_text);
    tcase_add_test(all, test_durations_are_written_as_kubernetes_writes_them);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
