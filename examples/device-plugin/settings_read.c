/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a devices file, by libyaml's document tree. The first thing that is wrong ends
 * it, with its line; after that every function only returns. An unknown key is wrong, for
 * it is most often a known one misspelt.
 */
#include "settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <yaml.h>

#define FILE_MAX (8 << 20)

#define NVIDIA_RESOURCE "nvidia.com/gpu"
#define NVIDIA_TO_ALLOCATE "hami.io/vgpu-devices-to-allocate"
#define NVIDIA_REGISTER "hami.io/node-nvidia-register"

struct reader {
    const char *path;
    yaml_document_t document;
    char *error;
    size_t error_size;
    bool is_wrong;
};

/* A list of mappings under a key, each of which becomes an entry of an array. */
struct list_form {
    const char *key;
    size_t entry_size, maximum;
    void (*read)(struct reader *reader, yaml_node_t *node, void *entry);
};

static void wrong(struct reader *reader, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void wrong(struct reader *reader, const yaml_node_t *node, const char *format, ...)
{
    va_list arguments;
    char text[320];

    if (reader->is_wrong) {
        return;
    }
    reader->is_wrong = true;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)snprintf(reader->error, reader->error_size, "%.200s:%zu: %s", reader->path,
                   node != NULL ? node->start_mark.line + 1 : 1, text);
}

/* ---- values ------------------------------------------------------------------------ */

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

/* NULL where the mapping has no such key. */
static yaml_node_t *find(struct reader *reader, yaml_node_t *mapping, const char *key)
{
    yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;

    for (; pair < mapping->data.mapping.pairs.top; pair++) {
        yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);

        if (name->type == YAML_SCALAR_NODE && strcmp(text_of(name), key) == 0) {
            return yaml_document_get_node(&reader->document, pair->value);
        }
    }
    return NULL;
}

/* Is it a mapping whose keys are all known, each given once? */
static bool check_mapping(struct reader *reader, yaml_node_t *node,
                          const char *const *known)
{
    if (node->type != YAML_MAPPING_NODE) {
        wrong(reader, node, "a list of names and values is expected here");
        return false;
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);
        size_t i = 0;

        if (name->type != YAML_SCALAR_NODE) {
            wrong(reader, name, "a name is expected here");
            return false;
        }
        while (known[i] != NULL && strcmp(known[i], text_of(name)) != 0) {
            i++;
        }
        if (known[i] == NULL) {
            wrong(reader, name, "'%.64s' is not known here", text_of(name));
        } else if (find(reader, node, known[i]) !=
                   yaml_document_get_node(&reader->document, pair->value)) {
            wrong(reader, name, "'%.64s' is given twice", text_of(name));
        }
    }
    return !reader->is_wrong;
}

/* A copy of a text; NULL where it is missing or something is wrong. */
static char *read_text(struct reader *reader, yaml_node_t *mapping, const char *key,
                       const char *otherwise)
{
    yaml_node_t *node = find(reader, mapping, key);
    char *copy;

    if (reader->is_wrong || (node == NULL && otherwise == NULL)) {
        return NULL;
    }
    if (node != NULL && (node->type != YAML_SCALAR_NODE || *text_of(node) == '\0' ||
                         strlen(text_of(node)) != node->data.scalar.length)) {
        wrong(reader, node, "%s: a text is expected", key);
        return NULL;
    }
    copy = strdup(node != NULL ? text_of(node) : otherwise);
    if (copy == NULL) {
        wrong(reader, node, "out of memory");
    }
    return copy;
}

static char *read_needed(struct reader *reader, yaml_node_t *mapping, const char *key)
{
    char *text = read_text(reader, mapping, key, NULL);

    if (text == NULL) {
        wrong(reader, mapping, "'%s' is missing", key);
    }
    return text;
}

static uint32_t read_number(struct reader *reader, yaml_node_t *mapping, const char *key,
                            uint32_t otherwise, uint32_t maximum)
{
    yaml_node_t *node = find(reader, mapping, key);
    char *end = NULL;
    unsigned long value;

    if (node == NULL || reader->is_wrong) {
        return otherwise;
    }
    value =
        node->type == YAML_SCALAR_NODE && *text_of(node) >= '0' && *text_of(node) <= '9'
            ? strtoul(text_of(node), &end, 10)
            : 0;
    if (end == NULL || *end != '\0' || value > maximum) {
        wrong(reader, node, "%s: a whole number from 0 to %u is expected", key,
              (unsigned)maximum);
        return otherwise;
    }
    return (uint32_t)value;
}

