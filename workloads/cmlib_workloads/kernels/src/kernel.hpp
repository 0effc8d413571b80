// What all kernels share: their arguments, their threads, and words that lie next to each other or apart.
//
// Usage of each: PROGRAM good|bad THREADS SIZE REPEATS SHARING
// The two forms execute the same instructions on the same data and print the same checksum; they differ in where
// data lie or which lock guards them. SHARING (0-1) is the share of updates that the bad form makes at the
// contended place; in the good form those updates go elsewhere, by the same code.
#ifndef KERNEL_HPP
#define KERNEL_HPP

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "cmlib_region.h"

struct Settings {
    bool bad;
    int threads;
    long size;
    int repeats;
    double sharing;
    // Of every 1024 updates, those that count as shared.
    long shared_of_1024() const { return static_cast<long>(sharing * 1024 + 0.5); }
};

// The work of an invocation is `size` items to the power of `exponent`.
inline Settings settings(int argc, char **argv, int exponent = 1) {
    bool named = argc == 6 && (!std::strcmp(argv[1], "good") || !std::strcmp(argv[1], "bad"));
    Settings s{};
    if (named)
        s = {argv[1][0] == 'b', std::atoi(argv[2]), std::atol(argv[3]), std::atoi(argv[4]), std::atof(argv[5])};
    if (!named || s.threads < 1 || s.threads > 64 || s.size < 64 || s.repeats < 1 || s.sharing < 0 || s.sharing > 1) {
        std::fprintf(stderr, "usage: %s good|bad THREADS(1-64) SIZE(64-) REPEATS(1-) SHARING(0-1)\n", argv[0]);
        std::exit(2);
    }
    cmlib_region_threads(s.threads);
    uint64_t work = 1;
    for (int i = 0; i < exponent; i++)
        work *= static_cast<uint64_t>(s.size);
    cmlib_region_work(work);
    return s;
}

inline Settings good_form(Settings s) {
    s.bad = false;
    return s;
}

// Runs `work(thread)` in as many threads and waits for them.
template <class Work> void parallel(int threads, Work work) {
    std::vector<std::thread> running;
    for (int t = 0; t < threads; t++)
        running.emplace_back(work, t);
    for (auto &thread : running)
        thread.join();
}

// First item of thread t's part of n; its last is before first_of(t + 1).
inline long first_of(int t, long n, const Settings &s) { return n * t / s.threads; }

// Runs `once(repeat)`, which gives a number, as often as asked; prints the sum of the numbers and the time.
template <class Once> int repeat(const Settings &s, Once once) {
    auto start = std::chrono::steady_clock::now();
    uint64_t checksum = 0;
    for (int i = 0; i < s.repeats; i++)
        checksum = checksum * 31 + static_cast<uint64_t>(once(i));
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    std::printf("checksum %" PRIu64 "\nseconds %.6f\n", checksum, passed.count());
    return 0;
}

// The same numbers everywhere (splitmix64).
inline uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

template <class T> std::vector<T> numbers(long n, uint64_t seed, uint64_t below) {
    std::vector<T> made(static_cast<size_t>(n));
    for (long i = 0; i < n; i++)
        made[static_cast<size_t>(i)] = static_cast<T>(mix(seed + static_cast<uint64_t>(i)) % below);
    return made;
}

using Word = std::atomic<int64_t>;
constexpr long APART = 16; // words: two cache lines, as processors fetch them in pairs

// An update the compiler may not keep in a register, and no more than a load, an add and a store.
inline void add(Word &word, int64_t value) {
    word.store(word.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

// `width` words for each thread. Threads' words lie apart, but for those taken by shared updates in the bad form:
// they follow one another.
class Slots {
  public:
    Slots(const Settings &s, int width = 1)
        : width_(width), threads_(s.threads), near_stride_(s.bad ? width : apart(width)), limit_(s.shared_of_1024()),
          near_(fresh(s.threads)), own_(fresh(s.threads)) {}
    ~Slots() {
        ::operator delete[](near_, std::align_val_t{128});
        ::operator delete[](own_, std::align_val_t{128});
    }
    Slots(const Slots &) = delete;
    Slots &operator=(const Slots &) = delete;

    // Thread t's words for its update number i.
    Word *at(int t, long i) const { return (i & 1023) < limit_ ? near_ + t * near_stride_ : own_ + t * apart(width_); }

    int64_t of(int t, int field = 0) const { return near_[t * near_stride_ + field] + own_[t * apart(width_) + field]; }
    int64_t total(int field = 0) const {
        int64_t sum = 0;
        for (int t = 0; t < threads_; t++)
            sum += of(t, field);
        return sum;
    }

  private:
    static long apart(int width) { return (width + APART - 1) / APART * APART; }
    Word *fresh(int threads) const {
        auto n = static_cast<size_t>((threads + 1) * apart(width_));
        auto *words = static_cast<Word *>(::operator new[](n * sizeof(Word), std::align_val_t{128}));
        for (size_t i = 0; i < n; i++)
            new (words + i) Word(0);
        return words;
    }
    int width_, threads_;
    long near_stride_, limit_;
    Word *near_, *own_;
};

#endif
