/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of pods that may be beside each other, as text: docs/protocol.md, section 11.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include <hami/handshake.h>

#include "names.h"
#include "record.h"
#include "scripted.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

static const char *const canonical[] = {
    "a=1",
    "gpu=9223372036854775807",
    "nvidia.com/gpu=1",
    "nvidia.com/gpu=1,nvidia.com/gpu=2",
    "nvidia.com/gpu=1,nvidia.com/gpu=10,nvidia.com/gpu=2",
    "a.b/c-d=1,a.b/c=1",
    "Z=1,a=1",
};

START_TEST(canonical_calls_are_taken)
{
    ck_assert_msg(hami_internal_names_is_calls(canonical[_i]), "%s", canonical[_i]);
}
END_TEST

static const char *const odd[] = {
    "",
    ",",
    "=",
    "=1",
    "a",
    "a=",
    "a=0",
    "a=01",
    "a=-1",
    "a=+1",
    "a= 1",
    "a=1 ",
    " a=1",
    "a=1,",
    ",a=1",
    "a=1,,b=1",
    "a.b/c=1,a.b/c-d=1",
    "a=1,a=1",
    "b=1,a=1",
    "a=2,a=10",
    "a=1x",
    "a=?",
    "a=1=1",
    "a b=1",
    "a/b/c=1",
    "/a=1",
    "a/=1",
    "a=9223372036854775808",
    "a=99999999999999999999",
    "a=1\nb=1",
    "a=1;b=1",
};

START_TEST(calls_in_any_other_form_are_not)
{
    ck_assert_msg(!hami_internal_names_is_calls(odd[_i]), "%s", odd[_i]);
}
END_TEST

/* "a=1,a=10,..." is no order that is easily counted up; letters are. */
static void put_calls(char *text, int count)
{
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        char one[] = {i > 0 ? ',' : ' ', (char)('a' + i), '=', '1', '\0'};
        strcat(text, i > 0 ? one : one + 1);
    }
}

/* Two calls, whose resources have 251 characters each. @end  of the second */
static void put_long_calls(char *text, const char *end)
{
    memset(text, 'a', HAMI_NODELOCK_CALLS_MAX);
    memcpy(text + 249, "/b=1,b", 6);
    strcpy(text + 254 + 249, end);
}

START_TEST(calls_are_bounded_in_number_and_length)
{
    char text[HAMI_NODELOCK_CALLS_MAX + 2];

    put_calls(text, HAMI_NODELOCK_CALL_COUNT_MAX);
    ck_assert(hami_internal_names_is_calls(text));
    put_calls(text, HAMI_NODELOCK_CALL_COUNT_MAX + 1);
    ck_assert(!hami_internal_names_is_calls(text));
    put_long_calls(text, "/b=12345");
    ck_assert_uint_eq(strlen(text), HAMI_NODELOCK_CALLS_MAX - 1);
    ck_assert(hami_internal_names_is_calls(text));
    put_long_calls(text, "/b=123456");
    ck_assert(hami_internal_names_is_calls(text));
    put_long_calls(text, "/b=1234567");
    ck_assert_uint_eq(strlen(text), HAMI_NODELOCK_CALLS_MAX + 1);
    ck_assert(!hami_internal_names_is_calls(text));
    ck_assert(!hami_internal_names_is_calls(NULL));
}
END_TEST

#define LOCK "2026-01-02T03:04:05Z,ns,pod"
#define LEASE                                                                            \
    "{\"version\":1,\"lock\":\"" LOCK                                                    \
    "\",\"uid\":\"u-1\",\"fence\":\"9\",\"holder\":\"s-1_u\",\"attempt\":\"7\","         \
    "\"hold_ms\":15000,\"free\":\"scheduler\""

START_TEST(the_calls_of_a_pod_are_the_last_member_of_its_lease)
{
    const struct hami_owner owner = {"ns", "pod", "u-1"};
    struct hami_internal_lease_text text = {
        LOCK, "u-1", "s-1_u", 9, 7, 15000, true, "nvidia.com/gpu=1,nvidia.com/gpu=2"};
    struct hami_lock_record read = HAMI_LOCK_RECORD_INIT, known = HAMI_LOCK_RECORD_INIT;
    char lease[HAMI_LEASE_TEXT_MAX];

    size_t length = hami_internal_record_lease(lease, sizeof(lease), &text);
    ck_assert_str_eq(lease, LEASE ",\"calls\":\"nvidia.com/gpu=1,nvidia.com/gpu=2\"}");
    ck_assert_uint_gt(
        hami_internal_record_lease_size(strlen(LOCK), 3, 5, strlen(text.calls)), length);
    ck_assert_int_eq(hami_lock_record_parse(LOCK, lease, &read), 0);
    ck_assert_str_eq(read.calls, text.calls);
    ck_assert(read.free_by_scheduler);
    hami_internal_record_taken(&owner, &text, &known);
    ck_assert_mem_eq(&known, &read, sizeof(read));
    /* What stood there before leaves no calls behind. */
    text.calls = NULL;
    hami_internal_record_taken(&owner, &text, &known);
    ck_assert_str_eq(known.calls, "");
    hami_internal_record_taken(&owner, &text, &read);
    hami_internal_record_freed(9, &read);
    ck_assert_str_eq(read.calls, "");
}
END_TEST

