/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What is UTF-8 and what is not. Pure. */
#ifndef HAMI_INTERNAL_KUBERNETES_UTF8_H
#define HAMI_INTERNAL_KUBERNETES_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the character above 127 that begins here, 2 to 4; 0 if there is none: cut off,
 * longer than it need be, half of a pair, or beyond the last one.
 * @left  bytes that may be looked at, at least 1
 */
static inline size_t utf8_length(const char *bytes, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *text = (const unsigned char *)bytes;
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4 || length > left) {
        return 0;
    }
    uint32_t point = text[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (text[i] & 0x3fu);
    }
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[length] || is_surrogate || point > 0x10ffff ? 0 : length;
}

#endif
