/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of header fields, and messages out of bytes.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "grpc/inbox.h"
#include "grpc/text.h"
#include "suite.h"

START_TEST(a_text_survives_its_encoding_and_broken_escapes_stay)
{
    static const char *const texts[] = {"",        "plain",    "100 %", "%41",
                                        "a\nb\tc", "\xc3\xbc", "\x7f"};
    char encoded[3 * HAMID_GRPC_TEXT_MAX + 1], decoded[HAMID_GRPC_TEXT_MAX + 1];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        hamid_grpc_text_encode(texts[i], encoded, sizeof(encoded));
        for (const char *c = encoded; *c != '\0'; c++) {
            ck_assert(*c >= 0x20 && *c <= 0x7e);
        }
        hamid_grpc_text_decode(encoded, strlen(encoded), decoded, sizeof(decoded));
        ck_assert_str_eq(decoded, texts[i]);
    }
    hamid_grpc_text_decode("%4", 2, decoded, sizeof(decoded));
    ck_assert_str_eq(decoded, "%4");
    hamid_grpc_text_decode("%%41%g1%00", 10, decoded, sizeof(decoded));
    ck_assert_str_eq(decoded, "%A%g1?");
    hamid_grpc_text_encode("\xff\xff\xff", encoded, 8); /* no half escape */
    ck_assert_str_eq(encoded, "%FF%FF");
    hamid_grpc_text_decode("abcdef", 6, decoded, 4);
    ck_assert_str_eq(decoded, "abc");
}
END_TEST

START_TEST(timeouts_are_read_in_each_unit_and_written_so_that_they_fit)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {{"1H", 3600000},
                {"2M", 120000},
                {"3S", 3000},
                {"4m", 4},
                {"1u", 1},
                {"1001u", 2},
                {"5000000n", 5},
                {"1n", 1},
                {"0m", 0},
                {"99999999m", 99999999},
                {"99999999H", 359999996400000}};
    static const char *const bad[] = {"",    "m",   "1",          "1x",
                                      "-1m", "1 m", "123456789m", "1.5S"};
    char text[HAMID_GRPC_TIMEOUT_TEXT];
    uint64_t ms = 0, again = 0;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_int_eq(
            hamid_grpc_timeout_parse(good[i].text, strlen(good[i].text), &ms), 0);
        ck_assert_uint_eq(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(hamid_grpc_timeout_parse(bad[i], strlen(bad[i]), &ms), -1);
    }
    for (ms = 1; ms < UINT64_MAX / 8; ms *= 7) {
        hamid_grpc_timeout_format(ms, text);
        ck_assert_uint_le(strlen(text), 9);
        ck_assert_int_eq(hamid_grpc_timeout_parse(text, strlen(text), &again), 0);
        ck_assert(again >= ms || strcmp(text, "99999999H") == 0);
    }
    hamid_grpc_timeout_format(UINT64_MAX, text);
    ck_assert_str_eq(text, "99999999H");
}
END_TEST

START_TEST(types_and_codes_are_told_apart)
{
    ck_assert(hamid_grpc_is_grpc("application/grpc", 16));
    ck_assert(hamid_grpc_is_grpc("application/grpc+proto", 22));
    ck_assert(hamid_grpc_is_grpc("application/grpc;x", 18));
    ck_assert(!hamid_grpc_is_grpc("application/grpc-web", 20));
    ck_assert(!hamid_grpc_is_grpc("application/json", 16));
    ck_assert(!hamid_grpc_is_grpc("application/grp", 15));
    ck_assert_int_eq(hamid_grpc_code_parse("0", 1), 0);
    ck_assert_int_eq(hamid_grpc_code_parse("16", 2), 16);
    ck_assert_int_eq(hamid_grpc_code_parse("99", 2), 99);
    ck_assert_int_eq(hamid_grpc_code_parse("", 0), -1);
    ck_assert_int_eq(hamid_grpc_code_parse("-1", 2), -1);
    ck_assert_int_eq(hamid_grpc_code_parse("1234567890", 10), -1);
    ck_assert_str_eq(hamid_grpc_code_name(HAMID_GRPC_UNAVAILABLE), "UNAVAILABLE");
    ck_assert_str_eq(hamid_grpc_code_name(99), "UNKNOWN");
    ck_assert_str_eq(hamid_grpc_code_name(-1), "UNKNOWN");
}
END_TEST

struct messages {
    size_t count, lengths[8];
    unsigned char firsts[8];
    int answer;
};

static int came(void *data, const uint8_t *message, size_t length)
{
    struct messages *messages = data;

    messages->lengths[messages->count] = length;
    messages->firsts[messages->count] = length > 0 ? message[0] : 0;
    messages->count++;
    return messages->answer;
}

START_TEST(messages_come_out_whole_however_the_bytes_are_cut)
{
    static const uint8_t bytes[] = "\0\0\0\0\x03"
                                   "abc"
                                   "\0\0\0\0\0"
                                   "\0\0\0\0\x01"
                                   "z";
    const char *text = NULL;

    for (size_t piece = 1; piece < sizeof(bytes); piece++) {
        struct hamid_grpc_inbox inbox = {.message_max = 3};
        struct messages messages = {0};

        for (size_t at = 0; at < sizeof(bytes) - 1; at += piece) {
            size_t length =
                sizeof(bytes) - 1 - at < piece ? sizeof(bytes) - 1 - at : piece;

            ck_assert_int_eq(
                hamid_grpc_inbox_take(&inbox, bytes + at, length, came, &messages, &text),
                0);
        }
        ck_assert_uint_eq(messages.count, 3);
        ck_assert_uint_eq(messages.lengths[0], 3);
        ck_assert_int_eq(messages.firsts[0], 'a');
        ck_assert_uint_eq(messages.lengths[1], 0);
        ck_assert_int_eq(messages.firsts[2], 'z');
        ck_assert(!hamid_grpc_inbox_is_torn(&inbox));
        hamid_grpc_inbox_done(&inbox);
    }
}
END_TEST

START_TEST(a_length_that_is_only_announced_costs_no_memory)
{
    struct hamid_grpc_inbox inbox = {.message_max = SIZE_MAX};
    struct messages messages = {0};
    const char *text = NULL;

    ck_assert_int_eq(hamid_grpc_inbox_take(&inbox,
                                           (const uint8_t *)"\0\xff\xff\xff\xff"
                                                            "ab",
                                           7, came, &messages, &text),
                     0);
    ck_assert_uint_le(inbox.capacity, 4096);
    ck_assert(hamid_grpc_inbox_is_torn(&inbox));
    hamid_grpc_inbox_done(&inbox);
    inbox.message_max = 100;
    ck_assert_int_eq(hamid_grpc_inbox_take(&inbox, (const uint8_t *)"\0\0\0\0\x65", 5,
                                           came, &messages, &text),
                     HAMID_GRPC_RESOURCE_EXHAUSTED);
    hamid_grpc_inbox_done(&inbox);
    ck_assert_uint_eq(messages.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grpc-pure");
    TCase *tests = tcase_create("pure");

    tcase_add_test(tests, a_text_survives_its_encoding_and_broken_escapes_stay);
    tcase_add_test(tests, timeouts_are_read_in_each_unit_and_written_so_that_they_fit);
    tcase_add_test(tests, types_and_codes_are_told_apart);
    tcase_add_test(tests, messages_come_out_whole_however_the_bytes_are_cut);
    tcase_add_test(tests, a_length_that_is_only_announced_costs_no_memory);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
