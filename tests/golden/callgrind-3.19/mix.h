static inline long mix(long s, long v) {
    if (v & 1) return s + v;
    return s ^ v;
}
