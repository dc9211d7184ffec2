/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device plugin's Allocate in C: allocate SOCKET RESOURCE FOLDER ID...
 * Asks hamid's agent whose Allocate it is, looks for the pod's devices in FOLDER, and says
 * done or failed. A plugin that links the library can do without the agent: see
 * device_plugin.c.
 */
#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 65536
#define TIMEOUT_MS                                                                       \
    10000L /* the agent answers by its own limit, 2 s unless told otherwise */

struct answer {
    char text[ANSWER_MAX];
    size_t length;
};

static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
    struct answer *answer = data;

    if (size * count >= ANSWER_MAX - answer->length) {
        return 0;
    }
    memcpy(answer->text + answer->length, bytes, size * count);
    answer->length += size * count;
    return size * count;
}

/* Sends BODY, which it consumes. Returns the status, 0 without an answer; *ret is new. */
static long post(const char *socket, const char *path, json_t *body, json_t **ret)
{
    static struct answer answer;
    char url[128], *text = json_dumps(body, JSON_COMPACT);
    CURL *handle = curl_easy_init();
    long status = 0;

    answer.length = 0;
    (void)snprintf(url, sizeof(url), "http://hamid%s", path);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, socket);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, text);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
    if (curl_easy_perform(handle) == CURLE_OK) {
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    }
    curl_easy_cleanup(handle);
    json_decref(body);
    free(text);
    *ret = json_loadb(answer.text, answer.length, 0, NULL);
    return status;
}

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text != NULL ? text : "";
}

/* Tells each device of the one container, or which is not there. */
static int look(const json_t *found, const char *folder, char *missing, size_t size)
{
    const json_t *container = json_array_get(json_object_get(found, "containers"), 0);
    const json_t *devices = json_object_get(container, "devices");

    for (size_t i = 0; i < json_array_size(devices); i++) {
        (void)snprintf(missing, size, "%s/%s", folder,
                       text_of(json_array_get(devices, i), "uuid"));
        if (access(missing, F_OK) < 0) {
            return -1;
        }
        printf("device %s\n", missing);
    }
    return 0;
}

/* Returns 0, or -1 with a line in problem: then refuse the container. */
static int allocate(const char *socket, const char *resource, json_t *ids,
                    const char *folder, char *problem, size_t size)
{
    char path[128], missing[512];
    json_t *found, *end = NULL;
    long status =
        post(socket, "/v1/allocations",
             json_pack("{s:s, s:[o]}", "resource", resource, "containers", ids), &found);

    if (status != 200) {
        (void)snprintf(problem, size, "%s", text_of(found, "message"));
        json_decref(found);
        return -1; /* nothing was written to any pod */
    }
    printf("pod %s/%s\n", text_of(json_object_get(found, "pod"), "namespace"),
           text_of(json_object_get(found, "pod"), "name"));
    int code = look(found, folder, missing, sizeof(missing));
    (void)snprintf(path, sizeof(path), "/v1/allocations/%s/%s",
                   text_of(found, "allocation"), code < 0 ? "failed" : "done");
    if (code < 0) {
        (void)snprintf(problem, size, "no device %s", missing);
        (void)post(socket, path, json_pack("{s:s}", "reason", problem), &end);
    } else if (post(socket, path, json_object(), &end) != 204) {
        (void)snprintf(problem, size, "%s", text_of(end, "message"));
        code = -1;
    }
    json_decref(end);
    json_decref(found);
    return code;
}

int main(int argc, char **argv)
{
    char problem[1024] = "no answer from the agent";
    json_t *ids = json_array();

    if (argc < 5) {
        fputs("usage: allocate SOCKET RESOURCE FOLDER ID...\n", stderr);
        return 2;
    }
    for (int i = 4; i < argc; i++) {
        json_array_append_new(ids, json_string(argv[i]));
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int code = allocate(argv[1], argv[2], ids, argv[3], problem, sizeof(problem));
    curl_global_cleanup();
    if (code < 0) {
        fprintf(stderr, "%s\n", problem);
    }
    return code < 0;
}
