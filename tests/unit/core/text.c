/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Lock values, leases, names, JSON and codes: what goes over the wire, as tables. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "json.h"
#include "names.h"
#include "record.h"
#include "scripted.h"

/* ---- lock values ---- */

#define TIME "2026-01-02T03:04:05Z"
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    const char *value;
    enum hami_lock_kind kind;
    const char *namespace_name, *name;
} values[] = {
    {NULL, HAMI_LOCK_FREE, "", ""},
    {"", HAMI_LOCK_FREE, "", ""},
    {TIME, HAMI_LOCK_LEGACY, "", ""},
    {"2026-01-02T03:04:05+08:00", HAMI_LOCK_LEGACY, "", ""},
    {"2026-01-02T03:04:05.123456789Z", HAMI_LOCK_LEGACY, "", ""},
    {TIME ",ns,pod", HAMI_LOCK_OWNED, "ns", "pod"},
    {"2026-01-02T03:04:05-03:30,ns,pod.with.dots", HAMI_LOCK_OWNED, "ns",
     "pod.with.dots"},
    {"2024-02-29T23:59:59Z,ns,pod", HAMI_LOCK_OWNED, "ns", "pod"},
    {"9999-12-31T23:59:59Z,ns,pod", HAMI_LOCK_OWNED, "ns", "pod"},
    {TIME ",,", HAMI_LOCK_UNOWNED, "", ""},
    {TIME ",ns,", HAMI_LOCK_UNOWNED, "", ""},
    {TIME ",,pod", HAMI_LOCK_UNOWNED, "", ""},
    {"x", HAMI_LOCK_MALFORMED, "", ""},
    {"T", HAMI_LOCK_MALFORMED, "", ""},
    {TIME ",ns", HAMI_LOCK_MALFORMED, "", ""},
    {TIME ",ns,a,b", HAMI_LOCK_MALFORMED, "", ""},
    {"x,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02t03:04:05Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02T03:04:05z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02 03:04:05Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02T03:04:05,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {" " TIME ",ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {TIME " ,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-02-29T03:04:05Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-13-01T03:04:05Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-32T03:04:05Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02T24:04:05Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02T03:60:05Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02T03:04:60Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02T03:04:05.Z,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {"2026-01-02T03:04:05+0800,ns,pod", HAMI_LOCK_MALFORMED, "", ""},
    {TIME ",NS,pod", HAMI_LOCK_MALFORMED, "", ""},
    {TIME ",ns,p\"d", HAMI_LOCK_MALFORMED, "", ""},
    {TIME ",ns,p\xc3\xb6"
          "d",
     HAMI_LOCK_MALFORMED, "", ""},
    {"\"", HAMI_LOCK_MALFORMED, "", ""},
};

START_TEST(each_lock_value_has_one_class_case_1_17)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    ck_assert_int_eq(hami_lock_record_parse(values[_i].value, NULL, &record), 0);
    ck_assert_msg(record.kind == values[_i].kind, "\"%s\" is of kind %d",
                  values[_i].value, (int)record.kind);
    ck_assert_str_eq(record.namespace_name, values[_i].namespace_name);
    ck_assert_str_eq(record.name, values[_i].name);
    ck_assert(!record.has_lease);
}
END_TEST

START_TEST(a_huge_lock_value_is_malformed_and_harmless_case_1_17)
{
    size_t size = 65536;
    char *commas = malloc(size + 1);
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    memset(commas, ',', size);
    commas[size] = '\0';
    ck_assert_int_eq(hami_lock_record_parse(commas, commas, &record), 0);
    ck_assert_int_eq(record.kind, HAMI_LOCK_MALFORMED);
    free(commas);
    ck_assert_int_eq(hami_lock_record_parse(NULL, NULL, NULL), HAMI_E_INVAL);
    struct {
        struct hami_lock_record record;
        char newer;
    } larger = {.newer = 1};
    larger.record.size = sizeof(larger);
    ck_assert_int_eq(hami_lock_record_parse(NULL, NULL, &larger.record), HAMI_E_ABI);
}
END_TEST

/* ---- leases ---- */

#define LOCK TIME ",ns,pod"
#define LEASE(members) "{" members "}"
#define WHOLE                                                                            \
    "\"version\":1,\"lock\":\"" LOCK                                                     \
    "\",\"uid\":\"u-1\",\"fence\":\"18446744073709551615\","                             \
    "\"holder\":\"s-1_u\",\"attempt\":\"7\",\"hold_ms\":15000,\"free\":\"node\""

static const struct {
    const char *lease;
    bool own;
    uint64_t last_fence;
} leases[] = {
    {LEASE(WHOLE), true, UINT64_MAX},
    {" {\t" WHOLE "\n} ", true, UINT64_MAX},
    {LEASE(WHOLE ",\"new\":[{\"a\":[1,2.5e-3,null]},\"\\u00e4\",true]"), true,
     UINT64_MAX},
    /* a member of another name, of which a known one is left without the rest */
    {LEASE(WHOLE ",\"fen\\u0101ce\":\"1\",\"\\u0000uid\":\"x y\""), true, UINT64_MAX},
    {LEASE("\"version\":1,\"fence\":\"9\""), false, 9},
    {LEASE("\"version\":1,\"lock\":\"" TIME
           ",ns,other\",\"uid\":\"u\",\"fence\":\"9\",\"holder\":"
           "\"h\",\"attempt\":\"1\""),
     false, 9},
    {LEASE("\"version\":2,\"fence\":\"9\""), false, 0},
    {LEASE("\"version\":\"1\",\"fence\":\"9\""), false, 0},
    {LEASE("\"version\":1,\"fence\":9"), false, 0},
    {LEASE("\"version\":1,\"fence\":\"09\""), false, 0},
    {LEASE("\"version\":1,\"fence\":\"-9\""), false, 0},
    {LEASE("\"version\":1,\"fence\":\"18446744073709551616\""), false, 0},
    {LEASE("\"version\":1,\"fence\":\"9\",\"fence\":\"99999999999999999999999\""), false,
     0},
    {LEASE(WHOLE) "x", false, 0},
    {LEASE(WHOLE ","), false, 0},
    {"{" WHOLE, false, 0},
    {"[" LEASE(WHOLE) "]", false, 0},
    {"", false, 0},
    {"{}", false, 0},
    {"null", false, 0},
    {LEASE("\"version\":1,\"lock\":\"" LOCK
           "\",\"uid\":\"a b\",\"fence\":\"9\",\"holder\":\"h\","
           "\"attempt\":\"1\""),
     false, 9},
    {LEASE("\"version\":1,\"lock\":\"" LOCK
           "\",\"uid\":\"u\",\"fence\":\"9\",\"attempt\":\"1\""),
     false, 9},
};

START_TEST(a_lease_speaks_only_for_the_value_that_it_was_written_with)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    ck_assert_int_eq(hami_lock_record_parse(LOCK, leases[_i].lease, &record), 0);
    ck_assert_msg(record.has_lease == leases[_i].own, "%s", leases[_i].lease);
    ck_assert_msg(record.last_fence == leases[_i].last_fence, "%s", leases[_i].lease);
    ck_assert_uint_eq(record.fence, leases[_i].own ? leases[_i].last_fence : 0);
    if (leases[_i].own) {
        ck_assert_str_eq(record.uid, "u-1");
        ck_assert_str_eq(record.holder, "s-1_u");
        ck_assert_uint_eq(record.attempt, 7);
        ck_assert_uint_eq(record.hold_ms, 15000);
        ck_assert(!record.free_by_scheduler);
    }
    /* Beside no lock it speaks for nothing but the fence. */
    ck_assert_int_eq(hami_lock_record_parse(NULL, leases[_i].lease, &record), 0);
    ck_assert(!record.has_lease);
    ck_assert_uint_eq(record.last_fence, leases[_i].last_fence);
}
END_TEST

