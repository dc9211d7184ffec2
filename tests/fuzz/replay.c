/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over the files of a folder, without a fuzzer: each file whole, and
 * then each of its beginnings, for a text that breaks off is the commonest fault. One TAP
 * point a file; a file that breaks an invariant ends the program.
 */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

#define FILE_MAX (64u * 1024)
#define BEGINNINGS_MAX 2048 /* of one file */

static int by_name(const struct dirent **one, const struct dirent **other)
{
    return strcmp((*one)->d_name, (*other)->d_name);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run(const char *bytes, size_t length)
{
    /* Of exactly this size, so that reading past it is seen. */
    uint8_t *copy = malloc(length > 0 ? length : 1);

    FUZZ_CHECK(copy != NULL);
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    (void)LLVMFuzzerTestOneInput(copy, length);
    free(copy);
}

static bool replay(const char *folder, const char *name)
{
    static char bytes[FILE_MAX];
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)printf("# %s: %s\n", path, strerror(errno));
        return false;
    }
    size_t length = fread(bytes, 1, sizeof(bytes), file);
    bool whole = feof(file) != 0;
    (void)fclose(file);
    if (!whole) {
        (void)printf("# %s is larger than %u bytes\n", path, FILE_MAX);
        return false;
    }
    (void)printf("# %s, %zu bytes\n", name, length);
    (void)fflush(stdout);
    run(bytes, length);
    for (size_t i = 0; i < length && i < BEGINNINGS_MAX; i++) {
        run(bytes, i);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int failed = 0;
    int count = argc == 2 ? scandir(argv[1], &entries, is_input, by_name) : -1;

    if (count <= 0) {
        (void)printf("Bail out! usage: %s FOLDER (with at least one file)\n", argv[0]);
        return 99;
    }
    (void)printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        bool good = replay(argv[1], entries[i]->d_name);

        failed += good ? 0 : 1;
        (void)printf("%sok %d - %s and each of its beginnings\n", good ? "" : "not ",
                     i + 1, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return failed == 0 ? 0 : 1;
}
