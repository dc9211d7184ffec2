/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices by their uuid and by the kubelet's ids.
 */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *key, const void *element)
{
    return strcmp(key, (*(struct plugin_device *const *)element)->uuid);
}

struct plugin_device *plugin_device_find(const struct plugin_settings *settings,
                                         const char *uuid)
{
    struct plugin_device *const *found =
        bsearch(uuid, settings->by_uuid, settings->device_count,
                sizeof(struct plugin_device *), compare);

    return found != NULL ? *found : NULL;
}

void plugin_id_format(const struct plugin_device *device, uint32_t share,
                      char id[PLUGIN_ID_MAX])
{
    (void)snprintf(id, PLUGIN_ID_MAX, "%.300s-%u", device->uuid, (unsigned)share);
}

struct plugin_device *plugin_id_find(const struct plugin_settings *settings,
                                     const char *id)
{
    char uuid[PLUGIN_ID_MAX];
    char *end = NULL;
    const char *dash = strrchr(id, '-');

    if (dash == NULL || dash[1] < '0' || dash[1] > '9' ||
        (size_t)(dash - id) >= sizeof(uuid)) {
        return NULL;
    }
    memcpy(uuid, id, (size_t)(dash - id));
    uuid[dash - id] = '\0';
    unsigned long share = strtoul(dash + 1, &end, 10);
    struct plugin_device *device = plugin_device_find(settings, uuid);
    return device != NULL && *end == '\0' && share < device->shares ? device : NULL;
}

static void gifts_done(struct plugin_gifts *gifts)
{
    for (size_t i = 0; i < gifts->environment_count; i++) {
        free(gifts->environment[i].name);
        free(gifts->environment[i].value);
    }
    for (size_t i = 0; i < gifts->character_device_count; i++) {
        free(gifts->character_devices[i].host);
        free(gifts->character_devices[i].container);
        free(gifts->character_devices[i].permissions);
    }
    for (size_t i = 0; i < gifts->mount_count; i++) {
        free(gifts->mounts[i].host);
        free(gifts->mounts[i].container);
    }
    free(gifts->environment);
    free(gifts->character_devices);
    free(gifts->mounts);
}

void plugin_settings_done(struct plugin_settings *settings)
{
    for (size_t i = 0; i < settings->device_count; i++) {
        free(settings->devices[i].uuid);
        free(settings->devices[i].type);
        free(settings->devices[i].health_file);
        gifts_done(&settings->devices[i].gifts);
    }
    free(settings->devices);
    free(settings->by_uuid);
    gifts_done(&settings->gifts);
    /* The first vendor is ours: its texts are those above. */
    for (size_t i = 1; i < settings->vendor_count; i++) {
        free((char *)settings->vendors[i].resource);
        free((char *)settings->vendors[i].to_allocate_key);
    }
    free(settings->resource);
    free(settings->to_allocate_key);
    free(settings->register_key);
    free(settings->handshake_key);
    free(settings->mode);
    memset(settings, 0, sizeof(*settings));
}
