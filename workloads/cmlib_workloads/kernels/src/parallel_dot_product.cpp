// Dot product of two vectors; each thread adds into its own word. Bad: the words lie in one cache line.
#include "kernel.hpp"

static int64_t dot_product(const std::vector<int32_t> &x, const std::vector<int32_t> &y, const Settings &s) {
    Slots sums(s);
    CMLIB_REGION_BEGIN("dot_product");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++)
            add(*sums.at(t, i), static_cast<int64_t>(x[i]) * y[i]);
    });
    CMLIB_REGION_END("dot_product");
    return sums.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    auto x = numbers<int32_t>(s.size, 3, 1000), y = numbers<int32_t>(s.size, 4, 1000);
    return repeat(s, [&](int) { return dot_product(x, y, s); });
}
