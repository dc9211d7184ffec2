/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else schedules the same pods, and which versions of HAMi's device plugins run.
 * Reads doctor->pods and ->nodes alone.
 */
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "sources.h"

/* "Deployment/..." as far as a pod tells: its controller, a ReplicaSet without its hash.
 */
static void controller_of(const json_t *pod, char *buffer, size_t size)
{
    size_t index = 0;
    const json_t *owner = NULL;
    const json_t *metadata = json_object_get(pod, "metadata");
    const char *hash =
        source_text(json_object_get(metadata, "labels"), "pod-template-hash");
    const char *namespace_name = source_text(metadata, "namespace");
    (void)snprintf(buffer, size, "Pod %s/%s", namespace_name,
                   source_text(metadata, "name"));
    json_array_foreach(json_object_get(metadata, "ownerReferences"), index, owner)
    {
        const char *name = source_text(owner, "name");
        size_t length = strlen(name);
        size_t tail = strlen(hash);
        if (!json_is_true(json_object_get(owner, "controller"))) {
            continue;
        }
        if (tail > 0 && length > tail + 1 && strcmp(name + length - tail, hash) == 0) {
            (void)snprintf(buffer, size, "Deployment %s/%.*s", namespace_name,
                           (int)(length - tail - 1), name);
        } else {
            (void)snprintf(buffer, size, "%s %s/%s", source_text(owner, "kind"),
                           namespace_name, name);
        }
    }
}

static bool is_hamid_scheduler(const json_t *container)
{
    return doctor_is_hamid(container, "scheduler");
}

static void find_two(struct doctor *doctor, const char *one, const char *other)
{
    doctor_find(
        doctor, SEVERITY_ERROR,
        json_sprintf("two HAMi schedulers run: %s and %s", one, other),
        json_string("Each keeps its own books of the same devices, and HAMi's own "
                    "bind releases locks by the pod's name: one takes the lock "
                    "that the other's pod holds."),
        json_sprintf("Keep the one that hamid stands before, and remove the "
                     "other: kubectl scale --replicas=0 on %s.",
                     other));
}

/* HAMi's scheduler with a kube-scheduler of its own and without hamid binds by itself. */
static void check_alone(struct doctor *doctor, const json_t *pod, const char *controller)
{
    if (doctor->hamid_pod != NULL && doctor_runs(pod, doctor_is_kube_scheduler) &&
        !doctor_runs(pod, is_hamid_scheduler)) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("%s has HAMi's scheduler and a kube-scheduler, but no "
                                 "hamid, while hamid runs elsewhere",
                                 controller),
                    json_string("That kube-scheduler's pods are bound by HAMi, which "
                                "releases locks by name beside hamid's."),
                    json_string("Put hamid's container into that pod and its address "
                                "into the extender's urlPrefix."));
    }
}

/* Which of HAMi's schedulers there are, by their controllers: {"CONTROLLER": true}. */
static void check_pods(struct doctor *doctor)
{
    char controller[400];
    size_t index = 0;
    const json_t *pod = NULL;
    json_t *seen = json_object();
    json_array_foreach(doctor->pods, index, pod)
    {
        if (!doctor_runs(pod, doctor_is_hami_scheduler)) {
            continue;
        }
        controller_of(pod, controller, sizeof(controller));
        if (json_object_get(seen, controller) != NULL) {
            continue;
        }
        const char *first = json_object_iter_key(json_object_iter(seen));
        if (first != NULL) {
            find_two(doctor, first, controller);
        }
        (void)json_object_set_new(seen, controller, json_true());
        check_alone(doctor, pod, controller);
    }
    if (json_object_size(seen) == 1) {
        doctor_note(doctor, "%s", json_object_iter_key(json_object_iter(seen)));
    }
    json_decref(seen);
}

/* A lock that another writer put over ours: the lease beside it is for another value. */
static void check_overwritten(struct doctor *doctor)
{
    size_t index = 0;
    const json_t *metadata = NULL;
    json_array_foreach(doctor->nodes, index, metadata)
    {
        const json_t *annotations = json_object_get(metadata, "annotations");
        const char *value = source_text(annotations, HAMI_NODELOCK_KEY);
        json_t *lease =
            json_loads(source_text(annotations, HAMI_NODELOCK_LEASE_KEY), 0, NULL);
        const char *written = source_text(lease, "lock");
        if (value[0] != '\0' && written[0] != '\0' && strcmp(value, written) != 0) {
            doctor_find(
                doctor, SEVERITY_ERROR,
                json_sprintf("node %s: the lock '%s' was written over that of a pod that "
                             "hamid had locked it for ('%s')",
                             source_text(metadata, "name"), value, written),
                json_string("Another scheduler locks the same node without looking: two "
                            "pods can be between bind and Allocate at once, and get each "
                            "other's devices."),
                json_string("Find the scheduler that wrote it (managedFields: kubectl "
                            "get node NODE -o yaml --show-managed-fields), and let it "
                            "bind through hamid, or take its schedulerName away."));
        }
        json_decref(lease);
    }
}