START_TEST(the_longest_lease_with_calls_is_still_looked_at)
{
    char value[HAMI_LOCK_VALUE_MAX], uid[HAMI_NODELOCK_UID_MAX + 1], holder[320];
    char calls[HAMI_NODELOCK_CALLS_MAX + 1], lease[HAMI_LEASE_TEXT_MAX];
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    struct hami_internal_lease_text text = {value,      uid,    holder, UINT64_MAX,
                                            UINT64_MAX, 600000, true,   calls};

    memset(value, 'a', sizeof(value));
    memcpy(value, "2026-01-02T03:04:05Z,", 21);
    value[21 + 63] = ',';
    value[21 + 64 + 253] = '\0';
    memset(uid, 'u', sizeof(uid) - 1);
    uid[sizeof(uid) - 1] = '\0';
    memset(holder, 'h', sizeof(holder) - 1);
    holder[sizeof(holder) - 1] = '\0';
    put_long_calls(calls, "/b=123456");
    size_t size = hami_internal_record_lease_size(strlen(value), strlen(uid),
                                                  strlen(holder), strlen(calls));
    ck_assert_uint_le(size, sizeof(lease));
    hami_internal_record_lease(lease, sizeof(lease), &text);
    ck_assert_int_eq(hami_lock_record_parse(value, lease, &record), 0);
    ck_assert(record.has_lease);
    ck_assert_str_eq(record.calls, calls);
}
END_TEST

static const struct {
    const char *what, *member;
} senseless[] = {
    {"not sorted", "\"b=1,a=1\""},
    {"empty", "\"\""},
    {"a number", "1"},
    {"a list", "[\"a=1\"]"},
    {"null", "null"},
    {"twice, the last of no form", "\"a=1\",\"calls\":\"a\""},
    {"twice, the last no text", "\"a=1\",\"calls\":7"},
    {"not ASCII", "\"a=1,\\u00e4=1\""},
    {"a NUL", "\"a=1\\u0000\""},
};

START_TEST(calls_of_no_sense_are_none_in_a_lease_that_is_one_all_the_same)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    char lease[HAMI_LEASE_TEXT_MAX];

    (void)snprintf(lease, sizeof(lease), "%s,\"calls\":%s}", LEASE, senseless[_i].member);
    ck_assert_int_eq(hami_lock_record_parse(LOCK, lease, &record), 0);
    ck_assert_msg(record.has_lease, "%s", senseless[_i].what);
    ck_assert_uint_eq(record.fence, 9);
    ck_assert_str_eq(record.calls, "");
}
END_TEST

START_TEST(calls_too_long_are_none)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    char lease[HAMI_LEASE_TEXT_MAX], calls[HAMI_NODELOCK_CALLS_MAX + 2];

    memset(calls, 'a', sizeof(calls));
    calls[HAMI_NODELOCK_CALLS_MAX + 1] = '\0';
    (void)snprintf(lease, sizeof(lease), "%s,\"calls\":\"%s\"}", LEASE, calls);
    ck_assert_int_eq(hami_lock_record_parse(LOCK, lease, &record), 0);
    ck_assert(record.has_lease);
    ck_assert_str_eq(record.calls, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calls");
    TCase *pure = tcase_create("calls");

    tcase_add_loop_test(pure, canonical_calls_are_taken, 0, COUNT(canonical));
    tcase_add_loop_test(pure, calls_in_any_other_form_are_not, 0, COUNT(odd));
    tcase_add_test(pure, calls_are_bounded_in_number_and_length);
    tcase_add_test(pure, the_calls_of_a_pod_are_the_last_member_of_its_lease);
    tcase_add_test(pure, the_longest_lease_with_calls_is_still_looked_at);
    tcase_add_loop_test(pure,
                        calls_of_no_sense_are_none_in_a_lease_that_is_one_all_the_same, 0,
                        COUNT(senseless));
    tcase_add_test(pure, calls_too_long_are_none);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
