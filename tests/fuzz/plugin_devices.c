/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example plugin's devices file, and what is made of it: ids, the register
 * annotation, the answer for a container that has every device. A file is read whole or
 * refused with a line that names it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "answer.h"
#include "fuzz.h"
#include "node_register.h"
#include "settings.h"

#define SHARES_MAX 16

static void check_ids(const struct plugin_settings *settings)
{
    char id[PLUGIN_ID_MAX];

    for (size_t i = 0; i < settings->device_count; i++) {
        struct plugin_device *device = &settings->devices[i];

        FUZZ_CHECK(device->shares >= 1 && device->shares <= PLUGIN_SHARES_MAX);
        FUZZ_CHECK(plugin_device_find(settings, device->uuid) == device);
        plugin_id_format(device, device->shares - 1, id);
        FUZZ_CHECK(plugin_id_find(settings, id) == device);
        plugin_id_format(device, device->shares, id);
        FUZZ_CHECK(plugin_id_find(settings, id) == NULL);
    }
}

static void check_answer(const struct plugin_settings *settings)
{
    static const struct plugin_receiver receiver = {"ns", "pod", "container", 7};
    struct plugin_share shares[SHARES_MAX];
    size_t count =
        settings->device_count < SHARES_MAX ? settings->device_count : SHARES_MAX;

    for (size_t i = 0; i < count; i++) {
        shares[i] = (struct plugin_share){&settings->devices[i], 1, 2};
    }
    V1beta1__ContainerAllocateResponse *answer =
        plugin_answer_new(settings, &receiver, shares, count);
    FUZZ_CHECK(answer != NULL);
    for (size_t i = 0; i < answer->n_devices; i++) {
        for (size_t j = 0; j < i; j++) {
            FUZZ_CHECK(strcmp(answer->devices[i]->container_path,
                              answer->devices[j]->container_path) != 0);
        }
    }
    protobuf_c_message_free_unpacked(&answer->base, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plugin_settings settings;
    char path[64], error[640] = "";
    int fd = memfd_create("devices", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (plugin_settings_read(path, &settings, error, sizeof(error))) {
        char *text = node_register_text(&settings);

        FUZZ_CHECK(settings.device_count > 0 && settings.to_allocate_key != NULL);
        /* A text that is no UTF-8 can't be JSON. */
        FUZZ_CHECK(text != NULL || settings.is_register_json);
        free(text);
        check_ids(&settings);
        check_answer(&settings);
        plugin_settings_done(&settings);
    } else {
        FUZZ_CHECK(strncmp(error, path, strlen(path)) == 0);
        FUZZ_CHECK(settings.devices == NULL && settings.resource == NULL);
    }
    (void)close(fd);
    return 0;
}
