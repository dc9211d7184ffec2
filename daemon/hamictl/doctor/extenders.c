/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube-scheduler's configuration: who binds, what for, and for how long it is waited.
 * Pure: reads doctor->configs alone. What kube-scheduler does with each member was seen
 * on a real one.
 */
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "sources.h"

#define SHORT_MS 60000

/* One configuration under examination. */
struct examined {
    struct doctor *doctor;
    const char *from;
    const json_t *extenders;
    const json_t *hamid; /* its entry; NULL = none */
    size_t hamid_index;
};

static const char *prefix_of(const json_t *extender)
{
    return source_text(extender, "urlPrefix");
}

static bool is_binder(const json_t *extender)
{
    return source_text(extender, "bindVerb")[0] != '\0';
}

static bool is_managing(const json_t *extender, const char *resource)
{
    size_t index = 0;
    const json_t *one = NULL;
    json_array_foreach(json_object_get(extender, "managedResources"), index, one)
    {
        if (strcmp(source_text(one, "name"), resource) == 0) {
            return true;
        }
    }
    return false;
}

static size_t resource_count(const json_t *extender)
{
    return json_array_size(json_object_get(extender, "managedResources"));
}

/* True if some pod concerns both: without managedResources an extender is for each pod.
 */
static bool overlap(const json_t *one, const json_t *other)
{
    size_t index = 0;
    const json_t *resource = NULL;
    if (resource_count(one) == 0 || resource_count(other) == 0) {
        return true;
    }
    json_array_foreach(json_object_get(one, "managedResources"), index, resource)
    {
        if (is_managing(other, source_text(resource, "name"))) {
            return true;
        }
    }
    return false;
}

static void find_hamid(struct examined *examined)
{
    size_t index = 0;
    const json_t *extender = NULL;
    json_array_foreach(examined->extenders, index, extender)
    {
        if (examined->hamid == NULL &&
            doctor_is_same_place(prefix_of(extender), examined->doctor->extender)) {
            examined->hamid = extender;
            examined->hamid_index = index;
        }
    }
}

/* ---- who binds ------------------------------------------------------------------ */

static void check_entry(struct examined *examined)
{
    struct doctor *doctor = examined->doctor;
    if (examined->hamid == NULL) {
        doctor_find(
            doctor, SEVERITY_ERROR,
            json_sprintf("%s: no extender has hamid's address %s", examined->from,
                         doctor->extender),
            json_string("kube-scheduler never asks hamid to bind: pods are bound by "
                        "another extender, or without any lock."),
            json_sprintf("Set the urlPrefix of HAMi's entry to %s. If hamid has another "
                         "address, name it by --extender.",
                         doctor->extender));
    } else if (!is_binder(examined->hamid)) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("%s: extenders[%zu] (%s) has no bindVerb",
                                 examined->from, examined->hamid_index,
                                 prefix_of(examined->hamid)),
                    json_string("kube-scheduler binds these pods by itself, without any "
                                "lock."),
                    json_sprintf("extenders[%zu]: add the line 'bindVerb: bind'.",
                                 examined->hamid_index));
    }
}

static void check_other_binders(struct examined *examined)
{
    size_t index = 0;
    const json_t *extender = NULL;
    json_array_foreach(examined->extenders, index, extender)
    {
        if (extender == examined->hamid || !is_binder(extender) ||
            (examined->hamid != NULL && !overlap(extender, examined->hamid))) {
            continue;
        }
        bool is_first = examined->hamid == NULL || index < examined->hamid_index;
        doctor_find(
            examined->doctor, SEVERITY_ERROR,
            json_sprintf("%s: extenders[%zu] (%s) binds the same pods%s", examined->from,
                         index, prefix_of(extender),
                         is_first ? ", and is asked first" : ""),
            json_string("Only the first extender that binds is asked, and newer "
                        "kube-schedulers refuse to start with two: without hamid's "
                        "queue each pod of a burst finds the node locked."),
            json_sprintf("extenders[%zu]: remove the line 'bindVerb: %s'; hamid's entry "
                         "alone has one.",
                         index, source_text(extender, "bindVerb")));
    }
}

