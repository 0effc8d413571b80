/* Load for memcached: zipf_client fill|load PORT KEYS REQUESTS CONNECTIONS SEED
 *
 * Keys are drawn by Zipf's law (exponent 0.99), nine requests in ten are "get", and a key's value always has the same
 * 60 to 1500 bytes. Each connection has one request under way. The same arguments ask for the same keys. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 4096, SMALLEST = 60, LARGEST = 1500 };

static uint64_t state;
static double *cumulative;
static long keys, hits, misses;
static char filler[LARGEST];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(void)
{
    return (double)(mix(state += 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
}

static void make_zipf(void)
{
    double total = 0;
    cumulative = malloc((size_t)keys * sizeof *cumulative);
    if (!cumulative)
        fail("malloc");
    for (long i = 0; i < keys; i++)
        cumulative[i] = total += pow((double)i + 1, -0.99);
}

static long draw(void)
{
    double wanted = uniform() * cumulative[keys - 1];
    long low = 0, high = keys - 1;
    while (low < high) {
        long middle = (low + high) / 2;
        if (cumulative[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void send_all(int connection, const char *text, size_t length)
{
    while (length) {
        ssize_t sent = write(connection, text, length);
        if (sent <= 0)
            fail("memcached takes no more requests");
        text += sent;
        length -= (size_t)sent;
    }
}

static void ask_set(int connection, long key)
{
    char text[BUFFER];
    int size = SMALLEST + (int)(mix((uint64_t)key + 1) % (LARGEST - SMALLEST + 1));
    int length = sprintf(text, "set key-%012ld 0 0 %d\r\n", key, size);
    memcpy(text + length, filler, (size_t)size);
    memcpy(text + length + size, "\r\n", 2);
    send_all(connection, text, (size_t)(length + size + 2));
}

static void ask_get(int connection, long key)
{
    char text[64];
    int length = sprintf(text, "get key-%012ld\r\n", key);
    send_all(connection, text, (size_t)length);
}

static void await(int connection)
{
    char text[BUFFER];
    size_t length = 0;
    for (;;) {
        ssize_t got = read(connection, text + length, sizeof text - 1 - length);
        if (got <= 0)
            fail("memcached gives no answer");
        length += (size_t)got;
        text[length] = 0;
        if (!strncmp(text, "VALUE", 5)) {
            if (length > 5 && !memcmp(text + length - 5, "END\r\n", 5)) {
                hits++;
                return;
            }
        } else if (!strcmp(text, "END\r\n")) {
            misses++;
            return;
        } else if (!strcmp(text, "STORED\r\n")) {
            return;
        } else if (text[length - 1] == '\n') {
            fprintf(stderr, "memcached says: %s", text);
            exit(1);
        }
    }
}

static int connected(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, connection = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address))
        fail("connect");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return connection;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: %s fill|load PORT KEYS REQUESTS CONNECTIONS SEED\n", argv[0]);
        return 2;
    }
    int fill = !strcmp(argv[1], "fill"), n = atoi(argv[5]), connections[n];
    keys = atol(argv[3]);
    state = strtoull(argv[6], NULL, 10);
    memset(filler, 'v', sizeof filler);
    long requests = fill ? keys : atol(argv[4]);
    if (!fill)
        make_zipf();
    for (int i = 0; i < n; i++)
        connections[i] = connected(atoi(argv[2]));

    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long done = 0; done < requests; done += n) {
        int round = requests - done < n ? (int)(requests - done) : n;
        for (int i = 0; i < round; i++) {
            if (fill)
                ask_set(connections[i], done + i);
            else if (uniform() < 0.9)
                ask_get(connections[i], draw());
            else
                ask_set(connections[i], draw());
        }
        for (int i = 0; i < round; i++)
            await(connections[i]);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    printf("%.0f requests/s, %ld hits, %ld misses\n", (double)requests / seconds, hits, misses);
    return 0;
}
