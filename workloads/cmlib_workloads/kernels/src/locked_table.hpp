// A hash table whose buckets are guarded by a few locks.
#ifndef LOCKED_TABLE_HPP
#define LOCKED_TABLE_HPP

#include <memory>
#include <mutex>

#include "kernel.hpp"

// A bucket always has the same lock: the common one for the share of buckets that the bad form puts under it.
class BucketLocks {
  public:
    static constexpr uint64_t LOCKS = 256;
    explicit BucketLocks(const Settings &s) : limit_(s.bad ? static_cast<uint64_t>(s.shared_of_1024()) : 0), locks_(LOCKS) {}
    std::mutex &of(uint64_t bucket) { return locks_[(mix(bucket) & 1023) < limit_ ? 0 : bucket % LOCKS].mutex; }

  private:
    struct alignas(128) Lock {
        std::mutex mutex;
    };
    uint64_t limit_;
    std::vector<Lock> locks_;
};

#endif
