/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field and label selectors: parse the text of a query parameter, match an object.
 * Pure.
 */
#ifndef KUBESIM_SELECTOR_H
#define KUBESIM_SELECTOR_H

#include "resource.h"

#include <stddef.h>

#define SIM_SELECTOR_TERMS 16

enum sim_term_test { SIM_EQUAL, SIM_UNEQUAL, SIM_EXISTS, SIM_ABSENT };

struct sim_term {
    bool label;
    enum sim_term_test test;
    char *key;
    char *value;
};

struct sim_selector {
    size_t count;
    struct sim_term terms[SIM_SELECTOR_TERMS];
};

enum sim_selector_result {
    SIM_SELECTOR_OK,
    SIM_SELECTOR_SYNTAX,
    SIM_SELECTOR_FIELD, /* a field that the resource can't be selected by */
};

/* Add the terms of TEXT (NULL: none). What was added stays to be freed on failure. */
enum sim_selector_result sim_selector_add_fields(struct sim_selector *selector,
                                                 const struct sim_resource *resource,
                                                 const char *text);
enum sim_selector_result sim_selector_add_labels(struct sim_selector *selector,
                                                 const char *text);
bool sim_selector_matches(const struct sim_selector *selector, const json_t *object);
void sim_selector_clear(struct sim_selector *selector);

#endif
