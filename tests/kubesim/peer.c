/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A plain HTTP client for tests: see peer.h. No lock. */
#include "peer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jsonpatch.h"

#define PATIENCE_MS 20000L

void peer_open_sim(struct peer *peer, const struct kubesim *sim, const char *user)
{
    memset(peer, 0, sizeof(*peer));
    peer->url = strdup(kubesim_url(sim));
    peer->ca_pem = strdup(kubesim_ca_pem(sim));
    peer->token = user != NULL ? strdup(kubesim_token(sim, user)) : NULL;
    peer->http_version = CURL_HTTP_VERSION_2TLS;
}

void peer_close(struct peer *peer)
{
    curl_easy_cleanup(peer->easy);
    free(peer->url);
    free(peer->ca_pem);
    free(peer->token);
    free(peer->certificate_pem);
    free(peer->key_pem);
    memset(peer, 0, sizeof(*peer));
}

void reply_clear(struct reply *reply)
{
    free(reply->body);
    json_decref(reply->json);
    memset(reply, 0, sizeof(*reply));
}

const char *json_text_at(json_t *value, const char *pointer)
{
    json_t *found = value != NULL ? sim_json_pointer(value, pointer) : NULL;
    return json_is_string(found) ? json_string_value(found) : "";
}

const char *reply_text(const struct reply *reply, const char *pointer)
{
    return json_text_at(reply->json, pointer);
}

static size_t take_body(char *data, size_t size, size_t count, void *user)
{
    struct reply *reply = user;
    size_t length = size * count;
    char *grown = realloc(reply->body, reply->length + length + 1);
    if (grown == NULL) {
        return 0;
    }
    memcpy(grown + reply->length, data, length);
    reply->body = grown;
    reply->length += length;
    grown[reply->length] = '\0';
    return length;
}

static size_t take_header(char *data, size_t size, size_t count, void *user)
{
    struct reply *reply = user;
    size_t length = size * count;
    char line[256];
    size_t kept = length < sizeof(line) ? length : sizeof(line) - 1;
    memcpy(line, data, kept);
    line[kept] = '\0';
    while (kept > 0 && isspace((unsigned char)line[kept - 1])) {
        line[--kept] = '\0';
    }
    if (strncasecmp(line, "retry-after: ", 13) == 0) {
        reply->retry_after = strtol(line + 13, NULL, 10);
    } else if (strncasecmp(line, "content-type: ", 14) == 0) {
        snprintf(reply->content_type, sizeof(reply->content_type), "%.120s", line + 14);
    } else if (strncasecmp(line, "date: ", 6) == 0) {
        snprintf(reply->date, sizeof(reply->date), "%.60s", line + 6);
    }
    return length;
}

static void set_pem(CURL *easy, CURLoption option, char *pem)
{
    if (pem != NULL) {
        struct curl_blob blob = {pem, strlen(pem), CURL_BLOB_COPY};
        curl_easy_setopt(easy, option, &blob);
    }
}

static void set_up(CURL *easy, const struct peer *peer)
{
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, PATIENCE_MS);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, peer->http_version);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    set_pem(easy, CURLOPT_CAINFO_BLOB, peer->ca_pem);
    set_pem(easy, CURLOPT_SSLCERT_BLOB, peer->certificate_pem);
    set_pem(easy, CURLOPT_SSLKEY_BLOB, peer->key_pem);
}

CURL *peer_handle(const struct peer *peer)
{
    CURL *easy = curl_easy_init();
    set_up(easy, peer);
    return easy;
}

static struct curl_slist *headers_of(const struct peer *peer, const char *content_type,
                                     const char *accept)
{
    char line[4096];
    struct curl_slist *headers = NULL;
    if (peer->token != NULL) {
        snprintf(line, sizeof(line), "Authorization: Bearer %s", peer->token);
        headers = curl_slist_append(headers, line);
    }
    snprintf(line, sizeof(line), "Content-Type: %s",
             content_type != NULL ? content_type : "");
    headers = curl_slist_append(headers, line);
    snprintf(line, sizeof(line), "Accept: %s", accept != NULL ? accept : JSON_TYPE);
    headers = curl_slist_append(headers, line);
    return curl_slist_append(headers, "Expect:");
}