START_TEST(the_hold_limit_of_a_lease_is_bounded)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    const char *lease =
        LEASE("\"version\":1,\"lock\":\"" LOCK
              "\",\"uid\":\"u\",\"fence\":\"1\",\"holder\":\"h\",\"attempt\":\"1\","
              "\"hold_ms\":600001,\"free\":\"scheduler\"");

    ck_assert_int_eq(hami_lock_record_parse(LOCK, lease, &record), 0);
    ck_assert_uint_eq(record.hold_ms, 600000);
    ck_assert(record.free_by_scheduler);
}
END_TEST

static size_t record_value(char *value, int64_t seconds, const char *namespace_name,
                           const char *name)
{
    char date[HAMI_INTERNAL_RECORD_DATE];

    hami_internal_record_date(date, seconds);
    return hami_internal_record_value(value, date, namespace_name, name);
}

START_TEST(lock_and_lease_are_written_byte_for_byte)
{
    char value[HAMI_LOCK_VALUE_MAX], lease[1024];

    ck_assert_uint_eq(record_value(value, 1767323045, "ns", "pod"), strlen(LOCK));
    ck_assert_str_eq(value, LOCK);
    record_value(value, 951782400, "a", "b");
    ck_assert_str_eq(value, "2000-02-29T00:00:00Z,a,b");
    record_value(value, -1, "a", "b");
    ck_assert_str_eq(value, "1969-12-31T23:59:59Z,a,b");
    record_value(value, INT64_MIN, "a", "b");
    ck_assert_str_eq(value, "0001-01-01T00:00:00Z,a,b");
    record_value(value, INT64_MAX, "a", "b");
    ck_assert_str_eq(value, "9999-12-31T23:59:59Z,a,b");
    struct hami_internal_lease_text text = {LOCK, "u-1", "s-1_u", UINT64_MAX, 7, 15000};
    hami_internal_record_lease(lease, sizeof(lease), &text);
    ck_assert_str_eq(lease, LEASE(WHOLE));
    ck_assert_uint_gt(hami_internal_record_lease_size(strlen(LOCK), 3, 5, 0),
                      strlen(lease));
}
END_TEST

