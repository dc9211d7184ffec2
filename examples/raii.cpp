/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and exceptions: three pods take one node in turn, and one of them gives up
 * half-way. */
#include "raii.hpp"

#include <iostream>

using hami_example::Error;
using hami_example::Lease;
using hami_example::NodeLock;
using hami_example::Store;

static void bind(const NodeLock &lock, const char *pod, bool refused)
{
    const hami_owner owner = {"default", pod, pod};
    Lease lease = lock.acquire("node-1", owner, 5000);

    std::cout << pod << " has node-1, fence " << lease.fence() << "\n";
    if (refused) {
        throw std::runtime_error(std::string(pod) +
                                 " was not bound"); /* the lease goes back */
    }
    lease.release(5000);
}

int main()
{
    const Store store;
    const NodeLock lock(store.transport());

    try {
        bind(lock, "a", false);
        try {
            bind(lock, "b", true);
        } catch (const std::runtime_error &error) {
            std::cout << error.what() << "\n";
        }
        bind(lock, "c", false);
    } catch (const Error &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
