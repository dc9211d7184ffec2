/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The floor's watch: see floor_watch.h. No JSON is parsed, two texts are looked for. */
#include "floor_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STANDS_MS 10000
#define LINE_MAX_BYTES 262144

struct watch {
    CURL *handle;
    watch_saw_fn saw;
    struct node *node;
    char line[LINE_MAX_BYTES];
    size_t length;
};

static void take_event(struct watch *watch)
{
    static const char before[] = "\"metadata\":{\"name\":\"";
    char *name = strstr(watch->line, before);
    if (name == NULL) {
        return;
    }
    bool is_served = strstr(name, "\"hami.io/bind-phase\":\"success\"") != NULL;
    name += sizeof(before) - 1;
    name[strcspn(name, "\"")] = '\0';
    watch->saw(watch->node, name, is_served);
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *data)
{
    struct watch *watch = data;
    for (size_t i = 0; i < size * count; i++) {
        if (bytes[i] == '\n') {
            watch->line[watch->length] = '\0';
            take_event(watch);
            watch->length = 0;
        } else if (watch->length < sizeof(watch->line) - 1) {
            watch->line[watch->length++] = bytes[i];
        }
    }
    return size * count;
}

static void wait_until_it_stands(CURLM *multi, const struct watch *watch)
{
    int64_t end_us = now_us() + STANDS_MS * 1000;
    long status = 0;
    while (status != 200) {
        int running;
        curl_multi_perform(multi, &running);
        curl_easy_getinfo(watch->handle, CURLINFO_RESPONSE_CODE, &status);
        if (running == 0 || now_us() > end_us) {
            die("the watch", "does not stand");
        }
        curl_multi_poll(multi, NULL, 0, status == 200 ? 0 : 100, NULL);
    }
}

struct watch *watch_open(const struct login *login, CURLM *multi, const char *name,
                         watch_saw_fn saw, struct node *node)
{
    char url[1024];
    struct watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL || (watch->handle = curl_easy_init()) == NULL) {
        die("no watch", "out of memory");
    }
    watch->saw = saw;
    watch->node = node;
    kubeconfig_apply(&login->config, watch->handle);
    fits(snprintf(url, sizeof(url),
                  "%s/api/v1/pods?watch=true&fieldSelector=spec.nodeName%%3D%s"
                  "&resourceVersion=0",
                  login->config.server, name),
         sizeof(url));
    curl_easy_setopt(watch->handle, CURLOPT_URL, url);
    curl_easy_setopt(watch->handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(watch->handle, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(watch->handle, CURLOPT_HTTPHEADER, login->json_headers);
    curl_easy_setopt(watch->handle, CURLOPT_USERAGENT, "bench-floor");
    curl_easy_setopt(watch->handle, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(watch->handle, CURLOPT_WRITEDATA, watch);
    curl_easy_setopt(watch->handle, CURLOPT_PRIVATE, NULL);
    curl_multi_add_handle(multi, watch->handle);
    wait_until_it_stands(multi, watch);
    return watch;
}

void watch_close(CURLM *multi, struct watch *watch)
{
    if (watch != NULL) {
        curl_multi_remove_handle(multi, watch->handle);
        curl_easy_cleanup(watch->handle);
        free(watch);
    }
}