/* Returns the headers, to be freed after the transfer. */
static struct curl_slist *prepare(CURL *easy, const struct peer *peer,
                                  const struct shot *shot, const char *accept,
                                  struct reply *reply)
{
    struct curl_slist *headers = headers_of(peer, shot->content_type, accept);
    char *url = NULL;
    if (asprintf(&url, "%s%s", peer->url, shot->path) < 0) {
        abort();
    }
    set_up(easy, peer);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    free(url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, shot->method);
    if (shot->body != NULL) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(shot->body));
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, shot->body);
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, reply);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, reply);
    memset(reply, 0, sizeof(*reply));
    reply->retry_after = -1;
    return headers;
}

static void conclude(CURL *easy, struct reply *reply, CURLcode result)
{
    reply->result = result;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply->code);
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &reply->http_version);
    if (reply->body != NULL) {
        reply->json = json_loads(reply->body, 0, NULL);
    }
}

struct reply peer_send(struct peer *peer, const char *method, const char *path,
                       const char *content_type, const char *body, const char *accept)
{
    struct shot shot = {
        .method = method, .path = path, .content_type = content_type, .body = body};
    struct reply reply;
    if (peer->easy == NULL) {
        peer->easy = curl_easy_init();
    }
    curl_easy_reset(peer->easy);
    struct curl_slist *headers = prepare(peer->easy, peer, &shot, accept, &reply);
    conclude(peer->easy, &reply, curl_easy_perform(peer->easy));
    curl_slist_free_all(headers);
    return reply;
}

void peer_send_all(struct peer *peer, struct shot *shots, size_t count)
{
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    CURL **easies = calloc(count, sizeof(*easies));
    struct curl_slist **headers = calloc(count, sizeof(struct curl_slist *));
    int running = 0, left;
    if (easies == NULL || headers == NULL) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        easies[i] = curl_easy_init();
        headers[i] = prepare(easies[i], peer, &shots[i], NULL, &shots[i].reply);
        curl_easy_setopt(easies[i], CURLOPT_PRIVATE, &shots[i].reply);
        curl_multi_add_handle(multi, easies[i]);
    }
    do {
        curl_multi_perform(multi, &running);
        if (running > 0) {
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
        }
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
            struct reply *reply = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &reply);
            conclude(message->easy_handle, reply, message->data.result);
        }
    } while (running > 0);
    for (size_t i = 0; i < count; i++) {
        curl_multi_remove_handle(multi, easies[i]);
        curl_easy_cleanup(easies[i]);
        curl_slist_free_all(headers[i]);
    }
    curl_multi_cleanup(multi);
    free(easies);
    free(headers);
}

struct watching {
    struct reply *reply;
    json_t *events;
    size_t parsed, wanted;
};

static void parse_events(struct watching *watching)
{
    struct reply *reply = watching->reply;
    char *end;
    while (reply->body != NULL &&
           (end = strchr(reply->body + watching->parsed, '\n')) != NULL) {
        const char *line = reply->body + watching->parsed;
        json_t *event = json_loadb(line, (size_t)(end - line), 0, NULL);
        watching->parsed = (size_t)(end - reply->body) + 1;
        if (event != NULL) {
            json_array_append_new(watching->events, event);
        }
    }
}

/* Ends the transfer when there is enough. */
static size_t take_events(char *data, size_t size, size_t count, void *user)
{
    struct watching *watching = user;
    size_t taken = take_body(data, size, count, watching->reply);
    parse_events(watching);
    return json_array_size(watching->events) >= watching->wanted ? 0 : taken;
}

json_t *peer_watch(struct peer *peer, const char *path, const char *accept, size_t count)
{
    struct shot shot = {.method = "GET", .path = path};
    struct reply reply;
    struct watching watching = {.reply = &reply, .events = json_array(), .wanted = count};
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = prepare(easy, peer, &shot, accept, &reply);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_events);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &watching);
    (void)curl_easy_perform(easy);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    free(reply.body);
    return watching.events;
}
