/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of daemon/gateway where it was not built: no flag asks for it then. */
#include "gateway/gateway.h"

struct gateway *gateway_new(const struct gateway_config *config, char *error, size_t size)
{
    (void)config;
    (void)snprintf(error, size, "this build has no gateway");
    return NULL;
}

void gateway_stop(struct gateway *gateway)
{
    (void)gateway;
}

bool gateway_is_idle(const struct gateway *gateway)
{
    (void)gateway;
    return true;
}

void gateway_close(struct gateway *gateway)
{
    (void)gateway;
}

size_t gateway_pending(const struct gateway *gateway)
{
    (void)gateway;
    return 0;
}

struct gateway *gateway_free(struct gateway *gateway)
{
    (void)gateway;
    return NULL;
}

void gateway_metrics(FILE *out, void *data)
{
    (void)out;
    (void)data;
}