static bool read_flag(struct reader *reader, yaml_node_t *mapping, const char *key)
{
    yaml_node_t *node = find(reader, mapping, key);

    if (node == NULL || reader->is_wrong) {
        return false;
    }
    if (node->type != YAML_SCALAR_NODE ||
        (strcmp(text_of(node), "true") != 0 && strcmp(text_of(node), "false") != 0)) {
        wrong(reader, node, "%s: neither true nor false", key);
        return false;
    }
    return text_of(node)[0] == 't';
}

/* A new array; NULL where there is no such list, or something is wrong with it. */
static void *read_list(struct reader *reader, yaml_node_t *mapping,
                       const struct list_form *form, size_t *ret_count)
{
    yaml_node_t *node = find(reader, mapping, form->key);
    char *entries;
    size_t count;

    *ret_count = 0;
    if (node == NULL || reader->is_wrong) {
        return NULL;
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        wrong(reader, node, "%s: a list is expected", form->key);
        return NULL;
    }
    count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (count > form->maximum) {
        wrong(reader, node, "%s: more than %zu entries", form->key, form->maximum);
        return NULL;
    }
    entries = calloc(count + 1, form->entry_size);
    if (entries == NULL) {
        wrong(reader, node, "out of memory");
        return NULL;
    }
    *ret_count = count;
    for (size_t i = 0; i < count && !reader->is_wrong; i++) {
        form->read(
            reader,
            yaml_document_get_node(&reader->document, node->data.sequence.items.start[i]),
            entries + i * form->entry_size);
    }
    return entries;
}

/* ---- what a container gets --------------------------------------------------------- */

static void read_character_device(struct reader *reader, yaml_node_t *node, void *entry)
{
    static const char *const known[] = {"host", "container", "permissions", NULL};
    struct plugin_character_device *device = entry;

    if (check_mapping(reader, node, known)) {
        device->host = read_needed(reader, node, "host");
        device->container = read_text(reader, node, "container", device->host);
        device->permissions = read_text(reader, node, "permissions", "rw");
    }
}

static void read_mount(struct reader *reader, yaml_node_t *node, void *entry)
{
    static const char *const known[] = {"host", "container", "read-only", NULL};
    struct plugin_mount *mount = entry;

    if (check_mapping(reader, node, known)) {
        mount->host = read_needed(reader, node, "host");
        mount->container = read_text(reader, node, "container", mount->host);
        mount->is_read_only = read_flag(reader, node, "read-only");
    }
}

static void read_environment(struct reader *reader, yaml_node_t *mapping,
                             struct plugin_gifts *gifts)
{
    yaml_node_t *node = find(reader, mapping, "environment");
    size_t count;

    if (node == NULL || reader->is_wrong) {
        return;
    }
    if (node->type != YAML_MAPPING_NODE) {
        wrong(reader, node, "environment: names and values are expected");
        return;
    }
    count = (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
    gifts->environment = calloc(count + 1, sizeof(*gifts->environment));
    if (count > PLUGIN_LIST_MAX || gifts->environment == NULL) {
        wrong(reader, node, "environment: more than %d entries", PLUGIN_LIST_MAX);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        yaml_node_pair_t *pair = &node->data.mapping.pairs.start[i];
        yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);
        yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);

        if (name->type != YAML_SCALAR_NODE || value->type != YAML_SCALAR_NODE) {
            wrong(reader, name, "environment: a name and a text are expected");
            return;
        }
        gifts->environment_count = i + 1;
        gifts->environment[i].name = strdup(text_of(name));
        gifts->environment[i].value = strdup(text_of(value));
        if (gifts->environment[i].name == NULL || gifts->environment[i].value == NULL) {
            wrong(reader, name, "out of memory");
        }
    }
}

static const struct list_form character_devices = {
    "character-devices", sizeof(struct plugin_character_device), PLUGIN_LIST_MAX,
    read_character_device};
