/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the example plugin by themselves: the devices file, ids, placeholders, the
 * text of the register annotation.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "node_register.h"
#include "settings.h"
#include "suite.h"

static struct plugin_settings settings;
static char error[640];

/* Reads a text as a devices file. */
static bool read_text(const char *text)
{
    char path[] = "/tmp/hami-parts-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    bool is_right = plugin_settings_read(path, &settings, error, sizeof(error));
    unlink(path);
    return is_right;
}

START_TEST(what_the_file_leaves_out_has_a_default)
{
    ck_assert_msg(read_text("devices: [{uuid: GPU-1}]\n"), "%s", error);
    ck_assert_str_eq(settings.resource, "nvidia.com/gpu");
    ck_assert_str_eq(settings.to_allocate_key, "hami.io/vgpu-devices-to-allocate");
    ck_assert_str_eq(settings.register_key, "hami.io/node-nvidia-register");
    ck_assert_ptr_null(settings.handshake_key);
    ck_assert(settings.is_register_json);
    ck_assert_uint_eq(settings.vendor_count, 1);
    ck_assert_uint_eq(settings.devices[0].shares, 1);
    ck_assert_uint_eq(settings.devices[0].cores, 100);
    ck_assert_int_eq(settings.devices[0].numa, PLUGIN_NO_NUMA);
    ck_assert(settings.devices[0].is_healthy);
    plugin_settings_done(&settings);
}
END_TEST

START_TEST(what_is_wrong_in_the_file_is_told_with_its_line)
{
    ck_assert(!read_text("devices:\n  - uuid: GPU-1\n  - uuid: GPU-2\n    share: 3\n"));
    ck_assert_msg(strstr(error, ":4: 'share' is not known here") != NULL, "%s", error);
    ck_assert(!read_text("devices:\n  - uuid: GPU-1\n    cores: 101\n"));
    ck_assert_msg(strstr(error, ":3: cores: a whole number from 0 to 100") != NULL, "%s",
                  error);
    ck_assert(!read_text("devices: &a\n  - *a\n"));
    ck_assert(!plugin_settings_read("/nowhere/at/all", &settings, error, sizeof(error)));
    ck_assert_msg(strstr(error, "/nowhere/at/all") != NULL, "%s", error);
}
END_TEST

START_TEST(an_id_is_a_share_of_a_device_and_nothing_else_is)
{
    static const char *const bad[] = {
        "GPU-1",    "GPU-1-",   "GPU-1-3",
        "GPU-1-0x", "GPU-2-0",  "-0",
        "",         "GPU-1--1", "GPU-1-99999999999999999999"};
    char id[PLUGIN_ID_MAX];

    ck_assert(read_text("devices: [{uuid: GPU-1, shares: 3}, {uuid: A}]\n"));
    plugin_id_format(&settings.devices[0], 2, id);
    ck_assert_str_eq(id, "GPU-1-2");
    ck_assert_ptr_eq(plugin_id_find(&settings, id), &settings.devices[0]);
    ck_assert_ptr_eq(plugin_id_find(&settings, "A-0"), &settings.devices[1]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(plugin_id_find(&settings, bad[i]) == NULL, "%s", bad[i]);
    }
    plugin_settings_done(&settings);
}
END_TEST

START_TEST(placeholders_are_filled_in_and_other_braces_stay)
{
    static const struct {
        const char *text;
        int index;
        const char *filled;
    } texts[] = {{"{uuids}", -1, "B,A"},
                 {"{memory-mib}|{cores}|{count}", -1, "20,10|2,1|2"},
                 {"{namespace}/{pod}/{container}@{fence}", -1, "ns/p/c@7"},
                 {"{uuid} {index}", -1, "{uuid} {index}"},
                 {"{uuid} {index} {memory-mib} {cores}", 1, "A 1 10 1"},
                 {"{uuids} of {uuid}", 0, "B,A of B"},
                 {"{\"a\": {b}} {", -1, "{\"a\": {b}} {"},
                 {"", -1, ""}};
    const struct plugin_receiver receiver = {"ns", "p", "c", 7};

    ck_assert(read_text("devices: [{uuid: A}, {uuid: B}]\n"));
    const struct plugin_share shares[] = {{&settings.devices[1], 20, 2},
                                          {&settings.devices[0], 10, 1}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *filled =
            plugin_answer_fill(texts[i].text, &receiver, shares, 2, texts[i].index);

        ck_assert_str_eq(filled, texts[i].filled);
        free(filled);
    }
    plugin_settings_done(&settings);
}
END_TEST

START_TEST(a_node_of_two_devices_and_a_mount_of_both_are_said_once)
{
    static const char text[] =
        "character-devices: [{host: /dev/ctl}]\n"
        "devices:\n"
        "  - {uuid: A, character-devices: [{host: /dev/a}, {host: /dev/both}],\n"
        "     mounts: [{host: /m, read-only: true}]}\n"
        "  - {uuid: B, character-devices: [{host: /dev/b}, {host: /dev/both}],\n"
        "     mounts: [{host: /m}]}\n";
    const struct plugin_receiver receiver = {"ns", "p", "c", 7};

    ck_assert_msg(read_text(text), "%s", error);
    const struct plugin_share shares[] = {{&settings.devices[0], 0, 0},
                                          {&settings.devices[1], 0, 0}};
    V1beta1__ContainerAllocateResponse *answer =
        plugin_answer_new(&settings, &receiver, shares, 2);
    ck_assert_ptr_nonnull(answer);
    ck_assert_uint_eq(answer->n_devices, 4);
    ck_assert_str_eq(answer->devices[0]->container_path, "/dev/ctl");
    ck_assert_str_eq(answer->devices[0]->permissions, "rw");
    ck_assert_str_eq(answer->devices[3]->host_path, "/dev/b");
    ck_assert_uint_eq(answer->n_mounts, 1);
    ck_assert(answer->mounts[0]->read_only);
    protobuf_c_message_free_unpacked(&answer->base, NULL);
    plugin_settings_done(&settings);
}
END_TEST

START_TEST(the_older_form_of_the_register_has_nine_fields_a_device)
{
    static const char text[] =
        "resource: huawei.com/Ascend910\n"
        "annotations: {to-allocate: hami.io/Ascend910-devices-to-allocate,\n"
        "              register: hami.io/node-register-Ascend910, format: records}\n"
        "devices: [{uuid: A, type: Ascend910, shares: 4, memory-mib: 65536, numa: 1},\n"
        "          {uuid: B, type: Ascend910, memory-mib: 1, cores: 50}]\n";

    ck_assert_msg(read_text(text), "%s", error);
    settings.devices[1].is_healthy = false;
    char *value = node_register_text(&settings);
    ck_assert_str_eq(value, "A,4,65536,100,Ascend910,1,true,0,hami-core:"
                            "B,1,1,50,Ascend910,0,false,1,hami-core:");
    free(value);
    plugin_settings_done(&settings);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device-plugin-parts");
    TCase *tests = tcase_create("parts");

    tcase_add_test(tests, what_the_file_leaves_out_has_a_default);
    tcase_add_test(tests, what_is_wrong_in_the_file_is_told_with_its_line);
    tcase_add_test(tests, an_id_is_a_share_of_a_device_and_nothing_else_is);
    tcase_add_test(tests, placeholders_are_filled_in_and_other_braces_stay);
    tcase_add_test(tests, a_node_of_two_devices_and_a_mount_of_both_are_said_once);
    tcase_add_test(tests, the_older_form_of_the_register_has_nine_fields_a_device);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
