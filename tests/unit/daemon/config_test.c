/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations: which source counts, what a file may hold, that every mistake is told
 * with its line, and that what is printed comes to the same when it is fed back.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

struct values {
    const char *text;
    const char *word;
    const char *secret;
    struct hamid_flag_list list;
    struct hamid_flag_list pairs;
    uint64_t duration;
    uint64_t number;
    bool boolean;
    bool given;
    struct hamid_config config;
};

static struct hamid_problems problems;
static char path[64];

static void fill(struct values *v)
{
    const struct hamid_command command = {"prog", "[flags]", "Does it.", NULL, NULL};
    const struct hamid_flag rows[] = {
        {"listen", "http_bind", HAMID_FLAG_TEXT, &v->text, "HOST:PORT", "Where.", 0, 0,
         &v->given, NULL, "TEST_LISTEN"},
        {"format", NULL, HAMID_FLAG_TEXT, &v->word, "a|b|c", "How.", 0, 0, NULL, "a|b|c"},
        {"key", NULL, HAMID_FLAG_TEXT, &v->secret, "KEY", "Secret.", 0, 0, NULL, NULL,
         NULL, HAMID_FLAG_SECRET},
        {"name", NULL, HAMID_FLAG_LIST, &v->list, "NAME", "Who.", 0, 0, NULL},
        {"lock", NULL, HAMID_FLAG_PAIRS, &v->pairs, "A=B", "Which.", 0, 0, NULL, NULL,
         NULL, HAMID_FLAG_RELOADABLE},
        {"patience", NULL, HAMID_FLAG_DURATION, &v->duration, "TIME", "How long.", 1000,
         60000, NULL, NULL, "TEST_PATIENCE", HAMID_FLAG_RELOADABLE},
        {"v", NULL, HAMID_FLAG_NUMBER, &v->number, "N", "How much.", 0, 10, NULL},
        {"insecure", NULL, HAMID_FLAG_BOOLEAN, &v->boolean, NULL, "Whether.", 0, 0, NULL},
        {"kube-qps", NULL, HAMID_FLAG_IGNORED, NULL, NULL, "", 0, 0, NULL},
    };
    memset(v, 0, sizeof(*v));
    v->text = "here:1";
    v->word = "a";
    v->duration = 30000;
    hamid_config_begin(&v->config, &command);
    hamid_config_add(&v->config, rows, sizeof(rows) / sizeof(rows[0]));
}

static void write_file(const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

/* With --config before the words. */
static enum hamid_flags_result read_with(struct values *v, const char *file, int argc,
                                         const char *const *words)
{
    char *argv[8] = {(char *)"--config", path};
    write_file(file, strlen(file));
    for (int i = 0; i < argc; i++) {
        argv[2 + i] = (char *)words[i];
    }
    memset(&problems, 0, sizeof(problems));
    fill(v);
    return hamid_config_read(&v->config, 2 + argc, argv, &problems);
}

#define READ(v, file, ...)                                                               \
    read_with(v, file, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),    \
              (const char *[]){__VA_ARGS__})

