/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where kube-scheduler's configuration comes from: files, ConfigMaps that were named, those
 * that hamid's pod mounts, or those that HAMi's chart makes. What hamictl logged in by is read here, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "sources.h"
#include "yaml_json.h"

#define FILE_MAX (1u << 20)

/* New; NULL with an error. */
static char *read_file(const char *path, size_t *ret_length, char *error, size_t size)
{
    FILE *file = fopen(path, "re");
    char *text = file != NULL ? malloc(FILE_MAX) : NULL;
    if (text == NULL) {
        (void)snprintf(error, size, "%s", strerror(errno));
    } else {
        *ret_length = fread(text, 1, FILE_MAX, file);
        if (*ret_length == FILE_MAX) {
            (void)snprintf(error, size, "it is larger than 1 MiB");
            free(text);
            text = NULL;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

/* ---- kube-scheduler ------------------------------------------------------------- */

/* A KubeSchedulerConfiguration, or a Policy as kube-scheduler had before 1.23. */
static bool is_scheduler_config(const json_t *document)
{
    const char *kind = source_text(document, "kind");
    return strcmp(kind, "KubeSchedulerConfiguration") == 0 ||
           (strcmp(kind, "Policy") == 0 && json_object_get(document, "extenders"));
}

/* Returns how many configurations the text has. */
static size_t add_text(struct doctor *doctor, const char *from, const char *text,
                       size_t length, bool must)
{
    char error[256];
    size_t added = 0;
    size_t index = 0;
    json_t *document = NULL;
    json_t *documents = yaml_json_read(text, length, error, sizeof(error));
    json_array_foreach(documents, index, document)
    {
        if (is_scheduler_config(document)) {
            json_t *entry = json_pack("{s:s, s:O}", "from", from, "config", document);
            (void)json_array_append_new(doctor->configs, entry);
            added++;
        }
    }
    if (must && added == 0) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("%s has no KubeSchedulerConfiguration%s%s", from,
                                 documents == NULL ? ": " : "",
                                 documents == NULL ? error : ""),
                    json_string("kube-scheduler would not start with it."),
                    json_string("Name the file or ConfigMap that kube-scheduler's "
                                "--config reads."));
    }
    json_decref(documents);
    return added;
}

static void add_file(struct doctor *doctor, const char *path)
{
    char error[256] = "";
    size_t length = 0;
    char *text = read_file(path, &length, error, sizeof(error));
    if (text == NULL) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("%s can't be read: %s", path, error),
                    json_string("What kube-scheduler does is not known."),
                    json_string("Name a file by --scheduler-config that you may read."));
        return;
    }
    (void)add_text(doctor, path, text, length, true);
    free(text);
}

/* Each value of a ConfigMap's data is a file. */
static size_t add_configmap(struct doctor *doctor, const json_t *map)
{
    size_t added = 0;
    const char *key = NULL;
    json_t *value = NULL;
    const json_t *metadata = json_object_get(map, "metadata");
    json_object_foreach(json_object_get(map, "data"), key, value)
    {
        char from[700];
        (void)snprintf(from, sizeof(from), "ConfigMap %.63s/%.253s %.253s",
                       source_text(metadata, "namespace"), source_text(metadata, "name"),
                       key);
        if (json_is_string(value)) {
            added += add_text(doctor, from, json_string_value(value),
                              json_string_length(value), false);
        }
    }
    return added;
}

static void add_named_configmap(struct doctor *doctor, const char *named)
{
    char namespace_name[64];
    char path[640];
    char error[SOURCE_ERROR_MAX] = "there is no such name";
    int status = 0;
    const char *name = command_pod(named, namespace_name);
    json_t *map = NULL;
    if (name != NULL && strpbrk(named, "?#%& ") == NULL) {
        (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps/%.253s",
                       namespace_name, name);
        map = source_get(doctor->client, path, NULL, &status, error);
    }
    if (map == NULL || add_configmap(doctor, map) == 0) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("ConfigMap %s has no KubeSchedulerConfiguration%s%s",
                                 named, map == NULL ? ": " : "",
                                 map == NULL ? error : ""),
                    json_string("What kube-scheduler does is not known."),
                    json_string("Name the ConfigMap that kube-scheduler's pod mounts, by "
                                "--scheduler-configmap NAMESPACE/NAME."));
    }
    json_decref(map);
}

/* Those that the pod mounts in which hamid stands beside kube-scheduler: what HAMi's chart
 * has made besides is read by nobody then. Returns how many configurations they have. */
