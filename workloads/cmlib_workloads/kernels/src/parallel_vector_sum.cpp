// Sum of many vectors of four; each thread adds into its own vector. Bad: threads' vectors follow one another.
#include "kernel.hpp"

static int64_t vector_sum(const std::vector<int32_t> &x, const Settings &s) {
    Slots sums(s, 4);
    long vectors = s.size / 4;
    CMLIB_REGION_BEGIN("vector_sum");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, vectors, s); i < first_of(t + 1, vectors, s); i++) {
            Word *sum = sums.at(t, i);
            for (int k = 0; k < 4; k++)
                add(sum[k], x[4 * i + k]);
        }
    });
    CMLIB_REGION_END("vector_sum");
    return sums.total(0) + 3 * sums.total(1) + 5 * sums.total(2) + 7 * sums.total(3);
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    auto x = numbers<int32_t>(s.size, 2, 1000);
    return repeat(s, [&](int) { return vector_sum(x, s); });
}