static void begin(void)
{
    (void)snprintf(path, sizeof(path), "/tmp/config-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    (void)unsetenv("TEST_LISTEN");
    (void)unsetenv("TEST_PATIENCE");
}

static void end(void)
{
    (void)unlink(path);
}

static bool tells(const char *text)
{
    return strstr(problems.text, text) != NULL;
}

START_TEST(test_flags_win_over_the_file_and_the_file_over_the_environment)
{
    struct values v;
    (void)setenv("TEST_LISTEN", "environment:1", 1);
    (void)setenv("TEST_PATIENCE", "5s", 1);
    ck_assert_int_eq(read_with(&v, "patience: 7s\nname: [a, b]\nv: 3\n", 0, NULL),
                     HAMID_FLAGS_OK);
    ck_assert_str_eq(v.text, "environment:1");
    ck_assert(v.given);
    ck_assert_uint_eq(v.duration, 7000);
    ck_assert_uint_eq(v.list.count, 2);
    hamid_config_done(&v.config);
    ck_assert_int_eq(READ(&v, "patience: 7s\nname: [a, b]\nhttp_bind: file:1\n",
                          "--patience=9s", "--name", "c", "--name=d"),
                     HAMID_FLAGS_OK);
    ck_assert_str_eq(v.text, "file:1");
    ck_assert_uint_eq(v.duration, 9000);
    ck_assert_uint_eq(v.list.count, 2);
    ck_assert_str_eq(v.list.values[0], "c");
    ck_assert_str_eq(v.list.values[1], "d");
    hamid_config_done(&v.config);
}
END_TEST

START_TEST(test_every_mistake_is_told_with_its_line)
{
    struct values v;
    ck_assert_int_eq(READ(&v,
                          "patince: 3s\npatience: 99s\nformat: d\nv: [1]\n"
                          "insecure: yes\nlisten:\nkube-qps: 5\nconfig: x\n"
                          "name:\n- a\n- {b: c}\nlock: {x: }\n"
                          "patience: 3s\nnested: {a: {b: [c]}}\nv: 12\n",
                          "--formt=a", "--v=11", "word"),
                     HAMID_FLAGS_WRONG);
    ck_assert_msg(problems.count == 16, "%s", problems.text);
    ck_assert(tells(":1: patince: is no option of this role, did you mean patience?\n"));
    ck_assert(tells(":2: patience: '99s' is no duration"));
    ck_assert(tells(":3: format: 'd' is neither a, b nor c\n"));
    ck_assert(tells(":4: v: wants one value\n"));
    ck_assert(tells(":5: insecure: 'yes' is neither true nor false\n"));
    ck_assert(tells(":6: listen: has no value"));
    ck_assert(tells(":7: kube-qps: means nothing to hamid\n"));
    ck_assert(tells(":8: config: is for the command line alone\n"));
    ck_assert(tells(":11: name: wants one value\n"));
    ck_assert(tells(":12: x: has no value"));
    ck_assert(tells(":13: patience: is said in line 2 already\n"));
    ck_assert(tells(":14: nested: is no option of this role\n"));
    ck_assert(tells(":15: v: is said in line 4 already\n"));
    ck_assert(tells("--formt is not known here, did you mean --format?"));
    ck_assert(tells("'word' is one word too many\n"));
    hamid_config_done(&v.config);
}
END_TEST

START_TEST(test_what_makes_yaml_more_than_it_looks_like_is_refused)
{
    static const struct {
        const char *file;
        const char *told;
    } rows[] = {
        {"name: &a [x]\n", ":1: name: has an anchor"},
        {"listen: *a\n", ":1: listen: is an alias"},
        {"v: !!int 3\n", ":1: v: has a tag"},
        {"a: b\n---\nc: d\n", ":2: begins a second document"},
        {"- a\n", ":1: wants lines such as"},
        {"&a {v: 1}\n", ":1: wants lines such as"},
        {"word\n", ":1: wants lines such as"},
        {"v: 1\n b: 2\n", ":2: "},
        {"v: [[[[[[[[[[[[]]]]]]]]]]]]\n", ":1: is nested too deeply"},
        {"listen: \"a\\0b\"\n", ":1: listen: has a NUL"},
        {"lock: {[a]: b}\n", ":1: "},
        {"<<: {v: 1}\n", ":1: <<: is no option"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct values v;
        ck_assert_int_eq(read_with(&v, rows[i].file, 0, NULL), HAMID_FLAGS_WRONG);
        ck_assert_msg(tells(rows[i].told), "%s: %s", rows[i].file, problems.text);
        hamid_config_done(&v.config);
    }
}
END_TEST

START_TEST(test_an_empty_file_is_a_right_one_and_a_huge_or_missing_one_is_not)
{
    static char huge[HAMID_CONFIG_FILE_MAX + 2];
    struct values v;
    char *argv[] = {(char *)"--config", path};
    ck_assert_int_eq(read_with(&v, "", 0, NULL), HAMID_FLAGS_OK);
    hamid_config_done(&v.config);
    ck_assert_int_eq(read_with(&v, "# nothing\n---\n", 0, NULL), HAMID_FLAGS_OK);
    hamid_config_done(&v.config);
    memset(huge, '#', sizeof(huge));
    write_file(huge, sizeof(huge));
    fill(&v);
    memset(&problems, 0, sizeof(problems));
    ck_assert_int_eq(hamid_config_read(&v.config, 2, argv, &problems), HAMID_FLAGS_WRONG);
    ck_assert(tells("is larger than 256 KiB"));
    hamid_config_done(&v.config);
    argv[1] = (char *)"/tmp";
    fill(&v);
    memset(&problems, 0, sizeof(problems));
    ck_assert_int_eq(hamid_config_read(&v.config, 2, argv, &problems), HAMID_FLAGS_WRONG);
    ck_assert(tells("--config: /tmp: is no regular file"));
    hamid_config_done(&v.config);
}
END_TEST

START_TEST(test_pairs_are_a_list_or_a_mapping)
{
    struct values v;
    ck_assert_int_eq(read_with(&v, "lock:\n  a: b\n  c: d=e\n", 0, NULL), HAMID_FLAGS_OK);
    ck_assert_uint_eq(v.pairs.count, 2);
    ck_assert_str_eq(v.pairs.values[1], "c=d=e");
    hamid_config_done(&v.config);
    ck_assert_int_eq(read_with(&v, "lock: [a=b]\n", 0, NULL), HAMID_FLAGS_OK);
    ck_assert_str_eq(v.pairs.values[0], "a=b");
    hamid_config_done(&v.config);
    ck_assert_int_eq(READ(&v, "lock: [a, =b, c=]\n", "--lock=x"), HAMID_FLAGS_WRONG);
    ck_assert_uint_eq(problems.count, 4);
    hamid_config_done(&v.config);
}
END_TEST

START_TEST(test_what_is_printed_comes_to_the_same_and_has_no_secret)
{
    struct values v;
    struct values again;
    ck_assert_int_eq(READ(&v,
                          "name: [\"a \\\"b\\\\\\n\", c]\nlock: {x: y}\n"
                          "key: hunter2\nlisten: \"\"\n",
                          "--insecure", "-v=4"),
                     HAMID_FLAGS_OK);
    char *text = hamid_config_print(&v.config);
    ck_assert_ptr_null(strstr(text, "hunter2"));
    ck_assert_ptr_nonnull(strstr(text, "# key: set, but a secret\n"));
    ck_assert_ptr_nonnull(strstr(text, "insecure: true  # flag\n"));
    ck_assert_ptr_nonnull(strstr(text, "listen: \"\"  # file, line 4\n"));
    ck_assert_ptr_nonnull(strstr(text, "patience: 30s  # default\n"));
    ck_assert_int_eq(read_with(&again, text, 0, NULL), HAMID_FLAGS_OK);
    ck_assert_str_eq(again.text, "");
    ck_assert_uint_eq(again.list.count, 2);
    ck_assert_str_eq(again.list.values[0], "a \"b\\\n");
    ck_assert_str_eq(again.pairs.values[0], "x=y");
    ck_assert(again.boolean);
    ck_assert_uint_eq(again.number, 4);
    ck_assert_uint_eq(again.duration, 30000);
    free(text);
    hamid_config_done(&v.config);
    hamid_config_done(&again.config);
    /* A default that means more than its value stays one. */
    ck_assert_int_eq(read_with(&v, "", 0, NULL), HAMID_FLAGS_OK);
    text = hamid_config_print(&v.config);
    ck_assert_ptr_nonnull(strstr(text, "# listen: \"here:1\"  # default\n"));
    free(text);
    hamid_config_done(&v.config);
}
END_TEST

struct told {
    char text[512];
};

static void note(void *data, const struct hamid_flag *flag, const char *value,
                 bool is_reloadable)
{
    struct told *told = data;
    size_t length = strlen(told->text);
    (void)snprintf(told->text + length, sizeof(told->text) - length, "%s=%s%s;",
                   flag->name, value, is_reloadable ? "" : " (not now)");
}

START_TEST(test_a_reload_takes_what_can_be_taken_and_tells_the_rest)
{
    struct values v;
    struct values fresh;
    struct told told = {""};
    ck_assert_int_eq(read_with(&v, "patience: 7s\nv: 1\nlock: {a: b}\n", 0, NULL),
                     HAMID_FLAGS_OK);
    ck_assert_int_eq(
        read_with(&fresh, "patience: 8s\nv: 2\nlock: {c: d}\nkey: hunter2\n", 0, NULL),
        HAMID_FLAGS_OK);
    ck_assert(hamid_config_take(&v.config, &fresh.config, note, &told));
    ck_assert_str_eq(told.text,
                     "key=(secret) (not now);lock=c=d;patience=8s;v=2 (not now);");
    ck_assert_uint_eq(v.duration, 8000);
    ck_assert_uint_eq(v.number, 1);
    ck_assert_str_eq(v.pairs.values[0], "c=d");
    ck_assert_int_eq(hamid_config_source(&v.config, &v.duration), HAMID_SOURCE_FILE);
    hamid_config_done(&v.config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemon configuration");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_test(all, test_flags_win_over_the_file_and_the_file_over_the_environment);
    tcase_add_test(all, test_every_mistake_is_told_with_its_line);
    tcase_add_test(all, test_what_makes_yaml_more_than_it_looks_like_is_refused);
    tcase_add_test(all,
                   test_an_empty_file_is_a_right_one_and_a_huge_or_missing_one_is_not);
    tcase_add_test(all, test_pairs_are_a_list_or_a_mapping);
    tcase_add_test(all, test_what_is_printed_comes_to_the_same_and_has_no_secret);
    tcase_add_test(all, test_a_reload_takes_what_can_be_taken_and_tells_the_rest);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
