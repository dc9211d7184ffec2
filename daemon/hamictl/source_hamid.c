/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running hamid as a source: its locks view and its readiness, by plain GETs. What it
 * answers is another program's: every member may be missing, and the whole is bounded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "sources.h"

#define ANSWER_MAX (64u << 20)
#define TIMEOUT_MS 10000

struct answer {
    char *text;
    size_t length;
};

static size_t collect(char *bytes, size_t size, size_t count, void *data)
{
    struct answer *answer = data;
    size_t length = size * count;
    if (answer->length + length > ANSWER_MAX) {
        return 0;
    }
    char *text = realloc(answer->text, answer->length + length + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text + answer->length, bytes, length);
    answer->text = text;
    answer->length += length;
    text[answer->length] = '\0';
    return length;
}

static void set_login(CURL *handle, const struct source_hamid *hamid)
{
    if (hamid->ca_file != NULL) {
        (void)curl_easy_setopt(handle, CURLOPT_CAINFO, hamid->ca_file);
    }
    if (hamid->certificate_file != NULL) {
        (void)curl_easy_setopt(handle, CURLOPT_SSLCERT, hamid->certificate_file);
        (void)curl_easy_setopt(handle, CURLOPT_SSLKEY,
                               hamid->key_file != NULL ? hamid->key_file
                                                       : hamid->certificate_file);
    }
}

static CURLcode fetch(const struct source_hamid *hamid, const char *url,
                      struct answer *answer, long *status, char *reason)
{
    CURL *handle = curl_easy_init();
    if (handle == NULL) {
        return CURLE_OUT_OF_MEMORY;
    }
    (void)curl_easy_setopt(handle, CURLOPT_URL, url);
    (void)curl_easy_setopt(handle, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    (void)curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
    (void)curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, collect);
    (void)curl_easy_setopt(handle, CURLOPT_WRITEDATA, answer);
    set_login(handle, hamid);
    CURLcode result = curl_easy_perform(handle);
    (void)curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, status);
    curl_easy_cleanup(handle);
    return result;
}

char *source_hamid_text(const struct source_hamid *hamid, const char *path,
                        long *ret_status, char *error)
{
    char reason[CURL_ERROR_SIZE] = "";
    char full[512];
    struct answer answer = {NULL, 0};
    int length = (int)strlen(hamid->url);
    while (length > 0 && hamid->url[length - 1] == '/') {
        length--;
    }
    *ret_status = 0;
    (void)snprintf(full, sizeof(full), "%.*s%s", length, hamid->url, path);
    CURLcode result = fetch(hamid, full, &answer, ret_status, reason);
    if (result != CURLE_OK) {
        (void)snprintf(
            error, SOURCE_ERROR_MAX,
            "could not ask hamid at %s: %s; --hamid takes the address of its --listen or "
            "--metrics-listen, and without --hamid the API server is asked",
            full, reason[0] != '\0' ? reason : curl_easy_strerror(result));
        free(answer.text);
        return NULL;
    }
    return answer.text != NULL ? answer.text : strdup("");
}

/* What an answer that is no locks view most likely means. */
static const char *hint(const struct source_hamid *hamid, long status)
{
    switch (status) {
    case 400:
        return strncmp(hamid->url, "http://", 7) == 0
                   ? "does it speak HTTPS? Then say https://, and --hamid-ca-file"
                   : "is that a hamid scheduler?";
    case 403:
        return "it does not serve that certificate's name: see hamid's --client-name";
    case 421:
        return "it does not go by that name: see hamid's --host, or use an IP address";
    default:
        return "is that a hamid scheduler?";
    }
}

json_t *source_from_hamid(const struct source_hamid *hamid, char *error)
{
    long status = 0;
    char *text = source_hamid_text(hamid, "/v1/locks", &status, error);
    json_t *root = text != NULL ? json_loads(text, 0, NULL) : NULL;
    json_t *nodes = json_incref(json_object_get(root, "nodes"));
    if (text != NULL && status != 200) {
        (void)snprintf(error, SOURCE_ERROR_MAX, "%s answered with status %ld; %s",
                       hamid->url, status, hint(hamid, status));
    } else if (text != NULL && !json_is_array(nodes)) {
        (void)snprintf(error, SOURCE_ERROR_MAX,
                       "%s did not answer with a locks view; is that a hamid scheduler?",
                       hamid->url);
    }
    if (status != 200 || !json_is_array(nodes)) {
        json_decref(nodes);
        nodes = NULL;
    }
    json_decref(root);
    free(text);
    return nodes;
}
