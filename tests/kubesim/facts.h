/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts suite: what a client of the API server relies on, asked of a kubesim and,
 * with HAMI_TEST_KUBECONFIG, of a real server by the very same tests, so that the two
 * can't drift apart. Every test makes its own objects under fresh names and removes
 * them.
 */
#ifndef KUBESIM_FACTS_H
#define KUBESIM_FACTS_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

#define LOCK "hami.io/mutex.lock"
#define LOCK_PATH "/metadata/annotations/hami.io~1mutex.lock"
#define PODS "/api/v1/namespaces/default/pods"

struct facts {
    struct peer peer;
    struct kubesim *sim; /* NULL against a real server */
    char node[64];       /* of this test */
    char node_path[128];
    char pod[80];
    char pod_path[192];
};

extern struct facts facts;

void facts_setup(void);
void facts_teardown(void);
TCase *facts_case(const char *name);

/* Send to the peer; the BODY is a format. */
struct reply facts_send(const char *method, const char *path, const char *type,
                        const char *body, ...) __attribute__((format(printf, 4, 5)));
/* The same, and the code must be CODE; the reply is dropped. */
void facts_expect(int line, long code, const char *method, const char *path,
                  const char *type, const char *body, ...)
    __attribute__((format(printf, 6, 7)));
struct reply facts_get(const char *path, const char *accept);
/* A string of an object as it is now, new; "" when absent. */
char *facts_text(const char *path, const char *pointer);
/* Create the test's node or pod; an untyped map of annotations may be NULL. */
void facts_make_node(const char *annotations);
void facts_make_pod(const char *annotations);

#define EXPECT(code, ...) facts_expect(__LINE__, code, __VA_ARGS__)
#define EXPECT_TEXT(path, pointer, value)                                                \
    do {                                                                                 \
        char *text_ = facts_text(path, pointer);                                         \
        ck_assert_str_eq(text_, value);                                                  \
        free(text_);                                                                     \
    } while (0)

TCase *facts_patch_case(void);
TCase *facts_guard_case(void);
TCase *facts_metadata_case(void);
TCase *facts_binding_case(void);
TCase *facts_watch_case(void);
TCase *facts_error_case(void);

#endif
