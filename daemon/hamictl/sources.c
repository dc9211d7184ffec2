/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hamictl gets its facts. What it reads is another program's: every member may be
 * missing or of another type, and every text is bounded.
 */
#include "sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hami/handshake.h>

#define TIMEOUT_MS 10000
#define PAGE 500
#define METADATA_LIST "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

const char *source_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

bool source_is_cover(const json_t *slot)
{
    return strcmp(source_text(slot, "state"), "cover") == 0;
}

unsigned source_permit_of(const char *key)
{
    size_t length = strlen(key);
    bool is_one = length > 2 && key[length - 2] == '.' && key[length - 1] >= '1' &&
                  key[length - 1] <= '0' + HAMI_NODELOCK_SIDE_BY_SIDE_MAX;
    return is_one ? (unsigned)(key[length - 1] - '0') : 0;
}

/* Names stand in paths: nothing in them may be a path's or a query's. */
static bool is_name(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= 253 && text[0] != '.' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == length;
}

/* ---- the API server ------------------------------------------------------------- */

hami_kubernetes *source_login(const char *kubeconfig, const char *context, uint32_t flags,
                              char *error)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_error reason = HAMI_ERROR_INIT;
    hami_kubernetes *client = NULL;
    if (kubeconfig != NULL) {
        config.kubeconfig = kubeconfig;
    } else {
        (void)hami_kubernetes_config_from_environment(&config);
    }
    config.context = context;
    config.flags = flags;
    config.user_agent = "hamictl/" HAMI_VERSION_STRING;
    if (hami_kubernetes_new(&config, &client, &reason) != 0) {
        (void)snprintf(
            error, SOURCE_ERROR_MAX,
            "could not log in to the API server: %s; --kubeconfig names a file with the "
            "login",
            reason.text);
        return NULL;
    }
    return client;
}

/* One request; new: the answer's JSON, NULL unless its status is 200 or 201. */
static json_t *ask(hami_kubernetes *client, struct hami_kubernetes_request *request,
                   int *ret_status, char *error)
{
    struct hami_kubernetes_answer *answer = NULL;
    struct hami_error reason = HAMI_ERROR_INIT;
    const char *path = request->path;
    json_t *root = NULL;
    *ret_status = 0;
    request->deadline_ns = hami_kubernetes_in_ms(TIMEOUT_MS);
    int code = hami_kubernetes_request(client, request, &answer, &reason);
    if (code != 0) {
        (void)snprintf(error, SOURCE_ERROR_MAX,
                       "could not reach the API server at %s: %s",
                       hami_kubernetes_server(client),
                       reason.text[0] != '\0' ? reason.text : hami_strerror(code));
        return NULL;
    }
    *ret_status = answer->status;
    if (answer->status == 200 || answer->status == 201) {
        root = json_loadb(answer->body, answer->body_length, 0, NULL);
    }
    if (root == NULL) {
        json_t *problem = json_loadb(answer->body, answer->body_length, 0, NULL);
        (void)snprintf(error, SOURCE_ERROR_MAX,
                       "the API server answered %s with status %d%s%.400s", path,
                       answer->status, problem != NULL ? ": " : "",
                       source_text(problem, "message"));
        json_decref(problem);
    }
    (void)hami_kubernetes_answer_free(answer);
    return root;
}

json_t *source_get(hami_kubernetes *client, const char *path, const char *accept,
                   int *ret_status, char *error)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    request.path = path;
    request.accept = accept;
    return ask(client, &request, ret_status, error);
}

json_t *source_post(hami_kubernetes *client, const char *path, const json_t *body,
                    int *ret_status, char *error)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char *text = json_dumps(body, JSON_COMPACT);
    if (text == NULL) {
        (void)snprintf(error, SOURCE_ERROR_MAX, "out of memory");
        return NULL;
    }
    request.method = HAMI_KUBERNETES_POST;
    request.path = path;
    request.body = text;
    request.body_length = strlen(text);
    json_t *answer = ask(client, &request, ret_status, error);
    free(text);
    return answer;
}

/* Seconds since the time that a lock value begins with; negative where it says none. */
static double written_age(const char *value)
{
    struct tm parts;
    memset(&parts, 0, sizeof(parts));
    const char *rest = strptime(value, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == NULL || *rest != 'Z') {
        return -1;
    }
    return difftime(time(NULL), timegm(&parts));
}

static const char *kind_reason(enum hami_lock_kind kind)
{
    switch (kind) {
    case HAMI_LOCK_OWNED:
        return "";
    case HAMI_LOCK_LEGACY:
    case HAMI_LOCK_UNOWNED:
        return "names no pod: falls by its age alone";
    default:
        return "is malformed: falls by its age alone";
    }
}

/* @is_permit  of a pod beside others; else a lock with calls is those pods' cover */
static void add_slot(json_t *slots, const char *key, bool is_permit, const char *value,
                     const char *lease)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    char fence[24];
    char token[HAMI_PAIR_TOKEN_BYTES];
    if (hami_lock_record_parse(value, lease, &record) != 0 ||
        record.kind == HAMI_LOCK_FREE) {
        return;
    }
    (void)snprintf(fence, sizeof(fence), "%llu", (unsigned long long)record.fence);
    (void)hami_pair_token(value, lease, token, sizeof(token));
    json_t *slot = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s}", "key", key, "state",
        record.has_lease ? "held" : "foreign", "value", value, "namespace",
        record.namespace_name, "pod", record.name, "uid", record.uid, "holder",
        record.holder, "fence", fence, "token", token, "holdMs",
        (json_int_t)record.hold_ms, "reason", kind_reason(record.kind));
    double age = written_age(value);
    if (slot != NULL && record.calls[0] != '\0' && is_permit) {
        (void)json_object_set_new(slot, "calls", json_string(record.calls));
    } else if (slot != NULL && record.calls[0] != '\0') {
        (void)json_object_set_new(slot, "state", json_string("cover"));
        (void)json_object_set_new(
            slot, "reason",
            json_string("pods are in flight side by side, each with a permit of its own: "
                        "it goes with the last one"));
    }
    if (slot != NULL && age >= 0) {
        (void)json_object_set_new(slot, "ageSeconds", json_real(age));
    }
    (void)json_array_append_new(slots, slot);
}

