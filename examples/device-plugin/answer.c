/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one container gets. Each piece is made in heap memory that protobuf-c frees with
 * the answer. A device node or mount of several devices alike is said once.
 */
#include "answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct filling {
    FILE *out;
    const struct plugin_receiver *receiver;
    const struct plugin_share *shares;
    size_t count;
    int index;
};

/* ---- placeholders ------------------------------------------------------------------ */

static void fill_list(const struct filling *f, char what)
{
    size_t first = f->index >= 0 ? (size_t)f->index : 0;
    size_t end = f->index >= 0 ? first + 1 : f->count;

    for (size_t i = first; i < end; i++) {
        (void)fputs(i > first ? "," : "", f->out);
        if (what == 'u') {
            (void)fputs(f->shares[i].device->uuid, f->out);
        } else {
            (void)fprintf(
                f->out, "%u",
                (unsigned)(what == 'm' ? f->shares[i].memory_mib : f->shares[i].cores));
        }
    }
}

/* False where it is no placeholder. */
static bool fill_one(const struct filling *f, const char *name, size_t length)
{
    static const char *const names[] = {"uuids", "memory-mib", "cores",     "count",
                                        "pod",   "namespace",  "container", "fence",
                                        "uuid",  "index"};
    size_t which = 0;

    while (which < 10 &&
           (strlen(names[which]) != length || strncmp(names[which], name, length) != 0)) {
        which++;
    }
    if (which >= (f->index >= 0 ? 10u : 8u)) {
        return false;
    }
    switch (which) {
    case 0: {
        struct filling all = *f;

        all.index = -1;
        fill_list(&all, 'u');
        break;
    }
    case 1:
        fill_list(f, 'm');
        break;
    case 2:
        fill_list(f, 'c');
        break;
    case 3:
        (void)fprintf(f->out, "%zu", f->count);
        break;
    case 4:
        (void)fputs(f->receiver->pod, f->out);
        break;
    case 5:
        (void)fputs(f->receiver->namespace_name, f->out);
        break;
    case 6:
        (void)fputs(f->receiver->container, f->out);
        break;
    case 7:
        (void)fprintf(f->out, "%" PRIu64, f->receiver->fence);
        break;
    case 8:
        fill_list(f, 'u');
        break;
    default:
        (void)fprintf(f->out, "%d", f->index);
        break;
    }
    return true;
}

char *plugin_answer_fill(const char *text, const struct plugin_receiver *receiver,
                         const struct plugin_share *shares, size_t count, int index)
{
    char *filled = NULL;
    size_t size = 0;
    struct filling f = {open_memstream(&filled, &size), receiver, shares, count, index};

    if (f.out == NULL) {
        return NULL;
    }
    while (*text != '\0') {
        const char *close = *text == '{' ? strchr(text, '}') : NULL;

        if (close != NULL && fill_one(&f, text + 1, (size_t)(close - text - 1))) {
            text = close + 1;
        } else {
            (void)fputc(*text++, f.out);
        }
    }
    if (fclose(f.out) != 0) {
        free(filled);
        return NULL;
    }
    return filled;
}

/* ---- pieces ------------------------------------------------------------------------ */

/* Room for `more` pointers behind `count`; false without memory. */
static bool grow(void *list, size_t count, size_t more)
{
    void **grown = realloc(*(void ***)list, (count + more + 1) * sizeof(void *));

    if (grown == NULL) {
        return false;
    }
    *(void ***)list = grown;
    return true;
}

static bool add_environment(V1beta1__ContainerAllocateResponse *answer,
                            const struct plugin_gifts *gifts, const struct filling *f)
{
    if (!grow(&answer->envs, answer->n_envs, gifts->environment_count)) {
        return false;
    }
    for (size_t i = 0; i < gifts->environment_count; i++) {
        V1beta1__Pair *pair = malloc(sizeof(*pair));

        if (pair == NULL) {
            return false;
        }
        v1beta1__pair__init(pair);
        answer->envs[answer->n_envs++] = pair;
        pair->key = plugin_answer_fill(gifts->environment[i].name, f->receiver, f->shares,
                                       f->count, f->index);
        pair->value = plugin_answer_fill(gifts->environment[i].value, f->receiver,
                                         f->shares, f->count, f->index);
        if (pair->key == NULL || pair->value == NULL) {
            return false;
        }
    }
    return true;
}

