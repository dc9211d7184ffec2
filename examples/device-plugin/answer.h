/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one container gets, as the kubelet wants it said. No I/O.
 */
#ifndef DEVICE_PLUGIN_ANSWER_H
#define DEVICE_PLUGIN_ANSWER_H

#include "kubelet.h"
#include "settings.h"

/* A device as one container has it: a share of its memory and cores. */
struct plugin_share {
    const struct plugin_device *device;
    uint32_t memory_mib, cores;
};

/* For whom; texts may be "". */
struct plugin_receiver {
    const char *namespace_name, *pod, *container;
    uint64_t fence; /* 0 = none */
};

/*
 * Makes the answer for one container: the gifts of the file and of each device, every
 * placeholder filled in. Free with protobuf_c_message_free_unpacked(). NULL without
 * memory.
 */
V1beta1__ContainerAllocateResponse *
plugin_answer_new(const struct plugin_settings *settings,
                  const struct plugin_receiver *receiver,
                  const struct plugin_share *shares, size_t count);

/* A whole answer with room for so many containers, none yet. NULL without memory. */
V1beta1__AllocateResponse *plugin_answers_new(size_t count);

/*
 * Fills in the placeholders of a text: {uuids} {memory-mib} {cores} {count} {namespace}
 * {pod} {container} {fence}, lists joined by commas; with `index` >= 0 the text is one
 * device's: {uuid} {index} too, and {memory-mib} {cores} are that device's. Other braces
 * stay. To be freed; NULL without memory.
 */
char *plugin_answer_fill(const char *text, const struct plugin_receiver *receiver,
                         const struct plugin_share *shares, size_t count, int index);

#endif
