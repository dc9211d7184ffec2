/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the current context of a kubeconfig for tests: server, CA, token or client
 * certificate, each inline or in a file. No lock.
 */
#include "peer.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct config {
    yaml_document_t document;
    const char *path;
};

static const char *scalar(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE
               ? (const char *)node->data.scalar.value
               : NULL;
}

static yaml_node_t *member(struct config *config, yaml_node_t *map, const char *key)
{
    if (map == NULL || map->type != YAML_MAPPING_NODE) {
        return NULL;
    }
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         pair < map->data.mapping.pairs.top; pair++) {
        const char *name = scalar(yaml_document_get_node(&config->document, pair->key));
        if (name != NULL && strcmp(name, key) == 0) {
            return yaml_document_get_node(&config->document, pair->value);
        }
    }
    return NULL;
}

static const char *text(struct config *config, yaml_node_t *map, const char *key)
{
    return scalar(member(config, map, key));
}

/* The entry NAME of a list of {name: .., WHAT: {..}}; its inner map. */
static yaml_node_t *named(struct config *config, const char *list, const char *name,
                          const char *what)
{
    yaml_node_t *root = yaml_document_get_root_node(&config->document);
    yaml_node_t *items = member(config, root, list);
    if (items == NULL || items->type != YAML_SEQUENCE_NODE || name == NULL) {
        return NULL;
    }
    for (yaml_node_item_t *item = items->data.sequence.items.start;
         item < items->data.sequence.items.top; item++) {
        yaml_node_t *entry = yaml_document_get_node(&config->document, *item);
        const char *own = text(config, entry, "name");
        if (own != NULL && strcmp(own, name) == 0) {
            return member(config, entry, what);
        }
    }
    return NULL;
}

static char *decode(const char *encoded)
{
    size_t length = strlen(encoded);
    char *out = calloc(1, length + 4);
    if (out == NULL || EVP_DecodeBlock((unsigned char *)out,
                                       (const unsigned char *)encoded, (int)length) < 0) {
        free(out);
        return NULL;
    }
    return out; /* padding decodes to zeros, which end the text */
}

static char *read_file(const char *path)
{
    char buffer[65536];
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return NULL;
    }
    size_t length = fread(buffer, 1, sizeof(buffer), stream);
    fclose(stream);
    return strndup(buffer, length);
}

/* KEY-data inline, or the file that KEY names, relative to the kubeconfig. */
static char *pem(struct config *config, yaml_node_t *map, const char *key)
{
    char name[64], *path = NULL;
    snprintf(name, sizeof(name), "%s-data", key);
    const char *data = text(config, map, name);
    const char *file = text(config, map, key);
    if (data != NULL) {
        return decode(data);
    }
    if (file == NULL || file[0] == '/') {
        return file != NULL ? read_file(file) : NULL;
    }
    const char *slash = strrchr(config->path, '/');
    int folder = slash != NULL ? (int)(slash - config->path) : 1;
    if (asprintf(&path, "%.*s/%s", folder, slash != NULL ? config->path : ".", file) <
        0) {
        return NULL;
    }
    char *result = read_file(path);
    free(path);
    return result;
}

static char *copy(const char *value)
{
    return value != NULL ? strdup(value) : NULL;
}

static void fill(struct config *config, struct peer *peer)
{
    yaml_node_t *root = yaml_document_get_root_node(&config->document);
    const char *current = text(config, root, "current-context");
    yaml_node_t *context = named(config, "contexts", current, "context");
    yaml_node_t *cluster =
        named(config, "clusters", text(config, context, "cluster"), "cluster");
    yaml_node_t *user = named(config, "users", text(config, context, "user"), "user");
    peer->http_version = CURL_HTTP_VERSION_2TLS;
    peer->url = copy(text(config, cluster, "server"));
    peer->ca_pem = pem(config, cluster, "certificate-authority");
    peer->token = copy(text(config, user, "token"));
    peer->certificate_pem = pem(config, user, "client-certificate");
    peer->key_pem = pem(config, user, "client-key");
}

bool peer_open_kubeconfig(struct peer *peer, const char *path)
{
    struct config config = {.path = path};
    yaml_parser_t parser;
    memset(peer, 0, sizeof(*peer));
    FILE *stream = fopen(path, "re");
    if (stream == NULL || yaml_parser_initialize(&parser) == 0) {
        return false;
    }
    yaml_parser_set_input_file(&parser, stream);
    bool loaded = yaml_parser_load(&parser, &config.document) != 0;
    if (loaded) {
        fill(&config, peer);
        yaml_document_delete(&config.document);
    }
    yaml_parser_delete(&parser);
    fclose(stream);
    return loaded && peer->url != NULL && peer->ca_pem != NULL &&
           (peer->token != NULL || peer->key_pem != NULL);
}
