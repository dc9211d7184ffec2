/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a Binding that decide and write, pure; binding.c also has the public
 * functions.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_BINDING_H
#define HAMI_INTERNAL_KUBERNETES_BINDING_H

#include <hami/nodelock.h>

/* What a pod says about a Binding that was refused or not answered. */
enum hami_internal_binding_verdict {
    HAMI_INTERNAL_BINDING_BOUND = 0, /* it is bound here */
    HAMI_INTERNAL_BINDING_LOST,      /* it never will be, by us */
    HAMI_INTERNAL_BINDING_OPEN /* it can still be bound under this lease, by the version
                                  read */
};

/*
 * Judges a pod that was read after the Binding was sent.
 * @lease    what the lease says of owner and node
 * @pod      facts of source READ
 * @ret_text why, for people; a constant
 */
enum hami_internal_binding_verdict
hami_internal_binding_judge(const struct hami_lease_view *lease,
                            const struct hami_owner_facts *pod, const char **ret_text);

/*
 * Writes the Binding's JSON.
 * @version  the pod's resourceVersion that must stand
 * @time_s   seconds since 1970, for people and for HAMi
 * Returns   0, or NOMEM, PROTO (a text is not UTF-8)
 */
int hami_internal_binding_format(const struct hami_lease_view *lease, const char *version,
                                 int64_t time_s, char **ret);

#endif
