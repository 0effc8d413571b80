// Boost's own pool of 41 spinlocks (boost/smart_ptr/detail/spinlock_pool.hpp, unchanged): each thread takes the lock of
// its own object and counts. Bad: the pool as it is, neighbouring locks in one cache line. Good: the same lock, padded.
#include <boost/smart_ptr/detail/spinlock_pool.hpp>

#include "kernel.hpp"

using boost::detail::spinlock;

struct alignas(128) PaddedSpinlock {
    spinlock lock = BOOST_DETAIL_SPINLOCK_INIT;
};
static PaddedSpinlock padded_pool[2][41];

static spinlock &padded_for(int pool, const void *object) {
    return padded_pool[pool][reinterpret_cast<std::size_t>(object) % 41].lock;
}

static int64_t with_spinlocks(const Settings &s) {
    static char objects[64];
    Slots counts(good_form(s));
    CMLIB_REGION_BEGIN("spinlock_for");
    parallel(s.threads, [&](int t) {
        const void *object = objects + t;
        spinlock &shared = s.bad ? boost::detail::spinlock_pool<0>::spinlock_for(object) : padded_for(0, object);
        spinlock &own = padded_for(1, object);
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++) {
            spinlock::scoped_lock guard((i & 1023) < s.shared_of_1024() ? shared : own);
            add(*counts.at(t, i), i);
        }
    });
    CMLIB_REGION_END("spinlock_for");
    return counts.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    return repeat(s, [&](int) { return with_spinlocks(s); });
}