static void check_one_scheduler(struct doctor *doctor)
{
    doctor_begin(doctor, "one-scheduler", "one scheduler alone locks the nodes");
    if (doctor->pods == NULL && doctor->nodes == NULL) {
        doctor_skip(doctor, "%s", doctor->pods_error);
        return;
    }
    check_pods(doctor);
    check_overwritten(doctor);
}

/* ---- plugins ---------------------------------------------------------------------- */

static bool is_device_plugin(const json_t *container)
{
    const char *name = source_text(container, "name");
    return strcmp(name, "device-plugin") == 0 || strstr(name, "device-plugin") != NULL;
}

/* "v2.9.0" of ".../hami:v2.9.0"; "" where the image has no tag. */
static const char *tag_of(const char *image)
{
    const char *slash = strrchr(image, '/');
    const char *colon = strchr(slash != NULL ? slash : image, ':');
    return colon != NULL ? colon + 1 : "";
}

/* HAMi's plugins of v2.7 to v2.9 remove whatever lock they find. */
static bool is_unguarded(const char *tag)
{
    unsigned major = 0;
    unsigned minor = 0;
    return sscanf(tag, "v%u.%u", &major, &minor) == 2 && major == 2 && minor < 10;
}

static void add_versions(const json_t *pod, json_t *versions)
{
    size_t index = 0;
    const json_t *container = NULL;
    json_array_foreach(json_object_get(json_object_get(pod, "spec"), "containers"), index,
                       container)
    {
        if (is_device_plugin(container)) {
            const char *tag = tag_of(source_text(container, "image"));
            const char *version = tag[0] != '\0' ? tag : "untagged";
            json_int_t before = json_integer_value(json_object_get(versions, version));
            (void)json_object_set_new(versions, version, json_integer(before + 1));
        }
    }
}

static void report_versions(struct doctor *doctor, json_t *versions)
{
    char text[512] = "";
    size_t length = 0;
    bool is_old = false;
    const char *version = NULL;
    json_t *count = NULL;
    json_object_foreach(versions, version, count)
    {
        int added = snprintf(text + length, sizeof(text) - length, "%s%s on %lld",
                             length > 0 ? ", " : "", version,
                             (long long)json_integer_value(count));
        length += added > 0 && length + (size_t)added < sizeof(text) ? (size_t)added : 0;
        is_old = is_old || is_unguarded(version);
    }
    doctor_note(doctor, "%s nodes", text);
    if (json_object_size(versions) > 1) {
        doctor_find(
            doctor, SEVERITY_WARNING,
            json_sprintf("device plugins of several versions run: %s nodes", text),
            json_string("They differ in when they release the lock; a burst "
                        "behaves differently on each node."),
            json_string("Finish the roll-out of HAMi's DaemonSet: kubectl "
                        "rollout status."));
    }
    if (is_old) {
        doctor_find(doctor, SEVERITY_INFO,
                    json_sprintf("device plugins before v2.10 run (%s nodes)", text),
                    json_string("Their last write removes whatever lock stands, without "
                                "looking; hamid therefore waits until a pod runs."),
                    json_string("Upgrade HAMi to v2.10 when you can; or run hamid node "
                                "as the plugins' gateway."));
    }
}

static void check_plugins(struct doctor *doctor)
{
    size_t index = 0;
    const json_t *pod = NULL;
    json_t *versions = json_object();
    doctor_begin(doctor, "plugin-versions", "device plugins are of one version");
    json_array_foreach(doctor->pods, index, pod)
    {
        add_versions(pod, versions);
    }
    if (json_object_size(versions) == 0) {
        doctor_skip(doctor, "%s",
                    doctor->pods == NULL ? doctor->pods_error
                                         : "no pod of HAMi's device plugin was seen");
    } else {
        report_versions(doctor, versions);
    }
    json_decref(versions);
}

void doctor_check_schedulers(struct doctor *doctor)
{
    check_one_scheduler(doctor);
    check_plugins(doctor);
}
