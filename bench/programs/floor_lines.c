/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The floor's handles and their requests. */
#include "floor_lines.h"

#include <stdio.h>
#include <string.h>

#define METADATA_ONLY                                                                    \
    "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

void login_open(struct login *login, const char *kubeconfig)
{
    static const char *const kinds[] = {"Content-Type: application/json-patch+json",
                                        "Content-Type: application/json"};
    struct curl_slist **lists[] = {&login->patch_headers, &login->json_headers};
    if (kubeconfig_read(&login->config, kubeconfig) < 0) {
        die("kubeconfig", login->config.problem);
    }
    for (size_t i = 0; i < 2; i++) {
        *lists[i] = curl_slist_append(NULL, kinds[i]);
        if (login->config.bearer != NULL) {
            curl_slist_append(*lists[i], login->config.bearer);
        }
    }
    /* As hamid does: nobody looks at more of a patched object. */
    curl_slist_append(login->patch_headers, METADATA_ONLY);
}

void login_close(struct login *login)
{
    curl_slist_free_all(login->patch_headers);
    curl_slist_free_all(login->json_headers);
    kubeconfig_free(&login->config);
}

static size_t drop(char *bytes, size_t size, size_t count, void *data)
{
    (void)bytes;
    (void)data;
    return size * count;
}

void line_open(const struct login *login, struct line *line, struct node *node)
{
    line->handle = curl_easy_init();
    if (line->handle == NULL) {
        die("no handle", "out of memory");
    }
    line->node = node;
    line->answer = NULL;
    kubeconfig_apply(&login->config, line->handle);
    curl_easy_setopt(line->handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(line->handle, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(line->handle, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(line->handle, CURLOPT_USERAGENT, "bench-floor");
    curl_easy_setopt(line->handle, CURLOPT_TIMEOUT_MS, 30000L);
    curl_easy_setopt(line->handle, CURLOPT_PRIVATE, line);
}

void line_request(const struct login *login, struct line *line, const char *method,
                  const char *path, bool has_body)
{
    char url[1024];
    bool is_patch = strcmp(method, "PATCH") == 0;
    fits(snprintf(url, sizeof(url), "%s%s", login->config.server, path), sizeof(url));
    curl_easy_setopt(line->handle, CURLOPT_URL, url);
    if (has_body) {
        curl_easy_setopt(line->handle, CURLOPT_POSTFIELDS, line->body);
        curl_easy_setopt(line->handle, CURLOPT_POSTFIELDSIZE, (long)strlen(line->body));
    } else {
        curl_easy_setopt(line->handle, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(line->handle, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(line->handle, CURLOPT_HTTPHEADER,
                     is_patch ? login->patch_headers : login->json_headers);
}

CURLM *lines_open(long streams)
{
    CURLM *multi = curl_multi_init();
    if (multi == NULL) {
        die("no multi handle", "out of memory");
    }
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    if (streams != 0) {
        curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, streams);
    }
    return multi;
}

void lines_send(CURLM *multi, const struct login *login, struct line *line,
                const char *method, const char *path, bool has_body)
{
    line_request(login, line, method, path, has_body);
    if (curl_multi_add_handle(multi, line->handle) != CURLM_OK) {
        die(method, path);
    }
}

struct line *lines_take(CURLM *multi)
{
    int left;
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (message == NULL) {
        return NULL;
    }
    struct line *line;
    long status = 0;
    CURLcode code = message->data.result;
    CURL *handle = message->easy_handle;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &line);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (line == NULL || line->node == NULL) {
        die("the watch has ended", curl_easy_strerror(code));
    }
    curl_multi_remove_handle(multi, handle);
    if (code != CURLE_OK || status < 200 || status > 299) {
        char text[32];
        fits(snprintf(text, sizeof(text), "answer %ld", status), sizeof(text));
        die(text, code != CURLE_OK       ? curl_easy_strerror(code)
                  : line->answer != NULL ? line->answer
                                         : line->body);
    }
    return line;
}
