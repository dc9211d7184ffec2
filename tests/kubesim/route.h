/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, methods and Accept headers: what a request is for. Pure. */
#ifndef KUBESIM_ROUTE_H
#define KUBESIM_ROUTE_H

#include "exchange.h"

enum sim_route_result {
    SIM_ROUTE_RESOURCE, /* the target is filled in */
    SIM_ROUTE_METHOD,   /* a resource, but not with this method: 405 */
    SIM_ROUTE_OTHER,    /* no resource of ours */
};

/* PATH is without the query and still escaped. */
enum sim_route_result sim_route_resolve(const char *path, const char *method, bool watch,
                                        struct sim_target *ret);
/* The form that an Accept header (NULL: none) asks for; SIM_FORM_NONE: 406. */
enum sim_form sim_route_form(const char *accept, bool list);

#endif
