/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Patch (RFC 6902, with the deviations that Kubernetes has) and JSON merge patch
 * (RFC 7386). Pure.
 */
#ifndef KUBESIM_JSONPATCH_H
#define KUBESIM_JSONPATCH_H

#include <jansson.h>

#define SIM_PATCH_OPERATIONS 10000

enum sim_patch_result {
    SIM_PATCH_OK,
    SIM_PATCH_FAILED,    /* a test failed, or an operation does not apply: 422 */
    SIM_PATCH_MALFORMED, /* the patch is no patch: 400 */
    SIM_PATCH_TOO_LONG,  /* too many operations: 413 */
};

/* Apply PATCH to a copy of DOCUMENT; *ret is new, set on success only. TEXT is what PATCH
 * was read from. */
enum sim_patch_result sim_jsonpatch_apply(json_t *document, const json_t *patch,
                                          const char *text, json_t **ret);
/* The document with PATCH merged into a copy of it; new. */
json_t *sim_mergepatch_apply(json_t *document, json_t *patch);
/* The value at a JSON pointer, borrowed; NULL when absent. */
json_t *sim_json_pointer(json_t *document, const char *pointer);

#endif
