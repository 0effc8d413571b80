// Rows read through an index (MySQL's case, bug 79454): each thread looks rows up by bisection and counts them in
// `n_rows_read` of its index. Bad: the counts are one array of words, as in 5.6. Good: each has its own line.
#include "kernel.hpp"

static int64_t read_rows(const std::vector<int64_t> &index, const Settings &s) {
    Slots n_rows_read(s, 1);
    Slots sums(good_form(s));
    CMLIB_REGION_BEGIN("row_search_for_mysql");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++) {
            int64_t wanted = index[mix(i) % index.size()];
            size_t low = 0, length = index.size();
            for (size_t half = length / 2; length > 1; half = length / 2) {
                low = index[low + half] <= wanted ? low + half : low;
                length -= half;
                add(*n_rows_read.at(t, i), 1);
            }
            add(*sums.at(t, i), static_cast<int64_t>(low));
        }
    });
    CMLIB_REGION_END("row_search_for_mysql");
    return sums.total() + n_rows_read.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    std::vector<int64_t> index(1 << 10);
    for (size_t i = 0; i < index.size(); i++)
        index[i] = static_cast<int64_t>(3 * i);
    return repeat(s, [&](int) { return read_rows(index, s); });
}
