/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which free ids suit a container best. A container that asks for two shares wants two
 * devices, for HAMi's strings name a device once a container; and devices of one NUMA
 * node reach each other faster.
 *
 * What is chosen here only keeps the kubelet's books in good order: which devices the
 * container really gets is decided in Allocate, by the pod's annotation.
 */
#include "preferred.h"

#include <stdlib.h>
#include <string.h>

struct choice {
    struct plugin_device **devices; /* of each id; NULL: none of ours */
    bool *is_taken;
    size_t count, wanted, taken;
    size_t *chosen;
};

static void take(struct choice *choice, size_t index)
{
    choice->is_taken[index] = true;
    choice->chosen[choice->taken++] = index;
}

static bool has(const struct choice *choice, const struct plugin_device *device)
{
    for (size_t i = 0; i < choice->taken; i++) {
        if (choice->devices[choice->chosen[i]] == device) {
            return true;
        }
    }
    return false;
}

/* One pass over what is free. */
static void pass(struct choice *choice, bool only_new, bool only_near)
{
    for (size_t i = 0; i < choice->count && choice->taken < choice->wanted; i++) {
        const struct plugin_device *device = choice->devices[i];

        if (choice->is_taken[i] || (only_new && has(choice, device))) {
            continue;
        }
        if (only_near && choice->taken > 0) {
            const struct plugin_device *first = choice->devices[choice->chosen[0]];

            if (device == NULL || first == NULL || device->numa != first->numa) {
                continue;
            }
        }
        take(choice, i);
    }
}

static void take_musts(struct choice *choice,
                       const V1beta1__ContainerPreferredAllocationRequest *request)
{
    for (size_t i = 0; i < request->n_must_include_ids; i++) {
        for (size_t j = 0; j < choice->count && choice->taken < choice->wanted; j++) {
            if (!choice->is_taken[j] &&
                strcmp(request->available_ids[j], request->must_include_ids[i]) == 0) {
                take(choice, j);
                break;
            }
        }
    }
}

size_t preferred_choose(const struct plugin_settings *settings,
                        const V1beta1__ContainerPreferredAllocationRequest *request,
                        size_t wanted, size_t *chosen)
{
    size_t count = request->n_available_ids;
    struct choice choice = {.devices = calloc(count + 1, sizeof(*choice.devices)),
                            .is_taken = calloc(count + 1, sizeof(*choice.is_taken)),
                            .count = count,
                            .wanted = wanted,
                            .chosen = chosen};

    if (choice.devices != NULL && choice.is_taken != NULL) {
        for (size_t i = 0; i < count; i++) {
            choice.devices[i] = plugin_id_find(settings, request->available_ids[i]);
        }
        take_musts(&choice, request);
        pass(&choice, true, true);
        pass(&choice, true, false);
        pass(&choice, false, false);
    }
    free(choice.devices);
    free(choice.is_taken);
    return choice.taken;
}

/* One container's answer into the list; false where there are not enough ids, or no
 * memory. */
static bool answer_one(const struct plugin_settings *settings,
                       const V1beta1__ContainerPreferredAllocationRequest *request,
                       V1beta1__ContainerPreferredAllocationResponse *ret)
{
    size_t wanted = request->allocation_size > 0 ? (size_t)request->allocation_size : 0;
    size_t *chosen;

    if (wanted > request->n_available_ids) {
        return false;
    }
    chosen = calloc(wanted + 1, sizeof(*chosen));
    ret->ids = calloc(wanted + 1, sizeof(*ret->ids));
    if (chosen != NULL && ret->ids != NULL &&
        preferred_choose(settings, request, wanted, chosen) == wanted) {
        for (size_t i = 0; i < wanted; i++) {
            ret->ids[i] = request->available_ids[chosen[i]]; /* borrowed */
        }
        ret->n_ids = wanted;
    }
    free(chosen);
    return ret->n_ids == wanted;
}

void preferred_answer(const struct plugin_settings *settings,
                      struct hamid_grpc_call *call,
                      const V1beta1__PreferredAllocationRequest *request)
{
    V1beta1__PreferredAllocationResponse answer =
        V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
    size_t count = request->n_container_requests;
    V1beta1__ContainerPreferredAllocationResponse *each =
        calloc(count + 1, sizeof(*each));
    bool is_whole = each != NULL;

    answer.container_responses = calloc(count + 1, sizeof(*answer.container_responses));
    is_whole = is_whole && answer.container_responses != NULL;
    for (size_t i = 0; i < count && is_whole; i++) {
        v1beta1__container_preferred_allocation_response__init(&each[i]);
        answer.container_responses[i] = &each[i];
        answer.n_container_responses = i + 1;
        is_whole = answer_one(settings, request->container_requests[i], &each[i]);
    }
    if (is_whole) {
        hamid_kubelet_reply(call, &answer.base);
    } else {
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT,
                            "fewer ids are free than the container asks for");
    }
    for (size_t i = 0; i < answer.n_container_responses; i++) {
        free(each[i].ids);
    }
    free(each);
    free(answer.container_responses);
}
