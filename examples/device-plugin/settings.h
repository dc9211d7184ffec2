/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the devices file says: the resource, HAMi's names for it, the devices, and what a
 * container gets. Read once; only the health of a device changes afterwards. Loop's
 * thread.
 */
#ifndef DEVICE_PLUGIN_SETTINGS_H
#define DEVICE_PLUGIN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/kubernetes.h>

#define PLUGIN_DEVICES_MAX 5000
#define PLUGIN_SHARES_MAX 1000
#define PLUGIN_LIST_MAX 64 /* entries of each smaller list */
#define PLUGIN_ID_MAX 320  /* bytes of an id that the kubelet gets, NUL included */
#define PLUGIN_NO_NUMA INT32_MIN

struct plugin_pair {
    char *name, *value;
};

struct plugin_character_device {
    char *host, *container, *permissions;
};

struct plugin_mount {
    char *host, *container;
    bool is_read_only;
};

/* What a container gets: from the file as a whole, or with one device. */
struct plugin_gifts {
    struct plugin_pair *environment;
    size_t environment_count;
    struct plugin_character_device *character_devices;
    size_t character_device_count;
    struct plugin_mount *mounts;
    size_t mount_count;
};

struct plugin_device {
    char *uuid, *type;
    uint32_t shares; /* containers that may have it at a time */
    uint32_t memory_mib, cores;
    int32_t numa; /* PLUGIN_NO_NUMA: none */
    char *health_file;
    struct plugin_gifts gifts;
    bool is_healthy;
};

struct plugin_settings {
    char *resource;
    char *to_allocate_key;
    char *register_key;    /* NULL: nothing is registered */
    char *handshake_key;   /* NULL: none */
    bool is_register_json; /* else records of the older form */
    char *mode;
    bool has_pre_start;
    struct plugin_gifts gifts;
    struct plugin_device *devices;
    size_t device_count;
    struct plugin_device **by_uuid;                        /* sorted */
    struct hami_handshake_vendor vendors[PLUGIN_LIST_MAX]; /* ours first */
    size_t vendor_count;
};

/* Reads a devices file. False, with a line that names file and place. */
bool plugin_settings_read(const char *path, struct plugin_settings *ret, char *error,
                          size_t error_size);

void plugin_settings_done(struct plugin_settings *settings);

/* NULL where there is none. */
struct plugin_device *plugin_device_find(const struct plugin_settings *settings,
                                         const char *uuid);

/* The kubelet's id of one share: the uuid, a dash, the share's number. */
void plugin_id_format(const struct plugin_device *device, uint32_t share,
                      char id[PLUGIN_ID_MAX]);

/* The device of such an id; NULL where it is none of ours. */
struct plugin_device *plugin_id_find(const struct plugin_settings *settings,
                                     const char *id);

#endif
