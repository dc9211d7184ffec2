/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods in which hamid, HAMi and kube-scheduler run, found by what their containers
 * start, among those that a few labels and namespaces select: clusters are large.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "doctor.h"
#include "sources.h"

#define PATIENCE_DEFAULT_MS 30000
#define EXPIRE_DEFAULT_MS 300000

/* ---- what a container runs ------------------------------------------------------ */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The index-th word of command and args together; NULL behind the last. */
static const char *word_at(const json_t *container, size_t index)
{
    const json_t *command = json_object_get(container, "command");
    size_t count = json_array_size(command);
    const json_t *word =
        index < count ? json_array_get(command, index)
                      : json_array_get(json_object_get(container, "args"), index - count);
    return json_string_value(word);
}

/* An image's own name: no registry, folder, tag or digest. */
static bool is_image(const json_t *container, const char *name)
{
    const char *base = base_name(source_text(container, "image"));
    size_t length = strcspn(base, ":@");
    return length == strlen(name) && strncmp(base, name, length) == 0;
}

bool doctor_is_hamid(const json_t *container, const char *role)
{
    const char *word = NULL;
    for (size_t i = 0; (word = word_at(container, i)) != NULL; i++) {
        const char *next = word_at(container, i + 1);
        if (strcmp(base_name(word), "hamid") == 0 && next != NULL &&
            strcmp(next, role) == 0) {
            return true;
        }
    }
    word = word_at(container, 0);
    return is_image(container, "hamid") && word != NULL && strcmp(word, role) == 0;
}

bool doctor_is_hami_scheduler(const json_t *container)
{
    const char *word = word_at(container, 0);
    return strcmp(source_text(container, "name"), "vgpu-scheduler-extender") == 0 ||
           (is_image(container, "hami") && word != NULL &&
            strcmp(base_name(word), "scheduler") == 0);
}

/* ---- flags ---------------------------------------------------------------------- */

static const char *flag_of(const json_t *container, const char *name)
{
    const char *word = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; (word = word_at(container, i)) != NULL; i++) {
        const char *flag = word + strspn(word, "-");
        if (flag == word || strncmp(flag, name, length) != 0) {
            continue;
        }
        if (flag[length] == '=') {
            return flag + length + 1;
        }
        const char *next = word_at(container, i + 1);
        if (flag[length] == '\0') {
            return next != NULL && next[0] != '-' ? next : "";
        }
    }
    return NULL;
}

const char *doctor_hamid_flag(const struct doctor *doctor, const char *name)
{
    return flag_of(doctor->hamid_container, name);
}

uint64_t doctor_patience_ms(const struct doctor *doctor, const char **ret_from)
{
    uint64_t ns = 0;
    const char *said = doctor_hamid_flag(doctor, "patience");
    if (doctor->options->patience_ms != 0) {
        *ret_from = "by --patience";
        return doctor->options->patience_ms;
    }
    if (said != NULL && hamid_duration_parse(said, &ns) == 0) {
        *ret_from = "as its pod says";
        return ns / 1000000;
    }
    if (doctor_hamid_flag(doctor, "config") != NULL) {
        *ret_from = "in its file";
        return 0;
    }
    *ret_from = "its default";
    return PATIENCE_DEFAULT_MS;
}

uint64_t doctor_lock_expire_ms(const struct doctor *doctor)
{
    uint64_t ns = 0;
    const char *said = doctor_hamid_flag(doctor, "lock-expire");
    said = said != NULL ? said : doctor_hamid_flag(doctor, "node-lock-timeout");
    if (doctor->options->lock_expire_ms != 0) {
        return doctor->options->lock_expire_ms;
    }
    return said != NULL && hamid_duration_parse(said, &ns) == 0 ? ns / 1000000
                                                                : EXPIRE_DEFAULT_MS;
}

/* ---- gathering ------------------------------------------------------------------ */

bool doctor_is_kube_scheduler(const json_t *container)
{
    return strcmp(source_text(container, "name"), "kube-scheduler") == 0 ||
           is_image(container, "kube-scheduler");
}

bool doctor_runs(const json_t *pod, bool (*is_it)(const json_t *container))
{
    size_t index = 0;
    const json_t *container = NULL;
    json_array_foreach(json_object_get(json_object_get(pod, "spec"), "containers"), index,
                       container)
    {
        if (is_it(container)) {
            return true;
        }
    }
    return false;
}

static void look_for_hamid(struct doctor *doctor, const json_t *pod)
{
    size_t index = 0;
    const json_t *container = NULL;
    json_array_foreach(json_object_get(json_object_get(pod, "spec"), "containers"), index,
                       container)
    {
        if (doctor->hamid_pod == NULL && doctor_is_hamid(container, "scheduler")) {
            doctor->hamid_pod = pod;
            doctor->hamid_container = container;
        }
        if (doctor->hamid_node_pod == NULL && doctor_is_hamid(container, "node")) {
            doctor->hamid_node_pod = pod;
        }
    }
}

/* Pods that have ended run nothing. */
static bool is_over(const json_t *pod)
{
    const char *phase = source_text(json_object_get(pod, "status"), "phase");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void add_pods(struct doctor *doctor, json_t *seen, const json_t *found)
{
    size_t index = 0;
    json_t *pod = NULL;
    json_array_foreach(found, index, pod)
    {
        const char *uid = source_text(json_object_get(pod, "metadata"), "uid");
        if (json_object_get(seen, uid) == NULL && !is_over(pod)) {
            (void)json_object_set_new(seen, uid, json_true());
            (void)json_array_append(doctor->pods, pod);
            look_for_hamid(doctor, pod);
        }
    }
}

void doctor_read_pods(struct doctor *doctor)
{
    static const char *const queries[] = {
        "/api/v1/namespaces/kube-system/pods",
        "/api/v1/namespaces/hami-system/pods",
        "/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dhamid-scheduler",
        "/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dhamid-node",
        "/api/v1/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Dhami-scheduler",
        "/api/v1/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Dhami-device-plugin",
        "/api/v1/pods?labelSelector=component%3Dkube-scheduler",
    };
    char error[SOURCE_ERROR_MAX] = "";
    size_t answered = 0;
    json_t *seen = json_object();
    doctor->pods = json_array();
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        json_t *found = source_list(doctor->client, queries[i], true, error);
        answered += found != NULL ? 1 : 0;
        add_pods(doctor, seen, found);
        json_decref(found);
    }
    json_decref(seen);
    if (answered == 0) {
        (void)snprintf(doctor->pods_error, sizeof(doctor->pods_error), "%.255s", error);
        json_decref(doctor->pods);
        doctor->pods = NULL;
    }
}

void doctor_read_nodes(struct doctor *doctor)
{
    char error[SOURCE_ERROR_MAX] = "";
    size_t index = 0;
    const json_t *item = NULL;
    json_t *items = source_list(doctor->client, "/api/v1/nodes", false, error);
    if (items == NULL) {
        (void)snprintf(doctor->nodes_error, sizeof(doctor->nodes_error), "%.255s", error);
        return;
    }
    doctor->nodes = json_array();
    json_array_foreach(items, index, item)
    {
        (void)json_array_append(doctor->nodes, json_object_get(item, "metadata"));
    }
    json_decref(items);
}
