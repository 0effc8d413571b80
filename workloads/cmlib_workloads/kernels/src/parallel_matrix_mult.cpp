// Product of two square matrices, SIZE rows each; a thread makes whole rows and adds up each element in a word of its
// own before it is stored. Bad: the words lie in one cache line.
#include "kernel.hpp"

static int64_t matrix_mult(const std::vector<int32_t> &a, const std::vector<int32_t> &b, std::vector<int64_t> &c,
                           const Settings &s) {
    Slots elements(s);
    long n = s.size;
    CMLIB_REGION_BEGIN("matrix_mult");
    parallel(s.threads, [&](int t) {
        int64_t before = 0;
        for (long row = first_of(t, n, s); row < first_of(t + 1, n, s); row++)
            for (long column = 0; column < n; column++) {
                for (long k = 0; k < n; k++)
                    add(*elements.at(t, k), static_cast<int64_t>(a[row * n + k]) * b[column * n + k]);
                int64_t after = elements.of(t);
                c[row * n + column] = after - before;
                before = after;
            }
    });
    CMLIB_REGION_END("matrix_mult");
    int64_t sum = 0;
    for (long i = 0; i < n * n; i++)
        sum += c[i] * (i % 97 + 1);
    return sum;
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv, 3);
    auto a = numbers<int32_t>(s.size * s.size, 5, 100), b = numbers<int32_t>(s.size * s.size, 6, 100);
    std::vector<int64_t> c(a.size());
    return repeat(s, [&](int) { return matrix_mult(a, b, c, s); });
}
