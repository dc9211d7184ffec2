# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""recorder.py INCLUDE HEADER writes a header that every unit test is compiled with: each call of a
public function that returns a code is noted in the file that HAMI_ERRORS_SEEN names, if it failed."""

import pathlib
import sys

import listed

TOP = """/* Made by tests/errors/recorder.py. Calls by name are noted, those through a pointer are not; and none
 * where a test plays the library itself (ERRORS_UNSEEN). */
#if !defined(ERRORS_SEEN_H) && !defined(ERRORS_UNSEEN)
#define ERRORS_SEEN_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hami/handshake.h>
#include <hami/kubernetes.h>
#include <hami/memory.h>
#include <hami/nodelock.h>
#include <hami/transport.h>

static const char *errors_seen_path;

/* Read once: a test may change the environment. */
__attribute__((constructor)) static void errors_seen_start(void)
{
    errors_seen_path = getenv("HAMI_ERRORS_SEEN");
}

/* A line is one write at the end of the file, so that lines of several processes do not mix. */
__attribute__((unused)) static int errors_seen(const char *function, int code)
{
    if (code < 0 && errors_seen_path) {
        int before = errno;
        FILE *file = fopen(errors_seen_path, "ae");
        if (file) {
            (void)fprintf(file, "%s %d\\n", function, code);
            (void)fclose(file);
        }
        errno = before;
    }
    return code;
}

"""


def main():
    include, header = map(pathlib.Path, sys.argv[1:])
    names = [name for name in listed.listed(include) if " " not in name]
    macros = [f'#define {name}(...) errors_seen("{name}", {name}(__VA_ARGS__))\n' for name in names]
    header.write_text(TOP + "".join(macros) + "\n#endif\n", encoding="utf-8")


if __name__ == "__main__":
    main()
