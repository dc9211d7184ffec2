/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The login of a stand-in: what a kubeconfig's current context says, put onto curl
 * handles.
 *
 * Plain test code, on purpose without a line of the library in it: a stand-in must not
 * share the faults of what it tests. It knows CA, token and client certificate, inline or
 * as files.
 */
#ifndef STANDIN_KUBECONFIG_H
#define STANDIN_KUBECONFIG_H

#include <curl/curl.h>
#include <stddef.h>

struct kubeconfig_text {
    char *bytes; /* NULL: absent */
    size_t length;
};

struct kubeconfig {
    char *server; /* without a trailing slash */
    struct kubeconfig_text ca;
    struct kubeconfig_text certificate;
    struct kubeconfig_text key;
    char *bearer; /* "Authorization: Bearer ..." or NULL */
    char problem[256];
};

/* Returns 0, or -1 with the reason in config->problem. Free it in both cases. */
int kubeconfig_read(struct kubeconfig *config, const char *path);
void kubeconfig_free(struct kubeconfig *config);
/* CA and client certificate onto a handle. The token is a header: see bearer. */
void kubeconfig_apply(const struct kubeconfig *config, CURL *handle);

#endif
