/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kubelet's books over its PodResources socket. Loop's thread; no lock.
 */
#include "books.h"

#include <stdio.h>
#include <stdlib.h>

#include "kubelet/kubelet.h"

struct books {
    struct hamid_grpc_client *client;
};

struct books_reading {
    struct hamid_kubelet_request *request;
    uint64_t started_ns;
    books_read_fn read;
    void *data;
};

struct books *books_new(struct event_base *base, const char *path)
{
    struct hamid_grpc_client_config config = {.path = path};
    struct books *books = calloc(1, sizeof(*books));

    if (books == NULL) {
        return NULL;
    }
    books->client = hamid_grpc_client_new(base, &config);
    return books->client != NULL ? books : books_free(books);
}

struct books *books_free(struct books *books)
{
    if (books != NULL) {
        hamid_grpc_client_free(books->client);
        free(books);
    }
    return NULL;
}

static size_t count_rows(const V1__ListPodResourcesResponse *list)
{
    size_t count = 0;

    for (size_t i = 0; i < list->n_pod_resources; i++) {
        for (size_t j = 0; j < list->pod_resources[i]->n_containers; j++) {
            count += list->pod_resources[i]->containers[j]->n_devices;
        }
    }
    return count;
}

static size_t fill_container(const V1__PodResources *pod,
                             const V1__ContainerResources *container,
                             struct books_row *rows)
{
    size_t count = 0;

    for (size_t i = 0; i < container->n_devices; i++) {
        const V1__ContainerDevices *devices = container->devices[i];

        if (devices->n_device_ids > 0) {
            rows[count++] = (struct books_row){
                .holding = {pod->namespace_name, pod->name, container->name,
                            devices->resource_name},
                .ids = devices->device_ids,
                .id_count = devices->n_device_ids,
            };
        }
    }
    return count;
}

static void tell_page(struct books_reading *reading,
                      const V1__ListPodResourcesResponse *list)
{
    struct books_row *rows = calloc(count_rows(list) + 1, sizeof(*rows));
    struct books_page page = {rows, 0, reading->started_ns};

    if (rows == NULL) {
        reading->read(reading->data, NULL, "out of memory");
        return;
    }
    for (size_t i = 0; i < list->n_pod_resources; i++) {
        const V1__PodResources *pod = list->pod_resources[i];

        for (size_t j = 0; j < pod->n_containers; j++) {
            page.count += fill_container(pod, pod->containers[j], rows + page.count);
        }
    }
    reading->read(reading->data, &page, "");
    free(rows);
}

static void listed(void *data, const ProtobufCMessage *answer,
                   const struct hamid_grpc_status *status)
{
    struct books_reading *reading = data;
    char problem[512];

    if (answer != NULL) {
        tell_page(reading, (const V1__ListPodResourcesResponse *)answer);
    } else {
        (void)snprintf(problem, sizeof(problem),
                       "the kubelet's books could not be read: %s: %.400s",
                       hamid_grpc_code_name(status->code), status->text);
        reading->read(reading->data, NULL, problem);
    }
    free(reading);
}

struct books_reading *books_read_start(struct books *books, uint64_t timeout_ms,
                                       books_read_fn read, void *data)
{
    struct books_reading *reading = calloc(1, sizeof(*reading));

    if (reading == NULL) {
        return NULL;
    }
    reading->read = read;
    reading->data = data;
    reading->started_ns = hami_kubernetes_now();
    reading->request =
        hamid_kubelet_pods_list(books->client, timeout_ms, listed, reading);
    if (reading->request == NULL) {
        free(reading);
        return NULL;
    }
    return reading;
}

void books_read_cancel(struct books_reading *reading)
{
    hamid_kubelet_request_cancel(reading->request);
    free(reading);
}

struct hami_handshake_holding *books_holdings(const struct books_page *page)
{
    struct hami_handshake_holding *holdings = calloc(page->count + 1, sizeof(*holdings));

    for (size_t i = 0; holdings != NULL && i < page->count; i++) {
        holdings[i] = page->rows[i].holding;
    }
    return holdings;
}