static const struct list_form mounts = {"mounts", sizeof(struct plugin_mount),
                                        PLUGIN_LIST_MAX, read_mount};

static void read_gifts(struct reader *reader, yaml_node_t *mapping,
                       struct plugin_gifts *gifts)
{
    read_environment(reader, mapping, gifts);
    gifts->character_devices =
        read_list(reader, mapping, &character_devices, &gifts->character_device_count);
    gifts->mounts = read_list(reader, mapping, &mounts, &gifts->mount_count);
}

/* ---- devices ----------------------------------------------------------------------- */

static void read_device(struct reader *reader, yaml_node_t *node, void *entry)
{
    static const char *const known[] = {"uuid",        "type",        "shares",
                                        "memory-mib",  "cores",       "numa",
                                        "health-file", "environment", "character-devices",
                                        "mounts",      NULL};
    struct plugin_device *device = entry;

    if (!check_mapping(reader, node, known)) {
        return;
    }
    device->uuid = read_needed(reader, node, "uuid");
    device->type = read_text(reader, node, "type", "NVIDIA");
    device->shares = read_number(reader, node, "shares", 1, PLUGIN_SHARES_MAX);
    device->memory_mib = read_number(reader, node, "memory-mib", 0, INT32_MAX);
    device->cores = read_number(reader, node, "cores", 100, 100);
    device->numa = find(reader, node, "numa") != NULL
                       ? (int32_t)read_number(reader, node, "numa", 0, 1024)
                       : PLUGIN_NO_NUMA;
    device->health_file = read_text(reader, node, "health-file", NULL);
    device->is_healthy = true;
    read_gifts(reader, node, &device->gifts);
    if (reader->is_wrong) {
        return;
    }
    if (device->shares == 0) {
        wrong(reader, node, "shares: a number from 1 to %d is expected",
              PLUGIN_SHARES_MAX);
    } else if (strpbrk(device->uuid, ",:;") != NULL || strlen(device->uuid) > 255) {
        wrong(reader, node, "uuid: up to 255 characters, none of them , : ;");
    } else if (strpbrk(device->type, ",:;") != NULL) {
        wrong(reader, node, "type: none of , : ; may be in it");
    }
}

static const struct list_form devices = {"devices", sizeof(struct plugin_device),
                                         PLUGIN_DEVICES_MAX, read_device};

static int compare(const void *a, const void *b)
{
    return strcmp((*(struct plugin_device *const *)a)->uuid,
                  (*(struct plugin_device *const *)b)->uuid);
}

static void sort_devices(struct reader *reader, struct plugin_settings *settings)
{
    settings->by_uuid = calloc(settings->device_count + 1, sizeof(*settings->by_uuid));
    if (settings->by_uuid == NULL) {
        wrong(reader, NULL, "out of memory");
        return;
    }
    for (size_t i = 0; i < settings->device_count; i++) {
        settings->by_uuid[i] = &settings->devices[i];
    }
    qsort(settings->by_uuid, settings->device_count, sizeof(*settings->by_uuid), compare);
    for (size_t i = 1; i < settings->device_count; i++) {
        if (compare(&settings->by_uuid[i - 1], &settings->by_uuid[i]) == 0) {
            wrong(reader, NULL, "uuid '%.100s' is there twice",
                  settings->by_uuid[i]->uuid);
        }
    }
}

/* ---- the file as a whole ----------------------------------------------------------- */

static void read_vendor(struct reader *reader, yaml_node_t *node, void *entry)
{
    static const char *const known[] = {"resource", "to-allocate", NULL};
    struct hami_handshake_vendor *vendor = entry;

    if (check_mapping(reader, node, known)) {
        vendor->resource = read_needed(reader, node, "resource");
        vendor->to_allocate_key = read_needed(reader, node, "to-allocate");
    }
}

static const struct list_form other_vendors = {"other-vendors",
                                               sizeof(struct hami_handshake_vendor),
                                               PLUGIN_LIST_MAX - 1, read_vendor};

static void read_vendors(struct reader *reader, yaml_node_t *root,
                         struct plugin_settings *settings)
{
    size_t count = 0;
    struct hami_handshake_vendor *others =
        read_list(reader, root, &other_vendors, &count);

