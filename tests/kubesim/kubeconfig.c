/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfigs and the files of a working folder. Files appear whole: each is written
 * beside its place and renamed. No lock: reads only what never changes after the start.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tls.h"

static char *base64(const char *text)
{
    size_t length = strlen(text);
    char *encoded = malloc(length * 2 + 8);
    if (encoded == NULL) {
        abort();
    }
    EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)text, (int)length);
    return encoded;
}

static void put_cluster(const struct kubesim *sim, FILE *stream)
{
    char *ca = base64(sim->tls->ca_pem);
    fprintf(stream,
            "apiVersion: v1\nkind: Config\npreferences: {}\nclusters:\n- name: kubesim\n"
            "  cluster:\n    server: %s\n    certificate-authority-data: %s\n",
            sim->url, ca);
    free(ca);
}

static void put_context(FILE *stream, const char *user)
{
    fprintf(stream, "- name: %s\n  context:\n    cluster: kubesim\n    user: %s\n", user,
            user);
}

char *kubesim_kubeconfig(const struct kubesim *sim, const char *user)
{
    const char *current = user != NULL ? user : sim->users[0];
    char *text = NULL;
    size_t size;
    if (kubesim_token(sim, current) == NULL) {
        return NULL;
    }
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return NULL;
    }
    put_cluster(sim, stream);
    fputs("users:\n", stream);
    for (char **known = sim->users; *known != NULL; known++) {
        fprintf(stream, "- name: %s\n  user:\n    token: %s\n", *known,
                kubesim_token(sim, *known));
    }
    fputs("contexts:\n", stream);
    for (char **known = sim->users; *known != NULL; known++) {
        put_context(stream, *known);
    }
    fprintf(stream, "current-context: %s\n", current);
    fclose(stream);
    return text;
}

/* The form with a client certificate in place of a token. */
static char *certificate_kubeconfig(const struct kubesim *sim)
{
    char *text = NULL;
    size_t size;
    char *certificate = base64(sim->tls->client_certificate_pem);
    char *key = base64(sim->tls->client_key_pem);
    FILE *stream = open_memstream(&text, &size);
    if (stream != NULL) {
        put_cluster(sim, stream);
        fprintf(stream,
                "users:\n- name: admin\n  user:\n    client-certificate-data: %s\n"
                "    client-key-data: %s\ncontexts:\n",
                certificate, key);
        put_context(stream, "admin");
        fputs("current-context: admin\n", stream);
        fclose(stream);
    }
    free(certificate);
    free(key);
    return text;
}

/* Consumes TEXT. Returns 0 or a negative errno. */
static int write_file(const char *directory, const char *name, const char *suffix,
                      char *text)
{
    char *path = NULL, *temporary = NULL;
    int result = 0;
    if (text == NULL || asprintf(&path, "%s/%s%s", directory, name, suffix) < 0 ||
        asprintf(&temporary, "%s.new", path) < 0) {
        return -ENOMEM;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (stream == NULL) {
        result = -errno;
    } else {
        bool good = fputs(text, stream) >= 0;
        good = fclose(stream) == 0 && good && rename(temporary, path) == 0;
        result = good ? 0 : -errno;
    }
    free(path);
    free(temporary);
    free(text);
    return result;
}

static char *ready_text(const struct kubesim *sim, const char *directory)
{
    json_t *ready = json_pack(
        "{s:i,s:s,s:o,s:i}", "port", (int)sim->port, "url", sim->url, "kubeconfig",
        json_sprintf("%s/kubeconfig", directory), "pid", (int)getpid());
    char *text = json_dumps(ready, JSON_COMPACT);
    json_decref(ready);
    return text;
}

int kubesim_write_files(struct kubesim *sim, const char *directory)
{
    if (mkdir(directory, 0700) < 0 && errno != EEXIST) {
        return -errno;
    }
    int result = write_file(directory, "kubeconfig", "", kubesim_kubeconfig(sim, NULL));
    for (char **user = sim->users; result == 0 && *user != NULL; user++) {
        result =
            write_file(directory, "kubeconfig-", *user, kubesim_kubeconfig(sim, *user));
    }
    if (result == 0) {
        result = write_file(directory, "kubeconfig-certificate", "",
                            certificate_kubeconfig(sim));
    }
    return result == 0 ? write_file(directory, "ready", "", ready_text(sim, directory))
                       : result;
}
