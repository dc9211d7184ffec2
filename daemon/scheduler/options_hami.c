/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of HAMi's scheduler, v2.4 to v2.10, that mean nothing here. They are taken with
 * their values, and named in the log.
 */
#include "options.h"

static const char *const ignored_names[] = {
    "node-scheduler-policy",
    "gpu-scheduler-policy",
    "metrics-bind-address",
    "node-label-selector",
    "kube-qps",
    "kube-burst",
    "kube-timeout",
    "node-lock-retry-timeout",
    "force-overwrite-default-scheduler",
    "leader-elect",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "legacy-metrics",
    "debug",
    "device-config-file",
    "enable-ascend",
    "enable-iluvatar",
    "profiling",
    "default-mem",
    "default-cores",
    "default-gpu",
    "cambricon-mlu-name",
    "cambricon-mlu-memory",
    "cambricon-mlu-cores",
    "dcu-name",
    "dcu-memory",
    "dcu-cores",
    "mthreads-name",
    "mthreads-memory",
    "mthreads-cores",
    "metax-name",
    "metax-memory",
    "metax-cores",
    "metax-vgpu-name",
    "metax-vgpu-memory",
    "metax-vgpu-cores",
    "sgpu-topology-aware",
    "kunlun-name",
    "kunlun-vxpu-name",
    "kunlun-vxpu-memory",
    "enflame-vgcu-name",
    "enflame-vgcu-percentage",
    "enflame-gcu-name",
    "resource-name",
    "resource-mem",
    "resource-cores",
    "resource-mem-percentage",
    "resource-priority",
    "overwrite-env",
    "iluvatar-name",
    "iluvatar-memory",
    "iluvatar-cores",
    "aws-neuron-name",
    "aws-neuron-core-name",
    "logtostderr",
    "alsologtostderr",
    "stderrthreshold",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "add_dir_header",
    "skip_headers",
    "skip_log_headers",
    "one_output",
    "vmodule",
    "log_backtrace_at",
};

void scheduler_options_add_hamis(struct hamid_config *config,
                                 struct hamid_flag_list *ignored)
{
    for (size_t i = 0; i < sizeof(ignored_names) / sizeof(ignored_names[0]); i++) {
        const struct hamid_flag row = {
            .name = ignored_names[i], .kind = HAMID_FLAG_IGNORED, .value = ignored};
        hamid_config_add(config, &row, 1);
    }
}
