/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies that the floor sends, and sums. */
#include "floor_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOCK_PATH "/metadata/annotations/floor.example~1mutex.lock"
#define LEASE_PATH "/metadata/annotations/floor.example~1mutex.lease"
#define POD_PATH "/metadata/annotations/hami.io~1"

void die(const char *what, const char *detail)
{
    fprintf(stderr, "floor: %s: %s\n", what, detail);
    exit(1);
}

void fits(int length, size_t size)
{
    if (length < 0 || (size_t)length >= size) {
        die("a text is too long", "names, or the server's address");
    }
}

void pair_begin(struct pair *pair)
{
    memcpy(pair->lock, "none", sizeof("none"));
    memcpy(pair->lease, "none", sizeof("none"));
}

void pair_next(struct pair *pair, const char *name, const char *uid)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &parts);
    pair->fence++;
    unsigned long long fence = (unsigned long long)pair->fence;
    fits(snprintf(pair->next_lock, TEXT_MAX, "%s,default,%s", stamp, name), TEXT_MAX);
    fits(snprintf(pair->next_lease, TEXT_MAX,
                  "{\\\"version\\\":1,\\\"lock\\\":\\\"%s,default,%s\\\","
                  "\\\"uid\\\":\\\"%s\\\",\\\"fence\\\":\\\"%llu\\\","
                  "\\\"holder\\\":\\\"floor_0123456789abcdef0123456789abcdef\\\","
                  "\\\"attempt\\\":\\\"%llu\\\",\\\"hold_ms\\\":15000,"
                  "\\\"free\\\":\\\"node\\\"}",
                  stamp, name, uid, fence, fence),
         TEXT_MAX);
}

void pair_is_written(struct pair *pair)
{
    memcpy(pair->lock, pair->next_lock, sizeof(pair->lock));
    memcpy(pair->lease, pair->next_lease, sizeof(pair->lease));
}

void text_node_begin(char *body, const struct pair *pair)
{
    fits(snprintf(body, BODY_MAX,
                  "[{\"op\":\"add\",\"path\":\"" LOCK_PATH "\",\"value\":\"%s\"},"
                  "{\"op\":\"add\",\"path\":\"" LEASE_PATH "\",\"value\":\"%s\"}]",
                  pair->lock, pair->lease),
         BODY_MAX);
}

void text_node_patch(char *body, const struct pair *pair)
{
    fits(snprintf(body, BODY_MAX,
                  "[{\"op\":\"test\",\"path\":\"" LOCK_PATH "\",\"value\":\"%s\"},"
                  "{\"op\":\"test\",\"path\":\"" LEASE_PATH "\",\"value\":\"%s\"},"
                  "{\"op\":\"add\",\"path\":\"" LOCK_PATH "\",\"value\":\"%s\"},"
                  "{\"op\":\"add\",\"path\":\"" LEASE_PATH "\",\"value\":\"%s\"}]",
                  pair->lock, pair->lease, pair->next_lock, pair->next_lease),
         BODY_MAX);
}

void text_binding(char *body, const char *name, const char *uid, const char *node,
                  uint64_t fence)
{
    fits(snprintf(body, BODY_MAX,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{"
                  "\"name\":\"%s\",\"namespace\":\"default\",\"uid\":\"%s\","
                  "\"annotations\":{\"hami.io/bind-phase\":\"allocating\","
                  "\"hami.io/bind-time\":\"%lld\",\"hami.io/mutex.fence\":\"%llu\"}},"
                  "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%s\"}}",
                  name, uid, (long long)time(NULL), (unsigned long long)fence, node),
         BODY_MAX);
}

void text_pod(char *body, const char *name, const char *node)
{
    fits(snprintf(
             body, BODY_MAX,
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"default\",\"annotations\":{\"hami.io/vgpu-node\":\"%s\","
             "\"hami.io/vgpu-devices-to-allocate\":"
             "\"GPU-%s-0,NVIDIA,1024,5:;\"}},"
             "\"spec\":{\"schedulerName\":\"bench-scheduler\",\"containers\":[{"
             "\"name\":\"work\",\"image\":\"registry.example/work:1\","
             "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"},"
             "\"requests\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
             name, node, node),
         BODY_MAX);
}

void text_success(char *body, const char *uid, uint64_t fence)
{
    fits(snprintf(body, BODY_MAX,
                  "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%s\"},"
                  "{\"op\":\"replace\",\"path\":\"" POD_PATH
                  "vgpu-devices-to-allocate\",\"value\":\";\"},"
                  "{\"op\":\"add\",\"path\":\"" POD_PATH "bind-phase\","
                  "\"value\":\"success\"},"
                  "{\"op\":\"add\",\"path\":\"" POD_PATH "mutex.done\","
                  "\"value\":\"%llu\"}]",
                  uid, (unsigned long long)fence),
         BODY_MAX);
}

int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return count == 0 ? 0 : values[count / 2];
}
