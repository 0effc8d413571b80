// Sums for a straight line through points (the pattern of Phoenix' linear_regression): each thread adds into the five
// sums of its argument. Bad: arguments of 40 bytes follow one another.
#include "kernel.hpp"

static int64_t linear_regression(const std::vector<uint8_t> &points, const Settings &s) {
    Slots sums(s, 5);
    CMLIB_REGION_BEGIN("linear_regression_pthread");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++) {
            int64_t x = points[2 * i], y = points[2 * i + 1];
            Word *sum = sums.at(t, i);
            add(sum[0], x);
            add(sum[1], x * x);
            add(sum[2], y);
            add(sum[3], y * y);
            add(sum[4], x * y);
        }
    });
    CMLIB_REGION_END("linear_regression_pthread");
    return s.size * sums.total(4) - sums.total(0) * sums.total(2) + 3 * sums.total(1) + 5 * sums.total(3);
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    auto points = numbers<uint8_t>(2 * s.size, 10, 256);
    return repeat(s, [&](int) { return linear_regression(points, s); });
}
