// Which pages link where (the pattern of Phoenix' reverse_index): each thread looks for links in its part of a text,
// notes each in its own table and counts it. Bad: threads' counts of links, `use_len`, lie in one cache line.
#include "kernel.hpp"
#include <string>

static int64_t extract_links(const std::string &text, std::vector<std::vector<uint32_t>> &tables, const Settings &s) {
    Slots use_len(s);
    CMLIB_REGION_BEGIN("extract_links");
    parallel(s.threads, [&](int t) {
        std::vector<uint32_t> &table = tables[t];
        long last = first_of(t + 1, s.size, s), found = 0;
        for (long i = first_of(t, s.size, s); i < last; i++) {
            if (text[i] != '"')
                continue;
            uint32_t name = 0;
            for (i++; i < s.size && text[i] != '<'; i++)
                name = name * 31 + static_cast<uint8_t>(text[i]);
            table[name % table.size()]++;
            add(*use_len.at(t, found++), 1);
        }
    });
    CMLIB_REGION_END("extract_links");
    return use_len.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    std::string text;
    for (uint64_t link = 0; static_cast<long>(text.size()) < s.size; link++)
        text += "=\"" + std::to_string(mix(link) % 5000) + "<";
    std::vector<std::vector<uint32_t>> tables(s.threads, std::vector<uint32_t>(4096));
    return repeat(s, [&](int) { return extract_links(text, tables, s); });
}
