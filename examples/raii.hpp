/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface as C++ types that own what they hold: C++11, to be copied into a
 * project. A Lease that goes out of scope gives its lock back without waiting; where the
 * pod turned out bound meanwhile, the library hands the lock off instead. A store, a
 * manager and a client outlive what is made from them, as members and locals do in this
 * order.
 */
#ifndef HAMI_EXAMPLE_RAII_HPP
#define HAMI_EXAMPLE_RAII_HPP

#include <memory>
#include <stdexcept>
#include <string>

#include <hami/memory.h>

namespace hami_example
{

class Error : public std::runtime_error
{
  public:
    Error(int error_code, const std::string &text)
        : std::runtime_error(std::string(hami_errname(error_code)) + ": " + text),
          code(error_code)
    {
    }
    const int code; /* HAMI_E_.. */
};

inline void check(int code, const hami_error &error)
{
    if (code != 0) {
        throw Error(code, error.text);
    }
}

class Lease
{
  public:
    Lease(hami_nodelock *lock, hami_lease *lease) : lock_(lock), lease_(lease)
    {
    }
    Lease(Lease &&other) noexcept : lock_(other.lock_), lease_(other.take())
    {
    }
    Lease &operator=(Lease &&other) noexcept
    {
        if (this != &other) {
            drop();
            lock_ = other.lock_;
            lease_ = other.take();
        }
        return *this;
    }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    ~Lease()
    {
        drop();
    }

    uint64_t fence() const
    {
        return hami_lease_fence(lease_);
    }

    /* Gives the lock back and waits; throws where the store did not confirm it. */
    void release(uint64_t patience_ms)
    {
        hami_error error = HAMI_ERROR_INIT;
        check(hami_lease_release(take(), hami_nodelock_in_ms(lock_, patience_ms), &error),
              error);
    }

    /* The pod is bound, or may be: the node side gives the lock back. */
    void hand_off()
    {
        hami_error error = HAMI_ERROR_INIT;
        check(hami_lease_handoff(take()), error);
    }

  private:
    hami_lease *take() noexcept
    {
        hami_lease *lease = lease_;
        lease_ = nullptr;
        return lease;
    }
    void drop() noexcept
    {
        if (lease_) {
            (void)hami_lease_release_start(take(), HAMI_DEADLINE_NEVER, nullptr, nullptr);
        }
    }

    hami_nodelock *lock_;
    hami_lease *lease_;
};

struct Free {
    void operator()(hami_memory *store) const
    {
        hami_memory_free(store);
    }
    void operator()(hami_nodelock *lock) const
    {
        hami_nodelock_free(lock);
    }
};

class Store
{
  public:
    Store()
    {
        hami_memory *made = nullptr;
        check(hami_memory_new(0, &made), HAMI_ERROR_INIT);
        store_.reset(made);
    }
    hami_transport *transport() const
    {
        return hami_memory_transport(store_.get());
    }

  private:
    std::unique_ptr<hami_memory, Free> store_;
};

class NodeLock
{
  public:
    explicit NodeLock(hami_transport *transport)
    {
        hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
        hami_error error = HAMI_ERROR_INIT;
        hami_nodelock *made = nullptr;
        config.transport = transport;
        check(hami_nodelock_new(&config, &made, &error), error);
        lock_.reset(made);
    }

    /* Finishes what leases that went out of scope have begun. */
    ~NodeLock()
    {
        (void)hami_nodelock_shutdown(get(), hami_nodelock_in_ms(get(), 5000));
    }
    NodeLock(NodeLock &&) = delete;

    Lease acquire(const std::string &node, const hami_owner &pod,
                  uint64_t patience_ms) const
    {
        hami_nodelock_request want = HAMI_NODELOCK_REQUEST_INIT;
        hami_error error = HAMI_ERROR_INIT;
        hami_lease *lease = nullptr;
        want.node = node.c_str();
        want.owner = pod;
        want.deadline_ns = hami_nodelock_in_ms(get(), patience_ms);
        check(hami_nodelock_acquire(get(), &want, &lease, &error), error);
        return Lease(get(), lease);
    }

    hami_nodelock *get() const
    {
        return lock_.get();
    }

  private:
    std::unique_ptr<hami_nodelock, Free> lock_;
};

} // namespace hami_example

#endif
