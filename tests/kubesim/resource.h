/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed list of resources, and what the server itself writes into an object:
 * defaults at creation, parts that a write through the main path or /status may not
 * touch. Pure: works on JSON values only.
 */
#ifndef KUBESIM_RESOURCE_H
#define KUBESIM_RESOURCE_H

#include <jansson.h>
#include <stdbool.h>

struct sim_resource {
    const char *plural;
    const char *kind;
    const char *group; /* "" for the core group */
    const char *group_version;
    const char *path; /* API root: "/api/v1" or "/apis/GROUP/VERSION" */
    bool namespaced;
    bool has_status;
    bool stored; /* events are accepted and not kept */
    bool create_by_put;
    bool unconditional_put; /* PUT without a resourceVersion is allowed */
    bool returns_deleted;   /* DELETE answers with the object, else with a Status */
    unsigned index;
};

#define SIM_RESOURCE_COUNT 6

extern const struct sim_resource sim_resources[SIM_RESOURCE_COUNT];

/* By plural name; with an API root, or any root when it is NULL. */
const struct sim_resource *sim_resource_find(const char *path, const char *plural);

/* Current time in the two forms of the API; the buffers take 40 bytes. OFFSET seconds
 * are added. */
void sim_time_seconds(char *buffer, int offset);
void sim_time_micros(char *buffer);
/* A random UUID, 37 bytes. */
void sim_uuid(char *buffer);

/* Metadata and defaults of a new object; OBJECT is changed in place. */
void sim_resource_prepare_create(const struct sim_resource *resource, json_t *object,
                                 bool direct);
/* Give back to CANDIDATE what a client can't change, taken from CURRENT. */
void sim_resource_prepare_update(const struct sim_resource *resource, json_t *candidate,
                                 json_t *current, bool status_only);
/* Put kind, apiVersion, metadata, spec, status in front, drop empty maps that Go's
 * encoder leaves out. Consumes OBJECT, returns a new value. */
json_t *sim_resource_normalise(const struct sim_resource *resource, json_t *object);

/* A string member below metadata or spec, NULL when absent (borrowed). */
const char *sim_metadata_text(const json_t *object, const char *key);
const char *sim_spec_text(const json_t *object, const char *key);

#endif