bool source_record_keys(const char *key, unsigned permit, char *lock_key, char *lease_key)
{
    if (hami_lease_key(key, lease_key, SOURCE_KEY_MAX) != 0) {
        return false;
    }
    (void)snprintf(lock_key, SOURCE_KEY_MAX, "%.*s", HAMI_NODELOCK_KEY_MAX, key);
    if (permit > 0) {
        size_t length = strlen(lock_key);
        (void)snprintf(lock_key + length, SOURCE_KEY_MAX - length, ".%u", permit);
        length = strlen(lease_key);
        (void)snprintf(lease_key + length, SOURCE_KEY_MAX - length, ".%u", permit);
    }
    return true;
}

static void add_record(json_t *slots, const json_t *annotations, const char *key,
                       unsigned permit)
{
    char lock_key[SOURCE_KEY_MAX];
    char lease_key[SOURCE_KEY_MAX];
    if (!source_record_keys(key, permit, lock_key, lease_key)) {
        return;
    }
    const char *value = json_string_value(json_object_get(annotations, lock_key));
    if (value != NULL) {
        add_slot(slots, lock_key, permit > 0, value,
                 json_string_value(json_object_get(annotations, lease_key)));
    }
}

/* @key  one more lock key, or NULL */
static json_t *node_with_key(const json_t *object, const char *key)
{
    const char *keys[] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_CAMBRICON_KEY, key};
    bool is_known = key == NULL || strcmp(key, keys[0]) == 0 || strcmp(key, keys[1]) == 0;
    size_t count = is_known ? 2 : 3;
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *annotations = json_object_get(metadata, "annotations");
    json_t *slots = json_array();
    for (size_t i = 0; i < count; i++) {
        for (unsigned permit = 0; permit <= HAMI_NODELOCK_SIDE_BY_SIDE_MAX; permit++) {
            add_record(slots, annotations, keys[i], permit);
        }
    }
    if (json_array_size(slots) == 0) {
        json_decref(slots);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[]}", "node", source_text(metadata, "name"), "slots",
                     slots, "waiters");
}

json_t *source_node(const json_t *object)
{
    return node_with_key(object, NULL);
}

json_t *source_from_cluster_key(hami_kubernetes *client, const char *node,
                                const char *key, char *error)
{
    char path[512];
    int status = 0;
    if (!is_name(node)) {
        (void)snprintf(error, SOURCE_ERROR_MAX, "'%.253s' is no name of a node", node);
        return NULL;
    }
    (void)snprintf(path, sizeof(path), "/api/v1/nodes/%s", node);
    json_t *object = source_get(
        client, path, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        &status, error);
    if (object == NULL) {
        return NULL;
    }
    json_t *nodes = json_array();
    json_t *found = node_with_key(object, key);
    if (found != NULL) {
        (void)json_array_append_new(nodes, found);
    }
    json_decref(object);
    return nodes;
}

json_t *source_list(hami_kubernetes *client, const char *path, bool is_whole, char *error)
{
    char page[4096] = "";
    char token[3072] = "";
    json_t *items = json_array();
    do {
        int status = 0;
        (void)snprintf(page, sizeof(page), "%s%climit=%d%s%s", path,
                       strchr(path, '?') != NULL ? '&' : '?', PAGE,
                       token[0] != '\0' ? "&continue=" : "", token);
        json_t *list =
            source_get(client, page, is_whole ? NULL : METADATA_LIST, &status, error);
        if (list == NULL) {
            json_decref(items);
            return NULL;
        }
        (void)json_array_extend(items, json_object_get(list, "items"));
        (void)snprintf(token, sizeof(token), "%s",
                       source_text(json_object_get(list, "metadata"), "continue"));
        json_decref(list);
    } while (token[0] != '\0');
    return items;
}

static json_t *list_nodes(hami_kubernetes *client, const char *path, char *error)
{
    size_t index = 0;
    const json_t *item = NULL;
    json_t *items = source_list(client, path, false, error);
    json_t *nodes = items != NULL ? json_array() : NULL;
    json_array_foreach(items, index, item)
    {
        json_t *found = source_node(item);
        if (found != NULL) {
            (void)json_array_append_new(nodes, found);
        }
    }
    json_decref(items);
    return nodes;
}

json_t *source_from_cluster(hami_kubernetes *client, const char *node, char *error)
{
    return node != NULL ? source_from_cluster_key(client, node, NULL, error)
                        : list_nodes(client, "/api/v1/nodes", error);
}

json_t *source_from_cache(hami_kubernetes *client, const char *node, char *error)
{
    return node != NULL ? source_from_cluster_key(client, node, NULL, error)
                        : list_nodes(client, "/api/v1/nodes?resourceVersion=0", error);
}

json_t *source_pod(hami_kubernetes *client, const char *namespace_name, const char *name,
                   bool *ret_exists, char *error)
{
    char path[640];
    int status = 0;
    *ret_exists = false;
    if (!is_name(namespace_name) || !is_name(name)) {
        return NULL; /* nothing has such a name */
    }
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", namespace_name,
                   name);
    json_t *pod = source_get(client, path, NULL, &status, error);
    *ret_exists = pod != NULL;
    if (status == 404) {
        error[0] = '\0';
    }
    return pod;
}
