// In how many elements two square matrices of SIZE rows are equal; a thread compares whole rows and counts in a word
// of its own. Bad: the words lie in one cache line.
#include "kernel.hpp"

static int64_t matrix_comp(const std::vector<int32_t> &a, const std::vector<int32_t> &b, const Settings &s) {
    Slots equal(s);
    long n = s.size;
    CMLIB_REGION_BEGIN("matrix_comp");
    parallel(s.threads, [&](int t) {
        for (long row = first_of(t, n, s); row < first_of(t + 1, n, s); row++)
            for (long column = 0; column < n; column++)
                add(*equal.at(t, column), a[row * n + column] == b[row * n + column]);
    });
    CMLIB_REGION_END("matrix_comp");
    return equal.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv, 2);
    auto a = numbers<int32_t>(s.size * s.size, 7, 3), b = numbers<int32_t>(s.size * s.size, 8, 3);
    return repeat(s, [&](int) { return matrix_comp(a, b, s); });
}