static size_t add_mounted(struct doctor *doctor)
{
    size_t added = 0;
    size_t index = 0;
    const json_t *volume = NULL;
    const json_t *pod = doctor->hamid_pod;
    if (pod == NULL || !doctor_runs(pod, doctor_is_kube_scheduler)) {
        return 0;
    }
    json_t *seen = json_object();
    const char *space = source_text(json_object_get(pod, "metadata"), "namespace");
    json_array_foreach(json_object_get(json_object_get(pod, "spec"), "volumes"), index,
                       volume)
    {
        char path[640];
        char error[SOURCE_ERROR_MAX];
        const char *name = source_text(json_object_get(volume, "configMap"), "name");
        if (name[0] != '\0' && json_object_get(seen, name) == NULL) {
            (void)json_object_set_new(seen, name, json_true());
            (void)snprintf(path, sizeof(path),
                           "/api/v1/namespaces/%.63s/configmaps"
                           "?fieldSelector=metadata.name%%3D%.253s",
                           space, name);
            json_t *maps = source_list(doctor->client, path, true, error);
            added += add_configmap(doctor, json_array_get(maps, 0));
            json_decref(maps);
        }
    }
    json_decref(seen);
    return added;
}

/* The ConfigMaps of HAMi's chart and of deploy/, in whichever namespace and under
 * whichever release. */
static void find_configmaps(struct doctor *doctor)
{
    static const char *const queries[] = {
        "/api/v1/configmaps?fieldSelector=metadata.name%3Dhami-scheduler-newversion",
        "/api/v1/configmaps?fieldSelector=metadata.name%3Dhami-scheduler",
        "/api/v1/configmaps?fieldSelector=metadata.name%3Dhamid-scheduler",
        "/api/v1/configmaps?labelSelector=app.kubernetes.io%2Fcomponent%3Dhami-scheduler",
    };
    char error[SOURCE_ERROR_MAX] = "";
    json_t *seen = json_object();
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        size_t index = 0;
        const json_t *map = NULL;
        json_t *maps = source_list(doctor->client, queries[i], true, error);
        json_array_foreach(maps, index, map)
        {
            const char *uid = source_text(json_object_get(map, "metadata"), "uid");
            if (json_object_get(seen, uid) == NULL) {
                (void)json_object_set_new(seen, uid, json_true());
                (void)add_configmap(doctor, map);
            }
        }
        json_decref(maps);
    }
    json_decref(seen);
    if (json_array_size(doctor->configs) == 0) {
        doctor_skip(doctor, "%s%s",
                    error[0] != '\0'
                        ? error
                        : "no ConfigMap of HAMi's chart or of deploy/ has one",
                    "; name it by --scheduler-config or --scheduler-configmap");
    }
}

void doctor_read_configs(struct doctor *doctor)
{
    const struct options *options = doctor->options;
    doctor->configs = json_array();
    doctor_begin(doctor, "scheduler-config", "kube-scheduler's configuration is known");
    for (size_t i = 0; i < options->scheduler_configs.count; i++) {
        add_file(doctor, options->scheduler_configs.values[i]);
    }
    for (size_t i = 0; i < options->scheduler_configmaps.count; i++) {
        add_named_configmap(doctor, options->scheduler_configmaps.values[i]);
    }
    if (options->scheduler_configs.count + options->scheduler_configmaps.count == 0 &&
        add_mounted(doctor) == 0) {
        find_configmaps(doctor);
    }
    if (json_array_size(doctor->configs) == 1) {
        doctor_note(doctor, "%s",
                    source_text(json_array_get(doctor->configs, 0), "from"));
    } else if (json_array_size(doctor->configs) > 1) {
        doctor_note(doctor, "%zu of them", json_array_size(doctor->configs));
    }
}

/* ---- the login ------------------------------------------------------------------ */

static void add_kubeconfig(struct doctor *doctor, const char *path)
{
    char error[256];
    size_t length = 0;
    char *text = read_file(path, &length, error, sizeof(error));
    if (text != NULL) {
        json_t *documents = yaml_json_read(text, length, error, sizeof(error));
        (void)json_array_extend(doctor->kubeconfig, documents);
        json_decref(documents);
    }
    free(text);
}

void doctor_read_kubeconfig(struct doctor *doctor)
{
    char home[4096];
    const char *said = doctor->options->kubeconfig != NULL ? doctor->options->kubeconfig
                                                           : getenv("KUBECONFIG");
    doctor->kubeconfig = json_array();
    if (said == NULL || said[0] == '\0') {
        const char *folder = getenv("HOME");
        (void)snprintf(home, sizeof(home), "%s/.kube/config",
                       folder != NULL ? folder : "");
        said = home;
    }
    char *list = strdup(said);
    char *rest = NULL;
    for (char *path = list != NULL ? strtok_r(list, ":", &rest) : NULL; path != NULL;
         path = strtok_r(NULL, ":", &rest)) {
        add_kubeconfig(doctor, path);
    }
    free(list);
}