static void check_duplicates(struct examined *examined)
{
    size_t i = 0;
    size_t k = 0;
    const json_t *extender = NULL;
    const json_t *resource = NULL;
    json_array_foreach(examined->extenders, i, extender)
    {
        json_array_foreach(json_object_get(extender, "managedResources"), k, resource)
        {
            const char *name = source_text(resource, "name");
            for (size_t before = 0; before < i; before++) {
                if (is_managing(json_array_get(examined->extenders, before), name)) {
                    doctor_find(
                        examined->doctor, SEVERITY_ERROR,
                        json_sprintf("%s: extenders[%zu] and extenders[%zu] both list "
                                     "the managed resource %s",
                                     examined->from, before, i, name),
                        json_string("kube-scheduler refuses to start: \"duplicate "
                                    "extender managed resource name\"."),
                        json_sprintf("Keep managedResources in hamid's entry alone, and "
                                     "remove '- name: %s' from the other one.",
                                     name));
                }
            }
        }
    }
}

/* ---- hamid's own entry ---------------------------------------------------------- */

/* A Duration's text; old policies have nanoseconds. */
static bool timeout_ms(const json_t *value, uint64_t *ret)
{
    uint64_t ns = 0;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *ret = (uint64_t)json_integer_value(value) / 1000000;
        return true;
    }
    if (!json_is_string(value) ||
        hamid_duration_parse(json_string_value(value), &ns) != 0) {
        return false;
    }
    *ret = ns / 1000000;
    return true;
}

static void check_timeout(struct examined *examined)
{
    const char *from = NULL;
    char said[32];
    char patience_text[32];
    uint64_t ms = 5000;
    uint64_t patience = doctor_patience_ms(examined->doctor, &from);
    const json_t *value = json_object_get(examined->hamid, "httpTimeout");
    bool is_said = value != NULL && !json_is_null(value);
    bool is_readable = !is_said || timeout_ms(value, &ms);
    hamid_duration_format(ms, said, sizeof(said));
    hamid_duration_format(patience, patience_text, sizeof(patience_text));
    if (patience == 0) {
        doctor_note(examined->doctor,
                    "%s; hamid's patience is in its file: name it by "
                    "--patience",
                    said);
    }
    if (!is_readable) {
        doctor_find(
            examined->doctor, SEVERITY_ERROR,
            json_sprintf("%s: extenders[%zu].httpTimeout is no duration", examined->from,
                         examined->hamid_index),
            json_string("kube-scheduler refuses to start."),
            json_sprintf("extenders[%zu]: 'httpTimeout: 600s'.", examined->hamid_index));
    } else if (ms < patience) {
        doctor_find(
            examined->doctor, SEVERITY_ERROR,
            json_sprintf("%s: extenders[%zu].httpTimeout is %s%s, less than hamid's "
                         "patience of %s (%s)",
                         examined->from, examined->hamid_index, said,
                         is_said ? "" : " (the default)", patience_text, from),
            json_string("kube-scheduler gives up binds that hamid still serves: the pod "
                        "waits again from the start, and the one that is bound late has "
                        "been given up already."),
            json_sprintf("extenders[%zu]: 'httpTimeout: 600s', and hamid's '--patience "
                         "600s'.",
                         examined->hamid_index));
    } else if (ms < SHORT_MS) {
        doctor_find(
            examined->doctor, SEVERITY_WARNING,
            json_sprintf("%s: extenders[%zu].httpTimeout is %s only", examined->from,
                         examined->hamid_index, said),
            json_string("A burst on one node takes minutes; binds that can't be served "
                        "within the timeout are refused and tried again, with "
                        "kube-scheduler's back-off in between."),
            json_sprintf("extenders[%zu]: 'httpTimeout: 600s', and hamid's '--patience "
                         "600s': a bind that waits costs a connection and holds up no "
                         "other pod.",
                         examined->hamid_index));
    } else if (patience != 0 && ms > 2 * patience) {
        doctor_find(
            examined->doctor, SEVERITY_WARNING,
            json_sprintf("%s: extenders[%zu].httpTimeout is %s, hamid's patience %s (%s)",
                         examined->from, examined->hamid_index, said, patience_text,
                         from),
            json_string("hamid answers earlier than it has to, and pods try again "
                        "instead of waiting for their turn."),
            json_sprintf("Start hamid with '--patience %s'.", said));
    }
}