    settings->vendors[0].resource = settings->resource;
    settings->vendors[0].to_allocate_key = settings->to_allocate_key;
    settings->vendor_count = 1 + count;
    for (size_t i = 0; i < count; i++) {
        settings->vendors[i + 1] = others[i];
    }
    free(others);
}

/* HAMi's names for NVIDIA need not be said; the others' must. */
static void read_annotations(struct reader *reader, yaml_node_t *root,
                             struct plugin_settings *settings)
{
    static const char *const known[] = {"to-allocate", "register", "handshake",
                                        "format",      "mode",     NULL};
    bool is_nvidia =
        settings->resource != NULL && strcmp(settings->resource, NVIDIA_RESOURCE) == 0;
    yaml_node_t *node = find(reader, root, "annotations");
    yaml_node_t *from = node != NULL ? node : root;
    char *format;

    if (reader->is_wrong || (node != NULL && !check_mapping(reader, node, known))) {
        return;
    }
    settings->to_allocate_key =
        read_text(reader, from, "to-allocate", is_nvidia ? NVIDIA_TO_ALLOCATE : NULL);
    if (settings->to_allocate_key == NULL) {
        wrong(reader, from, "annotations: 'to-allocate' is missing");
    }
    settings->register_key =
        read_text(reader, from, "register", is_nvidia ? NVIDIA_REGISTER : NULL);
    settings->handshake_key = read_text(reader, from, "handshake", NULL);
    settings->mode = read_text(reader, from, "mode", "hami-core");
    format = read_text(reader, from, "format", "json");
    settings->is_register_json = format != NULL && strcmp(format, "json") == 0;
    if (format != NULL && !settings->is_register_json && strcmp(format, "records") != 0) {
        wrong(reader, from, "format: neither json nor records");
    }
    free(format);
}

static void read_root(struct reader *reader, yaml_node_t *root,
                      struct plugin_settings *settings)
{
    static const char *const known[] = {"resource",  "annotations", "other-vendors",
                                        "pre-start", "environment", "character-devices",
                                        "mounts",    "devices",     NULL};

    if (!check_mapping(reader, root, known)) {
        return;
    }
    settings->resource = read_text(reader, root, "resource", NVIDIA_RESOURCE);
    if (settings->resource != NULL && strchr(settings->resource, '/') == NULL) {
        wrong(reader, root, "resource: a name such as nvidia.com/gpu is expected");
    }
    read_annotations(reader, root, settings);
    read_vendors(reader, root, settings);
    settings->has_pre_start = read_flag(reader, root, "pre-start");
    read_gifts(reader, root, &settings->gifts);
    settings->devices = read_list(reader, root, &devices, &settings->device_count);
    if (!reader->is_wrong && settings->device_count == 0) {
        wrong(reader, root, "devices: none is given");
    }
    if (!reader->is_wrong) {
        sort_devices(reader, settings);
    }
}

static void parse(struct reader *reader, FILE *file, struct plugin_settings *settings)
{
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser)) {
        wrong(reader, NULL, "out of memory");
        return;
    }
    yaml_parser_set_input_file(&parser, file);
    if (!yaml_parser_load(&parser, &reader->document)) {
        yaml_node_t at = {.start_mark = parser.problem_mark};

        wrong(reader, &at, "%.200s", parser.problem != NULL ? parser.problem : "no YAML");
    } else {
        yaml_node_t *root = yaml_document_get_root_node(&reader->document);

        if (root == NULL) {
            wrong(reader, NULL, "the file is empty");
        } else {
            read_root(reader, root, settings);
        }
        yaml_document_delete(&reader->document);
    }
    yaml_parser_delete(&parser);
}

bool plugin_settings_read(const char *path, struct plugin_settings *ret, char *error,
                          size_t error_size)
{
    struct reader reader = {.path = path, .error = error, .error_size = error_size};
    struct stat status;
    FILE *file = fopen(path, "re");

    memset(ret, 0, sizeof(*ret));
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        wrong(&reader, NULL, "can't be read");
    } else if (status.st_size > FILE_MAX) {
        wrong(&reader, NULL, "longer than %d bytes", FILE_MAX);
    } else {
        parse(&reader, file, ret);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (reader.is_wrong) {
        plugin_settings_done(ret);
    }
    return !reader.is_wrong;
}
