// Colours of a picture (the pattern of Phoenix' histogram): each thread counts into the three tables of its argument.
// Bad: arguments follow one another, so that the last colours of one thread share a line with the pointer the next
// thread reads for every pixel. SHARING is the share of pixels of that last colour, in both forms.
#include "kernel.hpp"

struct ThreadArgument {
    std::atomic<const uint8_t *> pixels;
    Word n_pixels;
    std::atomic<int32_t> red[256], green[256], blue[256];
};

static void count(std::atomic<int32_t> &colour) {
    colour.store(colour.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

static int64_t calc_hist(const std::vector<uint8_t> &picture, const Settings &s) {
    size_t stride = s.bad ? sizeof(ThreadArgument) : (sizeof(ThreadArgument) + 255) / 128 * 128;
    auto *memory = static_cast<char *>(::operator new(stride * (static_cast<size_t>(s.threads) + 1), std::align_val_t{128}));
    auto argument = [&](int t) { return reinterpret_cast<ThreadArgument *>(memory + stride * static_cast<size_t>(t)); };
    for (int t = 0; t < s.threads; t++) {
        auto *own = new (argument(t)) ThreadArgument{};
        own->pixels = picture.data() + 3 * first_of(t, s.size, s);
        own->n_pixels = first_of(t + 1, s.size, s) - first_of(t, s.size, s);
    }
    CMLIB_REGION_BEGIN("calc_hist");
    parallel(s.threads, [&](int t) {
        ThreadArgument *own = argument(t);
        for (long i = 0; i < own->n_pixels.load(std::memory_order_relaxed); i++) {
            const uint8_t *pixel = own->pixels.load(std::memory_order_relaxed) + 3 * i;
            count(own->red[pixel[0]]);
            count(own->green[pixel[1]]);
            count(own->blue[pixel[2]]);
        }
    });
    CMLIB_REGION_END("calc_hist");
    int64_t sum = 0;
    for (int t = 0; t < s.threads; t++)
        for (int colour = 0; colour < 256; colour++)
            sum += (argument(t)->red[colour] + 3 * argument(t)->green[colour] + 5 * argument(t)->blue[colour]) * (colour + 1);
    ::operator delete(memory, std::align_val_t{128});
    return sum;
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    auto picture = numbers<uint8_t>(3 * s.size, 9, 240);
    for (long i = 0; i < s.size; i++)
        if (static_cast<long>(mix(static_cast<uint64_t>(i)) & 1023) < s.shared_of_1024())
            picture[3 * i + 2] = 255;
    return repeat(s, [&](int) { return calc_hist(picture, s); });
}
