// Sum of numbers; each thread adds into its own word. Bad: the words of all threads lie in one cache line.
#include "kernel.hpp"

static int64_t scalar_sum(const std::vector<int32_t> &x, const Settings &s) {
    Slots sums(s);
    CMLIB_REGION_BEGIN("scalar_sum");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++)
            add(*sums.at(t, i), x[i]);
    });
    CMLIB_REGION_END("scalar_sum");
    return sums.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    auto x = numbers<int32_t>(s.size, 1, 1000);
    return repeat(s, [&](int) { return scalar_sum(x, s); });
}