static bool has_device(const V1beta1__ContainerAllocateResponse *answer,
                       const char *container)
{
    for (size_t i = 0; i < answer->n_devices; i++) {
        if (strcmp(answer->devices[i]->container_path, container) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_mount(const V1beta1__ContainerAllocateResponse *answer,
                      const char *container)
{
    for (size_t i = 0; i < answer->n_mounts; i++) {
        if (strcmp(answer->mounts[i]->container_path, container) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_devices(V1beta1__ContainerAllocateResponse *answer,
                        const struct plugin_gifts *gifts)
{
    if (!grow(&answer->devices, answer->n_devices, gifts->character_device_count)) {
        return false;
    }
    for (size_t i = 0; i < gifts->character_device_count; i++) {
        const struct plugin_character_device *from = &gifts->character_devices[i];
        V1beta1__DeviceSpec *device;

        if (has_device(answer, from->container)) {
            continue;
        }
        device = malloc(sizeof(*device));
        if (device == NULL) {
            return false;
        }
        v1beta1__device_spec__init(device);
        answer->devices[answer->n_devices++] = device;
        device->host_path = strdup(from->host);
        device->container_path = strdup(from->container);
        device->permissions = strdup(from->permissions);
        if (device->host_path == NULL || device->container_path == NULL ||
            device->permissions == NULL) {
            return false;
        }
    }
    return true;
}

static bool add_mounts(V1beta1__ContainerAllocateResponse *answer,
                       const struct plugin_gifts *gifts)
{
    if (!grow(&answer->mounts, answer->n_mounts, gifts->mount_count)) {
        return false;
    }
    for (size_t i = 0; i < gifts->mount_count; i++) {
        const struct plugin_mount *from = &gifts->mounts[i];
        V1beta1__Mount *mount;

        if (has_mount(answer, from->container)) {
            continue;
        }
        mount = malloc(sizeof(*mount));
        if (mount == NULL) {
            return false;
        }
        v1beta1__mount__init(mount);
        answer->mounts[answer->n_mounts++] = mount;
        mount->host_path = strdup(from->host);
        mount->container_path = strdup(from->container);
        mount->read_only = from->is_read_only;
        if (mount->host_path == NULL || mount->container_path == NULL) {
            return false;
        }
    }
    return true;
}

static bool add_gifts(V1beta1__ContainerAllocateResponse *answer,
                      const struct plugin_gifts *gifts, const struct filling *f)
{
    return add_environment(answer, gifts, f) && add_devices(answer, gifts) &&
           add_mounts(answer, gifts);
}

V1beta1__ContainerAllocateResponse *
plugin_answer_new(const struct plugin_settings *settings,
                  const struct plugin_receiver *receiver,
                  const struct plugin_share *shares, size_t count)
{
    V1beta1__ContainerAllocateResponse *answer = malloc(sizeof(*answer));
    struct filling f = {NULL, receiver, shares, count, -1};
    bool is_whole;

    if (answer == NULL) {
        return NULL;
    }
    v1beta1__container_allocate_response__init(answer);
    is_whole = add_gifts(answer, &settings->gifts, &f);
    for (size_t i = 0; i < count && is_whole; i++) {
        f.index = (int)i;
        is_whole = add_gifts(answer, &shares[i].device->gifts, &f);
    }
    if (!is_whole) {
        protobuf_c_message_free_unpacked(&answer->base, NULL);
        return NULL;
    }
    return answer;
}

V1beta1__AllocateResponse *plugin_answers_new(size_t count)
{
    V1beta1__AllocateResponse *answer = malloc(sizeof(*answer));

    if (answer == NULL) {
        return NULL;
    }
    v1beta1__allocate_response__init(answer);
    answer->container_responses = calloc(count + 1, sizeof(*answer->container_responses));
    if (answer->container_responses == NULL) {
        free(answer);
        return NULL;
    }
    return answer;
}
