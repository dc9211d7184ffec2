/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device strings and bind phases, as tables: what is read, what is refused, what is
 * written back.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

/* Everything that the reading functions tell, as one text: "[a|NVIDIA|1|0 b|..][]". */
static const char *render(const hami_devices *devices, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < hami_devices_container_count(devices); i++) {
        length += (size_t)snprintf(text + length, size - length, "[");
        for (size_t j = 0; j < hami_devices_count(devices, i); j++) {
            const struct hami_device *device = hami_devices_get(devices, i, j);

            length += (size_t)snprintf(text + length, size - length, "%s%s|%s|%d|%d",
                                       j > 0 ? " " : "", device->uuid, device->type,
                                       device->memory_mib, device->core_percent);
        }
        length += (size_t)snprintf(text + length, size - length, "]");
    }
    return text;
}

static char *written(const hami_devices *devices)
{
    size_t length;
    char *text;

    ck_assert_int_eq(hami_devices_format(devices, NULL, 0, &length), 0);
    text = malloc(length + 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(hami_devices_format(devices, text, length + 1, NULL), 0);
    ck_assert_uint_eq(strlen(text), length);
    return text;
}

static const struct {
    const char *text;
    const char *expect;  /* as rendered */
    const char *written; /* NULL: the same again */
} readable[] = {
    {"", "", NULL},
    {";", "", NULL},
    {";;;;", "", NULL},
    {"u,NVIDIA,1,0:;", "[u|NVIDIA|1|0]", NULL},
    {"GPU-0fc3,NVIDIA,3000,0:;;", "[GPU-0fc3|NVIDIA|3000|0]", NULL},
    {"u,NVIDIA,1,0:v,NVIDIA,2,50:;", "[u|NVIDIA|1|0 v|NVIDIA|2|50]", NULL},
    {"u,NVIDIA,1,0:;v,NVIDIA,2,50:;", "[u|NVIDIA|1|0][v|NVIDIA|2|50]", NULL},
    {";;u,NVIDIA,1,0:;;", "[][][u|NVIDIA|1|0]", NULL}, /* case 4.09 */
    {"u,NVIDIA,1,0:;;;;;;;;;", "[u|NVIDIA|1|0]", NULL},
    /* Without the last semicolon, or the last colon: old writers, and people. */
    {"u,NVIDIA,1,0:", "[u|NVIDIA|1|0]", NULL},
    {"u,NVIDIA,1,0", "[u|NVIDIA|1|0]", NULL},
    {"u,NVIDIA,1,0;v,DCU,1,0;", "[u|NVIDIA|1|0][v|DCU|1|0]", NULL},
    /* Further fields are passed over and kept. */
    {"u,NVIDIA,1,0,extra,more:;", "[u|NVIDIA|1|0]", NULL},
    /* Segments without a comma are passed over, as HAMi does. */
    {"junk:;", "[]", NULL},
    {"junk:u,NVIDIA,1,0:;", "[u|NVIDIA|1|0]", NULL},
    {":::u,NVIDIA,1,0:;", "[u|NVIDIA|1|0]", NULL},
    {":;", "[]", NULL},
    /* Numbers: 32 bits, sign allowed, leading zeros too. */
    {"u,t,2147483647,-2147483648:;", "[u|t|2147483647|-2147483648]", NULL},
    {"u,t,+7,-0:;", "[u|t|7|0]", NULL},
    {"u,t,007,0:;", "[u|t|7|0]", NULL},
    /* An empty type is odd, but it is a device. */
    {"u,,1,0:;", "[u||1|0]", NULL},
    {"GPU-\xc3\xa9,NVIDIA,1,0:;", "[GPU-\xc3\xa9|NVIDIA|1|0]", NULL},
};

START_TEST(string_is_read_and_written_back_unchanged)
{
    char text[512];
    hami_devices *devices;
    char *again;

    ck_assert_msg(hami_devices_parse(readable[_i].text, &devices) == 0, "%s",
                  readable[_i].text);
    ck_assert_str_eq(render(devices, text, sizeof(text)), readable[_i].expect);
    again = written(devices);
    ck_assert_str_eq(again,
                     readable[_i].written ? readable[_i].written : readable[_i].text);
    free(again);
    ck_assert_ptr_null(hami_devices_free(devices));
}
END_TEST

static const char *const senseless[] = {
    "u,NVIDIA:;",
    "u,NVIDIA,1:;",
    ",:;",
    ",NVIDIA,1,0:;",
    "u,NVIDIA,,0:;",
    "u,NVIDIA,1,:;",
    "u,NVIDIA,x,0:;",
    "u,NVIDIA,1,0x10:;",
    "u,NVIDIA,1.5,0:;",
    "u,NVIDIA, 1,0:;",
    "u,NVIDIA,1 ,0:;",
    "u,NVIDIA,-,0:;",
    "u,NVIDIA,+,0:;",
    "u,NVIDIA,--1,0:;",
    "u,NVIDIA,2147483648,0:;",
    "u,NVIDIA,-2147483649,0:;",
    "u,NVIDIA,4294967296,0:;",
    "u,NVIDIA,18446744073709551617,0:;",
    "u,NVIDIA,99999999999999999999999999999999,0:;",
    "u,NVIDIA,1,0:;v,NVIDIA:;",
};

START_TEST(senseless_device_is_refused)
{
    hami_devices *devices = (hami_devices *)&devices;

    ck_assert_msg(hami_devices_parse(senseless[_i], &devices) == HAMI_E_PROTO, "%s",
                  senseless[_i]);
    ck_assert_ptr_eq(devices, (hami_devices *)&devices);
}
END_TEST

static const struct {
    const char *text;
    size_t container;
    const char *expect;
    bool is_empty;
} erasable[] = {
    {"u,N,1,0:;", 0, ";", true},
    {"u,N,1,0:;;", 0, ";;", true},
    {"u,N,1,0:;v,N,1,0:;", 0, ";v,N,1,0:;", false},
    {"u,N,1,0:;v,N,1,0:;", 1, "u,N,1,0:;;", false},
    {";;u,N,1,0:;;", 2, ";;;;", true},
    {";;u,N,1,0:;;", 0, ";;u,N,1,0:;;", false}, /* nothing in it */
    {"u,N,1,0", 0, "", true},
    {"u,N,1,0,extra:;v,N,1,0,extra:w,N,1,0:;", 0, ";v,N,1,0,extra:w,N,1,0:;", false},
};

START_TEST(erasing_one_container_changes_nothing_else)
{
    hami_devices *devices;
    char *text;

    ck_assert_int_eq(hami_devices_parse(erasable[_i].text, &devices), 0);
    ck_assert_int_eq(hami_devices_clear(devices, erasable[_i].container), 0);
    text = written(devices);
    ck_assert_str_eq(text, erasable[_i].expect);
    ck_assert(hami_devices_is_empty(devices) == erasable[_i].is_empty);
    ck_assert_uint_eq(hami_devices_count(devices, erasable[_i].container), 0);
    ck_assert_ptr_null(hami_devices_get(devices, erasable[_i].container, 0));
    free(text);
    hami_devices_free(devices);
}
END_TEST

START_TEST(case_4_11_ten_round_trips_add_no_semicolon)
{
    char *text = strdup("u,N,1,0:;v,N,1,0:;;;");

    for (int i = 0; i < 10; i++) {
        hami_devices *devices;

        ck_assert_int_eq(hami_devices_parse(text, &devices), 0);
        if (hami_devices_count(devices, (size_t)(i % 2)) > 0) {
            ck_assert_int_eq(hami_devices_clear(devices, (size_t)(i % 2)), 0);
        }
        free(text);
        text = written(devices);
        hami_devices_free(devices);
    }
    ck_assert_str_eq(text, ";;;;");
    free(text);
}
END_TEST

START_TEST(string_that_is_too_long_is_refused)
{
    char *text = malloc(HAMI_DEVICES_TEXT_MAX + 2);
    hami_devices *devices;

    memset(text, ';', HAMI_DEVICES_TEXT_MAX + 1);
    text[HAMI_DEVICES_TEXT_MAX + 1] = '\0';
    ck_assert_int_eq(hami_devices_parse(text, &devices), HAMI_E_LIMIT);
    text[HAMI_DEVICES_TEXT_MAX] = '\0';
    ck_assert_int_eq(hami_devices_parse(text, &devices), 0);
    hami_devices_free(devices);
    memset(text, ',', HAMI_DEVICES_TEXT_MAX);
    ck_assert_int_eq(hami_devices_parse(text, &devices), HAMI_E_PROTO);
    memset(text, ':', HAMI_DEVICES_TEXT_MAX);
    ck_assert_int_eq(hami_devices_parse(text, &devices), 0);
    ck_assert_uint_eq(hami_devices_container_count(devices), 1);
    hami_devices_free(devices);
    free(text);
}
END_TEST

START_TEST(more_containers_than_a_pod_can_have_are_refused)
{
    char text[HAMI_DEVICES_CONTAINERS_MAX + 16];
    hami_devices *devices;

    memset(text, ';', HAMI_DEVICES_CONTAINERS_MAX);
    strcpy(text + HAMI_DEVICES_CONTAINERS_MAX, "u,N,1,0:;");
    ck_assert_int_eq(hami_devices_parse(text, &devices), HAMI_E_LIMIT);
    ck_assert_int_eq(hami_devices_parse(text + 1, &devices), 0);
    ck_assert_uint_eq(hami_devices_container_count(devices), HAMI_DEVICES_CONTAINERS_MAX);
    ck_assert_uint_eq(hami_devices_count(devices, HAMI_DEVICES_CONTAINERS_MAX - 1), 1);
    hami_devices_free(devices);
}
END_TEST

START_TEST(densest_string_fits_its_index)
{
    static const char unit[] = "u,,0,0:";
    size_t units = HAMI_DEVICES_TEXT_MAX / (sizeof(unit) - 1);
    char *text = malloc(HAMI_DEVICES_TEXT_MAX + 1);
    hami_devices *devices;

    for (size_t i = 0; i < units; i++) {
        memcpy(text + i * (sizeof(unit) - 1), unit, sizeof(unit));
    }
    ck_assert_int_eq(hami_devices_parse(text, &devices), 0);
    ck_assert_uint_eq(hami_devices_count(devices, 0), units);
    ck_assert_str_eq(hami_devices_get(devices, 0, units - 1)->uuid, "u");
    hami_devices_free(devices);
    free(text);
}
END_TEST

START_TEST(buffer_that_is_too_small_is_not_written)
{
    char buffer[4] = "abc";
    size_t length = 0;
    hami_devices *devices;

    ck_assert_int_eq(hami_devices_parse(";;;;", &devices), 0);
    ck_assert_int_eq(hami_devices_format(devices, buffer, 4, &length), HAMI_E_LIMIT);
    ck_assert_uint_eq(length, 4);
    ck_assert_str_eq(buffer, "abc");
    hami_devices_free(devices);
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    hami_devices *devices;
    char buffer[8];

    ck_assert_int_eq(hami_devices_parse(NULL, &devices), HAMI_E_INVAL);
    ck_assert_int_eq(hami_devices_parse("", NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_devices_format(NULL, buffer, 8, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_devices_clear(NULL, 0), HAMI_E_INVAL);
    ck_assert_ptr_null(hami_devices_free(NULL));
    ck_assert_uint_eq(hami_devices_container_count(NULL), 0);
    ck_assert_uint_eq(hami_devices_count(NULL, 0), 0);
    ck_assert_ptr_null(hami_devices_get(NULL, 0, 0));
    ck_assert(hami_devices_is_empty(NULL));
    ck_assert_int_eq(hami_devices_parse("u,N,1,0:;", &devices), 0);
    ck_assert_int_eq(hami_devices_clear(devices, 1), HAMI_E_INVAL);
    ck_assert_int_eq(hami_devices_format(devices, NULL, 8, NULL), HAMI_E_INVAL);
    ck_assert_ptr_null(hami_devices_get(devices, 0, 1));
    ck_assert_ptr_null(hami_devices_get(devices, 1, 0));
    hami_devices_free(devices);
}
END_TEST

/* Every cut and every changed byte of a string: never a crash, and what is read is
 * written back. */
START_TEST(mangled_strings_are_read_or_refused)
{
    static const char good[] = "u,N,1,0:v,N,22,-3:;;w,N,4,5:;;";
    static const char bytes[] = ";:,0-+x \x01\xff";
    char text[sizeof(good)];
    unsigned refused = 0;

    for (size_t i = 0; i < sizeof(good); i++) {
        for (size_t j = 0; j < sizeof(bytes); j++) {
            hami_devices *devices;
            int code;

            memcpy(text, good, sizeof(good));
            text[i] = bytes[j]; /* the last one cuts */
            text[sizeof(good) - 1] = '\0';
            code = hami_devices_parse(text, &devices);
            ck_assert(code == 0 || code == HAMI_E_PROTO);
            if (code == 0) {
                char *again = written(devices);

                ck_assert_str_eq(again, text);
                free(again);
                hami_devices_free(devices);
            }
            refused += code != 0;
        }
    }
    ck_assert_uint_gt(refused, 50);
}
END_TEST

START_TEST(bind_phases_are_words)
{
    ck_assert_int_eq(hami_bind_phase_parse("allocating"), HAMI_BIND_PHASE_ALLOCATING);
    ck_assert_int_eq(hami_bind_phase_parse("success"), HAMI_BIND_PHASE_SUCCESS);
    ck_assert_int_eq(hami_bind_phase_parse("failed"), HAMI_BIND_PHASE_FAILED);
    ck_assert_int_eq(hami_bind_phase_parse(NULL), HAMI_BIND_PHASE_NONE);
    ck_assert_int_eq(hami_bind_phase_parse(""), HAMI_BIND_PHASE_NONE);
    ck_assert_int_eq(hami_bind_phase_parse("Success"), HAMI_BIND_PHASE_NONE);
    ck_assert_int_eq(hami_bind_phase_parse("success "), HAMI_BIND_PHASE_NONE);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
    Suite *suite = suite_create("device strings");
    TCase *strings = tcase_create("strings");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(strings, string_is_read_and_written_back_unchanged, 0,
                        COUNT(readable));
    tcase_add_loop_test(strings, senseless_device_is_refused, 0, COUNT(senseless));
    tcase_add_loop_test(strings, erasing_one_container_changes_nothing_else, 0,
                        COUNT(erasable));
    tcase_add_test(strings, case_4_11_ten_round_trips_add_no_semicolon);
    tcase_add_test(strings, string_that_is_too_long_is_refused);
    tcase_add_test(strings, more_containers_than_a_pod_can_have_are_refused);
    tcase_add_test(strings, densest_string_fits_its_index);
    tcase_add_test(strings, buffer_that_is_too_small_is_not_written);
    tcase_add_test(strings, wrong_arguments_are_refused);
    tcase_add_test(strings, mangled_strings_are_read_or_refused);
    tcase_add_test(strings, bind_phases_are_words);
    suite_add_tcase(suite, strings);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
