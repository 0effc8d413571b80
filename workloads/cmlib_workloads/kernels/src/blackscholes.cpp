// Prices of options (the pattern of PARSEC's blackscholes): threads read five numbers an option from `buffer`.
// Bad: the buffer lies on one NUMA node. Good: interleaved over all.
#include "numa.hpp"
#include <cmath>

static double normal(double x) { return 0.5 * std::erfc(-x * 0.7071067811865476); }

static int64_t bs_thread(const double *buffer, std::vector<double> &prices, const Settings &s) {
    CMLIB_REGION_BEGIN("bs_thread");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++) {
            const double *option = buffer + 5 * i;
            double spread = option[3] * std::sqrt(option[4]);
            double d1 = (std::log(option[0] / option[1]) + (option[2] + option[3] * option[3] / 2) * option[4]) / spread;
            prices[i] = option[0] * normal(d1) - option[1] * std::exp(-option[2] * option[4]) * normal(d1 - spread);
        }
    });
    CMLIB_REGION_END("bs_thread");
    int64_t sum = 0;
    for (double price : prices)
        sum += std::llround(price * 1e6);
    return sum;
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    const double *buffer = numa_array(5 * s.size, s);
    std::vector<double> prices(s.size);
    return repeat(s, [&](int) { return bs_thread(buffer, prices, s); });
}
