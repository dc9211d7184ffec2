/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version of the headers and of the library that is really loaded, and the mark that makes a
 * symbol public. Included by every other header; usable alone.
 */
#ifndef HAMI_VERSION_H
#define HAMI_VERSION_H

#define HAMI_VERSION_MAJOR 0
#define HAMI_VERSION_MINOR 1
#define HAMI_VERSION_PATCH 0
#define HAMI_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define HAMI_PUBLIC __attribute__((visibility("default")))
#else
#define HAMI_PUBLIC
#endif

/* Initialises a struct that starts with `size`: everything zero, size set. */
#ifdef __cplusplus
template <typename T> inline T hami_sized()
{
    T t = T();
    t.size = sizeof(T);
    return t;
}
#define HAMI_SIZED(type) hami_sized<type>()
#else
#define HAMI_SIZED(type) {.size = sizeof(type)}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tells the version of the loaded library, for comparison with HAMI_VERSION_STRING.
 * Returns   a constant text such as "0.1.0"; never NULL
 * Blocks    never
 * Threads   MT-Safe
 * Signals   AS-Safe. Fork: usable in the child
 * Callback  yes
 * Life      borrowed for the life of the process
 * Since     0.1
 */
HAMI_PUBLIC const char *hami_version(void);

#ifdef __cplusplus
}
#endif

#endif