START_TEST(what_is_known_of_our_own_writes_is_what_reading_them_back_would_tell)
{
    const struct hami_owner owner = {"default", "pod-0",
                                     "3b241101-e2bb-4255-8caf-4136c5"};
    const uint64_t numbers[] = {0, 1, 999, 600000, 600001, UINT64_MAX};
    char value[HAMI_LOCK_VALUE_MAX], lease[HAMI_LEASE_TEXT_MAX], memory[64];
    struct hami_lock_record read = HAMI_LOCK_RECORD_INIT, known = HAMI_LOCK_RECORD_INIT;
    struct hami_lock_record freed = HAMI_LOCK_RECORD_INIT;
    uint64_t number = numbers[_i];
    struct hami_internal_lease_text text = {value,  owner.uid, "host_0123456789abcdef",
                                            number, number,    number};

    (void)record_value(value, 1700000000 + _i * INT64_C(86399), owner.namespace_name,
                       owner.name);
    hami_internal_record_lease(lease, sizeof(lease), &text);
    ck_assert_int_eq(hami_lock_record_parse(value, lease, &read), 0);
    hami_internal_record_taken(&owner, &text, &known);
    ck_assert_int_eq(read.kind, HAMI_LOCK_OWNED);
    ck_assert(read.has_lease);
    ck_assert_mem_eq(&known, &read, sizeof(read));

    ck_assert_int_eq(hami_lease_memory_format(number, memory, sizeof(memory)), 0);
    ck_assert_int_eq(hami_lock_record_parse(NULL, memory, &read), 0);
    hami_internal_record_freed(number, &freed);
    ck_assert_mem_eq(&freed, &read, sizeof(read));
    /* What stood there before leaves nothing behind that is seen. */
    hami_internal_record_freed(number, &known);
    ck_assert_int_eq(known.kind, read.kind);
    ck_assert(!known.has_lease && !known.free_by_scheduler);
    ck_assert_str_eq(known.namespace_name, "");
    ck_assert_str_eq(known.name, "");
    ck_assert_str_eq(known.uid, "");
    ck_assert_str_eq(known.holder, "");
    ck_assert_uint_eq(known.fence + known.attempt + known.hold_ms, 0);
    ck_assert_uint_eq(known.last_fence, number);
}
END_TEST