static void check_ignorable(struct examined *examined)
{
    if (json_is_true(json_object_get(examined->hamid, "ignorable"))) {
        doctor_find(
            examined->doctor, SEVERITY_ERROR,
            json_sprintf("%s: extenders[%zu].ignorable is true", examined->from,
                         examined->hamid_index),
            json_string("Whenever hamid fails or refuses, kube-scheduler binds "
                        "by itself without any lock, and two pods can get each "
                        "other's devices."),
            json_sprintf("extenders[%zu]: 'ignorable: false'.", examined->hamid_index));
    }
}

static void check_resources(struct examined *examined)
{
    size_t index = 0;
    const json_t *resource = NULL;
    const json_t *resources = json_object_get(examined->hamid, "managedResources");
    if (json_array_size(resources) == 0) {
        doctor_find(
            examined->doctor, SEVERITY_WARNING,
            json_sprintf("%s: extenders[%zu] has no managedResources", examined->from,
                         examined->hamid_index),
            json_string("hamid is asked to bind every pod of the cluster, also those "
                        "without devices: while it is down nothing is scheduled."),
            json_sprintf("extenders[%zu]: list HAMi's resources, such as '- name: "
                         "nvidia.com/gpu' with 'ignoredByScheduler: true'.",
                         examined->hamid_index));
    }
    json_array_foreach(resources, index, resource)
    {
        const char *name = source_text(resource, "name");
        if (!json_is_true(json_object_get(resource, "ignoredByScheduler"))) {
            doctor_find(
                examined->doctor, SEVERITY_WARNING,
                json_sprintf("%s: managed resource %s lacks ignoredByScheduler: true",
                             examined->from, name),
                json_string("kube-scheduler counts the resource as well as HAMi: nodes "
                            "that have room for a share of a device are passed over."),
                json_sprintf("extenders[%zu].managedResources[%zu]: "
                             "'ignoredByScheduler: true'.",
                             examined->hamid_index, index));
        }
    }
}

/* ---- all of it ------------------------------------------------------------------ */

static void each(struct doctor *doctor, const char *name, const char *title,
                 void (*look)(struct examined *), bool needs_hamid)
{
    size_t index = 0;
    const json_t *entry = NULL;
    size_t looked = 0;
    doctor_begin(doctor, name, title);
    json_array_foreach(doctor->configs, index, entry)
    {
        struct examined examined = {
            .doctor = doctor,
            .from = source_text(entry, "from"),
            .extenders = json_object_get(json_object_get(entry, "config"), "extenders")};
        find_hamid(&examined);
        if (examined.hamid != NULL || !needs_hamid) {
            look(&examined);
            looked++;
        }
    }
    if (looked == 0) {
        doctor_skip(doctor, "%s",
                    json_array_size(doctor->configs) == 0
                        ? "no configuration of kube-scheduler was found"
                        : "hamid has no entry");
    }
}

void doctor_check_extenders(struct doctor *doctor)
{
    each(doctor, "hamid-extender", "kube-scheduler asks hamid to bind", check_entry,
         false);
    each(doctor, "other-binder", "no other extender binds the same pods",
         check_other_binders, false);
    each(doctor, "managed-resources", "each managed resource is listed once",
         check_duplicates, false);
    each(doctor, "http-timeout", "kube-scheduler waits as long as hamid does",
         check_timeout, true);
    each(doctor, "ignorable", "nothing is bound without hamid", check_ignorable, true);
    each(doctor, "ignored-by-scheduler", "HAMi alone counts its resources",
         check_resources, true);
}
