/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a 403 was about, in the words of RBAC: verb, API group, resource. Taken from the
 * request and not from the server's message, whose words are for people; but the message
 * alone tells an authorizer's no from an admission plugin's. What lacks is remembered
 * until it succeeds; of the client's thread alone.
 */
#include "http_client.h"

#include <stdio.h>
#include <string.h>

#include "status.h"

#define SEGMENTS_MAX 10
#define PATH_MAX_BYTES 1024

/* A path cut at its slashes. */
struct path {
    char text[PATH_MAX_BYTES];
    const char *segments[SEGMENTS_MAX];
    size_t count;
    const char *query;
};

static bool cut(struct path *path, const char *text)
{
    char *rest = NULL;
    char *query;

    if (strlen(text) >= sizeof(path->text)) {
        return false;
    }
    memcpy(path->text, text, strlen(text) + 1);
    query = strchr(path->text, '?');
    path->query = query != NULL ? query + 1 : "";
    if (query != NULL) {
        *query = '\0';
    }
    path->count = 0;
    for (char *at = strtok_r(path->text, "/", &rest); at != NULL;
         at = strtok_r(NULL, "/", &rest)) {
        if (path->count == SEGMENTS_MAX) {
            return false;
        }
        path->segments[path->count++] = at;
    }
    return true;
}

static const char *verb_of(enum hami_kubernetes_method method, bool has_name,
                           const char *query)
{
    static const char *const verbs[] = {"get", "create", "update", "patch", "delete"};

    if (method == HAMI_KUBERNETES_GET && !has_name) {
        return strstr(query, "watch=true") != NULL || strstr(query, "watch=1") != NULL
                   ? "watch"
                   : "list";
    }
    return verbs[method];
}

/* Fills all but the message; `resource` is room for the resource with its subresource. */
static bool describe(const struct path *path, enum hami_kubernetes_method method,
                     char *resource, size_t size, struct hami_kubernetes_denial *denial)
{
    bool is_core = path->count >= 1 && strcmp(path->segments[0], "api") == 0;
    size_t at = is_core ? 2 : 3;

    if (path->count <= at || (!is_core && strcmp(path->segments[0], "apis") != 0)) {
        return false;
    }
    denial->group = is_core ? "" : path->segments[1];
    if (strcmp(path->segments[at], "namespaces") == 0 && path->count > at + 2) {
        denial->namespace_name = path->segments[at + 1];
        at += 2;
    }
    if (path->count > at + 1) {
        denial->name = path->segments[at + 1];
    }
    (void)snprintf(resource, size, "%s%s%s", path->segments[at],
                   path->count > at + 2 ? "/" : "",
                   path->count > at + 2 ? path->segments[at + 2] : "");
    denial->resource = resource;
    denial->verb = verb_of(method, path->count > at + 1, path->query);
    return true;
}

/* The authorizer's own sentence; a policy's begins with its name. */
static bool is_authorizers(const char *message, const char *verb)
{
    const char *user = strstr(message, "User \"");
    const char *cannot = user != NULL ? strstr(user, "\" cannot ") : NULL;

    return cannot != NULL &&
           strncmp(cannot + strlen("\" cannot "), verb, strlen(verb)) == 0 &&
           strstr(message, "denied request") == NULL &&
           strstr(message, "denied the request") == NULL;
}

/* "patch nodes", with the API group where there is one; false where it is too long. */
static bool name_of(const struct hami_kubernetes_denial *denial, char *buffer,
                    size_t size)
{
    int length = snprintf(buffer, size, "%s %s%s%s", denial->verb, denial->resource,
                          denial->group[0] != '\0' ? "." : "", denial->group);

    return length > 0 && (size_t)length < size;
}

/* The place of that lack, or of "": a free one. NULL without. */
static char *find(hami_kubernetes *client, const char *name)
{
    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_LACKS_MAX; i++) {
        if (strcmp(client->lacks[i], name) == 0) {
            return client->lacks[i];
        }
    }
    return NULL;
}

static void remember(hami_kubernetes *client, const struct hami_kubernetes_denial *denial)
{
    char name[sizeof(client->lacks[0])];
    char *place;

    if (name_of(denial, name, sizeof(name)) && find(client, name) == NULL) {
        place = find(client, "");
        if (place != NULL) {
            memcpy(place, name, strlen(name) + 1);
        }
    }
}

void hami_internal_denial_tell(hami_kubernetes *client,
                               enum hami_kubernetes_method method, const char *url,
                               const struct hami_internal_text *body)
{
    struct hami_kubernetes_denial denial = {
        .size = sizeof(denial), .namespace_name = "", .name = ""};
    struct hami_internal_status status;
    struct path path;
    char resource[256];

    if (client->denied == NULL || !cut(&path, url + strlen(client->base_url)) ||
        !describe(&path, method, resource, sizeof(resource), &denial)) {
        return;
    }
    (void)hami_internal_status_read(body->text, body->length, &status);
    denial.text = status.message;
    denial.is_permission = is_authorizers(status.message, denial.verb);
    if (denial.is_permission) {
        remember(client, &denial);
        client->has_lacks = true;
    }
    client->denied(client->denied_data, &denial);
}

void hami_internal_denial_over(hami_kubernetes *client,
                               enum hami_kubernetes_method method, const char *url)
{
    struct hami_kubernetes_denial denial = {.size = sizeof(denial),
                                            .is_permission = true,
                                            .is_over = true,
                                            .namespace_name = "",
                                            .name = "",
                                            .text = ""};
    struct path path;
    char resource[256];
    char name[sizeof(client->lacks[0])];
    char *place;

    if (!client->has_lacks || !cut(&path, url + strlen(client->base_url)) ||
        !describe(&path, method, resource, sizeof(resource), &denial) ||
        !name_of(&denial, name, sizeof(name))) {
        return;
    }
    place = find(client, name);
    if (place == NULL) {
        return;
    }
    *place = '\0';
    client->has_lacks = false;
    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_LACKS_MAX; i++) {
        client->has_lacks = client->has_lacks || client->lacks[i][0] != '\0';
    }
    client->denied(client->denied_data, &denial);
}

const char *hami_internal_denial_verb(const hami_kubernetes *client,
                                      enum hami_kubernetes_method method, const char *url)
{
    struct hami_kubernetes_denial denial = {.verb = NULL};
    struct path path;
    char resource[256];

    if (!cut(&path, url + strlen(client->base_url)) ||
        !describe(&path, method, resource, sizeof(resource), &denial)) {
        return NULL;
    }
    return denial.verb;
}