START_TEST(lease_keys_follow_from_lock_keys)
{
    char key[HAMI_NODELOCK_KEY_MAX + 7];

    ck_assert_int_eq(hami_lease_key(HAMI_NODELOCK_KEY, key, sizeof(key)), 0);
    ck_assert_str_eq(key, HAMI_NODELOCK_LEASE_KEY);
    ck_assert_int_eq(hami_lease_key(HAMI_NODELOCK_CAMBRICON_KEY, key, sizeof(key)), 0);
    ck_assert_str_eq(key, "cambricon.com/dsmlu.lease");
    ck_assert_int_eq(hami_lease_key("hamivgpu", key, sizeof(key)), 0);
    ck_assert_str_eq(key, "hamivgpu.lease");
    ck_assert_int_eq(hami_lease_key(HAMI_NODELOCK_KEY, key, 5), HAMI_E_LIMIT);
    ck_assert_int_eq(hami_lease_key("no key", key, sizeof(key)), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_key(HAMI_NODELOCK_KEY, NULL, 0), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_memory_format(1, key, 5), HAMI_E_LIMIT);
    ck_assert_int_eq(hami_lease_memory_format(1, NULL, 0), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_memory_format(123, key, sizeof(key)), 0);
    ck_assert_str_eq(key, "{\"version\":1,\"fence\":\"123\"}");
}
END_TEST

/* ---- JSON ---- */

static const struct {
    const char *text;
    int code;
} objects[] = {
    {"{}", 0},
    {" { } ", 0},
    {"{\"a\":1}", 0},
    {"{\"a\":-0.5E+10,\"b\":[],\"c\":{},\"d\":[1,[2,[3]]]}", 0},
    {"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"}", 0},
    {"", -1},
    {"[]", -1},
    {"{\"a\"}", -1},
    {"{\"a\":}", -1},
    {"{\"a\":01}", -1},
    {"{\"a\":1.}", -1},
    {"{\"a\":1e}", -1},
    {"{\"a\":-}", -1},
    {"{\"a\":nul}", -1},
    {"{\"a\":1,}", -1},
    {"{\"a\":[1,]}", -1},
    {"{\"a\":[1}", -1},
    {"{\"a\":{\"b\" 1}}", -1},
    {"{a:1}", -1},
    {"{\"a\":\"\\x\"}", -1},
    {"{\"a\":\"\\u12g4\"}", -1},
    {"{\"a\":\"\\u12\"", -1},
    {"{\"a\":\"x", -1},
    {"{\"a\":\"\n\"}", -1},
    {"{\"a\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}", -1},
};

static int no_member(void *data, const struct hami_internal_json_member *member)
{
    (void)data;
    return strcmp(member->name, "stop") == 0 ? -1 : 0;
}

START_TEST(json_is_read_strictly)
{
    ck_assert_msg(hami_internal_json_object(objects[_i].text, strlen(objects[_i].text),
                                            no_member, NULL) == objects[_i].code,
                  "%s", objects[_i].text);
}
END_TEST

START_TEST(a_member_may_end_the_reading)
{
    const char *text = "{\"a\":1,\"stop\":2,\"b\":3}";

    ck_assert_int_eq(hami_internal_json_object(text, strlen(text), no_member, NULL), -1);
}
END_TEST

