/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking calls over one curl handle, kept for its connection. */
#include "binder_api.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char lock_key[] = "hami.io/mutex.lock";
static const char lease_key[] = "hami.io/mutex.lease";
static const char lock_path[] = "/metadata/annotations/hami.io~1mutex.lock";
static const char json_patch[] = "application/json-patch+json";
static const char merge_patch[] = "application/merge-patch+json";

int binder_api_init(struct binder_api *api, const struct kubeconfig *config)
{
    memset(api, 0, sizeof(*api));
    api->config = config;
    api->handle = curl_easy_init();
    return api->handle != NULL ? 0 : -1;
}

void binder_api_done(struct binder_api *api)
{
    curl_easy_cleanup(api->handle);
}

static size_t collect(char *bytes, size_t size, size_t count, void *memory)
{
    return fwrite(bytes, size, count, memory);
}

/* Returns the HTTP status, 0 without an answer. Consumes BODY (may be NULL). */
static int call(struct binder_api *api, const char *method, const char *path,
                const char *type, json_t *body, json_t **ret)
{
    char url[1024];
    char header[128];
    char *bytes = NULL;
    size_t length = 0;
    long status = 0;
    CURL *handle = api->handle;
    FILE *memory = open_memstream(&bytes, &length);
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    snprintf(url, sizeof(url), "%s%s", api->config->server, path);
    snprintf(header, sizeof(header), "Content-Type: %s", type);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    if (api->config->bearer != NULL) {
        headers = curl_slist_append(headers, api->config->bearer);
    }
    curl_easy_reset(handle);
    kubeconfig_apply(api->config, handle);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "standin-broken-binder/0.1");
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, memory);
    if (text != NULL) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, text);
    }
    CURLcode code = curl_easy_perform(handle);
    if (code == CURLE_OK) {
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    }
    fclose(memory);
    snprintf(api->problem, sizeof(api->problem), "%s: %ld %.*s", method, status, 180,
             code == CURLE_OK ? bytes : curl_easy_strerror(code));
    if (ret != NULL) {
        *ret = json_loads(bytes, 0, NULL);
    }
    free(bytes);
    free(text);
    json_decref(body);
    curl_slist_free_all(headers);
    return (int)status;
}

static void node_path(char path[400], const char *node)
{
    snprintf(path, 400, "/api/v1/nodes/%s", node);
}

char *binder_lock_value(const struct binder_pod *pod)
{
    char now[40];
    char *value;
    time_t seconds = time(NULL);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (asprintf(&value, "%s,%s,%s", now, pod->namespace_name, pod->name) < 0) {
        return NULL;
    }
    return value;
}

char *binder_read_lock(struct binder_api *api, const char *node)
{
    char path[400];
    json_t *body = NULL;
    char *value = NULL;
    node_path(path, node);
    if (call(api, "GET", path, "application/json", NULL, &body) == 200) {
        json_t *metadata = json_object_get(body, "metadata");
        json_t *lock =
            json_object_get(json_object_get(metadata, "annotations"), lock_key);
        value = strdup(json_is_string(lock) ? json_string_value(lock) : "");
    }
    json_decref(body);
    return value;
}

int binder_take_lock(struct binder_api *api, const char *node, const char *value)
{
    char path[400];
    node_path(path, node);
    int status = call(api, "PATCH", path, json_patch,
                      json_pack("[{s:s, s:s, s:n}, {s:s, s:s, s:s}]", "op", "test",
                                "path", lock_path, "value", "op", "add", "path",
                                lock_path, "value", value),
                      NULL);
    if (status == 422) {
        /* The same refusal comes where the node has no annotations at all. */
        static const char all[] = "/metadata/annotations";
        status = call(api, "PATCH", path, json_patch,
                      json_pack("[{s:s, s:s, s:n}, {s:s, s:s, s:{s:s}}]", "op", "test",
                                "path", all, "value", "op", "add", "path", all, "value",
                                lock_key, value),
                      NULL);
    }
    return status == 200 ? 0 : status == 422 ? 1 : -1;
}

int binder_write_lock_blindly(struct binder_api *api, const char *node, const char *value)
{
    char path[400];
    node_path(path, node);
    int status = call(
        api, "PATCH", path, merge_patch,
        json_pack("{s:{s:{s:s}}}", "metadata", "annotations", lock_key, value), NULL);
    return status == 200 ? 0 : -1;
}

/* A lease as hamid writes it, for a lock beside others. */
static char *lease_text(const struct binder_pod *pod, const char *value,
                        const char *calls)
{
    struct timespec now;
    char fence[32];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(fence, sizeof(fence), "%lld",
             (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    json_t *lease = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "version",
                              1, "lock", value, "uid", pod->uid, "fence", fence, "holder",
                              "broken_binder", "attempt", fence, "hold_ms", 15000, "free",
                              "scheduler", "calls", calls);
    char *text = lease != NULL ? json_dumps(lease, JSON_COMPACT) : NULL;
    json_decref(lease);
    return text;
}

int binder_write_permit_blindly(struct binder_api *api, const struct binder_pod *pod,
                                const char *value, unsigned permit, const char *calls)
{
    char path[400];
    char lock[64];
    char lease[64];
    char *text = lease_text(pod, value, calls);
    int status = 0;
    if (text != NULL) {
        snprintf(lock, sizeof(lock), "%s.%u", lock_key, permit);
        snprintf(lease, sizeof(lease), "%s.%u", lease_key, permit);
        node_path(path, pod->node);
        status =
            call(api, "PATCH", path, merge_patch,
                 json_pack("{s:{s:{s:s, s:s, s:s, s:s}}}", "metadata", "annotations",
                           lock, value, lease, text, lock_key, value, lease_key, text),
                 NULL);
    }
    free(text);
    return status == 200 ? 0 : -1;
}

int binder_remove_lock(struct binder_api *api, const char *node, const char *value)
{
    char path[400];
    node_path(path, node);
    int status =
        call(api, "PATCH", path, json_patch,
             json_pack("[{s:s, s:s, s:s}, {s:s, s:s}]", "op", "test", "path", lock_path,
                       "value", value, "op", "remove", "path", lock_path),
             NULL);
    return status == 200 ? 0 : -1;
}

int binder_bind(struct binder_api *api, const struct binder_pod *pod)
{
    char path[800];
    char now[24];
    snprintf(now, sizeof(now), "%lld", (long long)time(NULL));
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", pod->namespace_name,
             pod->name);
    json_t *annotations = json_pack("{s:s, s:s}", "hami.io/bind-phase", "allocating",
                                    "hami.io/bind-time", now);
    int status =
        call(api, "PATCH", path, merge_patch,
             json_pack("{s:{s:o}}", "metadata", "annotations", annotations), NULL);
    if (status != 200) {
        return -1;
    }
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s/binding",
             pod->namespace_name, pod->name);
    json_t *metadata = json_pack("{s:s, s:s}", "name", pod->name, "uid", pod->uid);
    status = call(api, "POST", path, "application/json",
                  json_pack("{s:s, s:s, s:o, s:{s:s, s:s}}", "apiVersion", "v1", "kind",
                            "Binding", "metadata", metadata, "target", "kind", "Node",
                            "name", pod->node),
                  NULL);
    return status == 201 ? 0 : -1;
}
