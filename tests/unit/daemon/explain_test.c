/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hamictl makes of a lock and its holder's pod: a table.
 */
#include "explain.h"

#include <string.h>

#include "sources.h"
#include "suite.h"
#include "table.h"

static json_t *read_json(const char *text)
{
    json_t *json = text != NULL ? json_loads(text, 0, NULL) : NULL;
    ck_assert_msg(text == NULL || json != NULL, "%s", text);
    return json;
}

#define LEASED "{\"namespace\":\"ns\",\"pod\":\"a\",\"uid\":\"u1\"}"
#define BARE "{\"namespace\":\"ns\",\"pod\":\"a\"}"
#define POD(metadata, spec, status)                                                      \
    "{\"metadata\":{\"uid\":\"u1\"" metadata "},\"spec\":{" spec "},\"status\":{" status \
    "}}"
#define HERE "\"nodeName\":\"n1\""
#define PHASE(phase) "\"phase\":\"" phase "\""

static const struct {
    const char *slot;
    const char *holder; /* NULL = gone */
    const char *text;   /* a part of what is said */
} rows[] = {
    {"{}", NULL, "names no pod"},
    {LEASED, NULL, "the holder is gone: the lock is taken over"},
    {LEASED, POD(, "", PHASE("Pending")), "not bound yet: its Binding is under way"},
    {BARE, POD(, "", PHASE("Pending")), "no lease beside it"},
    {LEASED, POD(",\"deletionTimestamp\":\"x\"", "", PHASE("Pending")),
     "being deleted and not bound"},
    {LEASED, POD(",\"deletionTimestamp\":\"x\"", HERE, PHASE("Pending")),
     "waits for the kubelet"},
    {LEASED, POD(, HERE, PHASE("Pending")), "the device plugin on n1"},
    {LEASED, POD(, HERE, PHASE("Running")), "was left behind"},
    {LEASED, POD(, HERE, PHASE("Failed")), "it has finished"},
    {LEASED, POD(, HERE, PHASE("Succeeded")), "it has finished"},
    {LEASED, POD(, "\"nodeName\":\"n2\"", PHASE("Pending")), "bound to another node"},
    {LEASED,
     POD(",\"annotations\":{\"hami.io/bind-phase\":\"success\"}", HERE, PHASE("Pending")),
     "devices are handed out"},
    {LEASED, "{\"metadata\":{\"uid\":\"u2\"},\"spec\":{},\"status\":{}}",
     "another pod has its name now"},
    {LEASED,
     "{\"metadata\":{\"uid\":\"u2\"},\"spec\":{\"nodeName\":\"n1\"},\"status\":{}}",
     "waits for the kubelet"},
    {LEASED, "{}", "another pod has its name now"},
    {LEASED, "{\"metadata\":7,\"spec\":[],\"status\":null}",
     "another pod has its name now"},
};

START_TEST(test_what_would_free_a_lock)
{
    char text[EXPLAIN_TEXT_MAX] = "";
    json_t *slot = read_json(rows[_i].slot);
    json_t *holder = read_json(rows[_i].holder);
    explain_lock(slot, holder, "n1", text, sizeof(text));
    ck_assert_msg(strstr(text, rows[_i].text) != NULL, "row %d: %s", _i, text);
    json_decref(slot);
    json_decref(holder);
}
END_TEST

START_TEST(test_where_a_pod_stands)
{
    char text[EXPLAIN_TEXT_MAX] = "";
    explain_pod(NULL, text, sizeof(text));
    ck_assert_str_eq(text, "is gone");
    json_t *pod = read_json(POD(, "", PHASE("Pending")));
    explain_pod(pod, text, sizeof(text));
    ck_assert_str_eq(text, "is not bound, and no filter assigned it to a node yet");
    ck_assert_str_eq(explain_node_of(pod), "");
    json_decref(pod);
    pod = read_json(POD(",\"annotations\":{\"hami.io/vgpu-node\":\"n3\"}", "", ""));
    explain_pod(pod, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "assigned it to node n3"));
    ck_assert_str_eq(explain_node_of(pod), "n3");
    json_decref(pod);
    pod = read_json(POD(",\"deletionTimestamp\":\"x\"", HERE, PHASE("Running")));
    explain_pod(pod, text, sizeof(text));
    ck_assert_str_eq(text,
                     "is bound to node n1, phase Running, bind-phase not set, is being "
                     "deleted");
    ck_assert_str_eq(explain_node_of(pod), "n1");
    json_decref(pod);
}
END_TEST

START_TEST(test_a_waiter_is_found_by_namespace_and_name)
{
    const json_t *waiter = NULL;
    json_t *nodes = read_json(
        "[{\"node\":\"n1\",\"waiters\":[{\"namespace\":\"x\",\"pod\":\"a\"},"
        "{\"namespace\":\"ns\",\"pod\":\"a\",\"position\":1}]},{\"node\":\"n2\"},3]");
    ck_assert_str_eq(source_text(explain_find_waiter(nodes, "ns", "a", &waiter), "node"),
                     "n1");
    ck_assert_int_eq(json_integer_value(json_object_get(waiter, "position")), 1);
    ck_assert_ptr_null(explain_find_waiter(nodes, "ns", "b", &waiter));
    ck_assert_ptr_null(explain_find_waiter(NULL, "ns", "b", &waiter));
    ck_assert_ptr_nonnull(explain_find_node(nodes, "n2"));
    ck_assert_ptr_null(explain_find_node(nodes, "n3"));
    json_decref(nodes);
}
END_TEST