/* ---- names ---- */

START_TEST(names_are_those_that_kubernetes_takes)
{
    char long_name[300];

    ck_assert(hami_internal_names_is_subdomain("a"));
    ck_assert(hami_internal_names_is_subdomain("a-b.c-d.0"));
    ck_assert(!hami_internal_names_is_subdomain(""));
    ck_assert(!hami_internal_names_is_subdomain(NULL));
    ck_assert(!hami_internal_names_is_subdomain("a..b"));
    ck_assert(!hami_internal_names_is_subdomain(".a"));
    ck_assert(!hami_internal_names_is_subdomain("a."));
    ck_assert(!hami_internal_names_is_subdomain("a-.b"));
    ck_assert(!hami_internal_names_is_subdomain("A"));
    memset(long_name, 'a', sizeof(long_name));
    long_name[253] = '\0';
    ck_assert(hami_internal_names_is_subdomain(long_name));
    long_name[253] = 'a';
    long_name[254] = '\0';
    ck_assert(!hami_internal_names_is_subdomain(long_name));
    long_name[63] = '\0';
    ck_assert(hami_internal_names_is_label(long_name));
    long_name[63] = 'a';
    long_name[64] = '\0';
    ck_assert(!hami_internal_names_is_label(long_name));
    ck_assert(!hami_internal_names_is_label("a.b"));
    ck_assert(!hami_internal_names_is_label("-a"));
    ck_assert(hami_internal_names_is_uid("6f9619ff-8b86-d011-b42d-00cf4fc964ff"));
    ck_assert(!hami_internal_names_is_uid("a,b"));
    ck_assert(hami_internal_names_is_key("hami.io/mutex.lock"));
    ck_assert(hami_internal_names_is_key("gpu"));
    ck_assert(!hami_internal_names_is_key("/a"));
    ck_assert(!hami_internal_names_is_key("a/"));
    ck_assert(!hami_internal_names_is_key("a/b/c"));
    ck_assert(!hami_internal_names_is_key("a/-b"));
    ck_assert(!hami_internal_names_is_key(NULL));
}
END_TEST

/* ---- errors ---- */

START_TEST(each_code_has_a_name_and_a_meaning)
{
    for (int code = 0; code >= -17; code--) {
        ck_assert_str_ne(hami_errname(code), "?");
        ck_assert_str_ne(hami_strerror(code), "unknown code");
    }
    ck_assert_str_eq(hami_errname(HAMI_E_IN_DOUBT), "IN_DOUBT");
    ck_assert_str_eq(hami_errname(-18), "?");
    ck_assert_str_eq(hami_strerror(1), "unknown code");
    ck_assert_str_eq(hami_version(), HAMI_VERSION_STRING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *pure = tcase_create("text");

    tcase_add_loop_test(pure, each_lock_value_has_one_class_case_1_17, 0, COUNT(values));
    tcase_add_test(pure, a_huge_lock_value_is_malformed_and_harmless_case_1_17);
    tcase_add_loop_test(pure, a_lease_speaks_only_for_the_value_that_it_was_written_with,
                        0, COUNT(leases));
    tcase_add_test(pure, the_hold_limit_of_a_lease_is_bounded);
    tcase_add_test(pure, lock_and_lease_are_written_byte_for_byte);
    tcase_add_loop_test(
        pure, what_is_known_of_our_own_writes_is_what_reading_them_back_would_tell, 0, 6);
    tcase_add_test(pure, lease_keys_follow_from_lock_keys);
    tcase_add_loop_test(pure, json_is_read_strictly, 0, COUNT(objects));
    tcase_add_test(pure, a_member_may_end_the_reading);
    tcase_add_test(pure, names_are_those_that_kubernetes_takes);
    tcase_add_test(pure, each_code_has_a_name_and_a_meaning);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
