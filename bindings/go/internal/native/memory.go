// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package native

// #include <malloc.h>
//
// static size_t in_use(void)
// {
//     return mallinfo2().uordblks;
// }
import "C"

// MemoryInUse tells how many bytes C has allocated and not freed.
func MemoryInUse() int64 {
	return int64(C.in_use())
}