START_TEST(test_a_node_objects_locks_are_taken_apart)
{
    json_t *object = read_json(
        "{\"metadata\":{\"name\":\"n1\",\"annotations\":{"
        "\"hami.io/mutex.lock\":\"2026-01-01T00:00:00Z,ns,a\",\"hami.io/mutex.lease\":"
        "\"{\\\"version\\\":1,\\\"lock\\\":\\\"2026-01-01T00:00:00Z,ns,a\\\",\\\"uid\\\":"
        "\\\"u1\\\","
        "\\\"fence\\\":\\\"7\\\",\\\"holder\\\":\\\"h_1\\\",\\\"attempt\\\":\\\"1\\\","
        "\\\"hold_ms\\\":15000,"
        "\\\"free\\\":\\\"node\\\"}\",\"cambricon.com/"
        "dsmlu.lock\":\"2026-01-01T00:00:00Z\"}}}");
    json_t *node = source_node(object);
    const json_t *first = json_array_get(json_object_get(node, "slots"), 0);
    const json_t *second = json_array_get(json_object_get(node, "slots"), 1);
    ck_assert_str_eq(source_text(node, "node"), "n1");
    ck_assert_str_eq(source_text(first, "state"), "held");
    ck_assert_str_eq(source_text(first, "pod"), "a");
    ck_assert_str_eq(source_text(first, "uid"), "u1");
    ck_assert_str_eq(source_text(first, "fence"), "7");
    ck_assert_str_eq(source_text(second, "key"), "cambricon.com/dsmlu.lock");
    ck_assert_str_eq(source_text(second, "state"), "foreign");
    ck_assert_ptr_nonnull(strstr(source_text(second, "reason"), "names no pod"));
    json_decref(node);
    json_decref(object);
    object = read_json(
        "{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"hami.io/mutex.lock\":\"\"}}}");
    ck_assert_ptr_null(source_node(object));
    json_decref(object);
}
END_TEST

START_TEST(test_the_table_has_a_line_a_lock)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *nodes = read_json("[{\"node\":\"n1\",\"slots\":[{\"key\":\"hami.io/"
                              "mutex.lock\",\"state\":\"handed-off\","
                              "\"namespace\":\"ns\",\"pod\":\"a\",\"fence\":\"42\","
                              "\"ageSeconds\":3.25}],\"waiters\":[{},{}]},"
                              "{\"node\":\"n2\",\"slots\":[{\"key\":\"k\",\"state\":"
                              "\"foreign\",\"fence\":\"0\",\"alarm\":true}]}]");
    ck_assert_int_eq(table_print(nodes, out), 0);
    (void)fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "NODE"));
    ck_assert_ptr_nonnull(strstr(text, "ns/a"));
    ck_assert_ptr_nonnull(strstr(text, "3.2s"));
    ck_assert_ptr_nonnull(strstr(text, "waits for Allocate past its age"));
    free(text);
    json_decref(nodes);
}
END_TEST

START_TEST(test_ages)
{
    char text[32];
    table_age(-1, text, sizeof(text));
    ck_assert_str_eq(text, "-");
    table_age(4.25, text, sizeof(text));
    ck_assert_str_eq(text, "4.2s");
    table_age(723, text, sizeof(text));
    ck_assert_str_eq(text, "12m3s");
    table_age(2 * 86400 - 1, text, sizeof(text));
    ck_assert_str_eq(text, "47h59m59s");
    table_age(3 * 86400 - 1, text, sizeof(text));
    ck_assert_str_eq(text, "2d");
}
END_TEST

START_TEST(test_when_a_turn_is_expected)
{
    static const struct {
        const char *waiter, *text;
    } turns[] = {{"{\"expectedSeconds\":4.25}", "in 4.2s"},
                 {"{\"expectedSeconds\":0}", "-"},
                 {"{\"expectedSeconds\":\"soon\"}", "-"},
                 {"{}", "-"}};
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        char text[48];
        json_t *waiter = read_json(turns[i].waiter);
        table_expected(waiter, text, sizeof(text));
        ck_assert_str_eq(text, turns[i].text);
        json_decref(waiter);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hamictl");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, test_what_would_free_a_lock, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(all, test_where_a_pod_stands);
    tcase_add_test(all, test_a_waiter_is_found_by_namespace_and_name);
    tcase_add_test(all, test_a_node_objects_locks_are_taken_apart);
    tcase_add_test(all, test_the_table_has_a_line_a_lock);
    tcase_add_test(all, test_ages);
    tcase_add_test(all, test_when_a_turn_is_expected);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
