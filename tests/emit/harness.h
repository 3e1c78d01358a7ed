/* What the programs share that run emitted kernels in the tests: arguments are read from files of a folder, and what is written is compared bit for bit
   with the files of what is expected, where any NaN is any other. In C, CUDA and HIP. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__HIPCC__)
#define RUNTIME(call) hip##call
#elif defined(__CUDACC__)
#define RUNTIME(call) cuda##call
#endif

/* An argument that is an array: on the host, and where the kernel runs. */
typedef struct {
    void *host, *device;
    size_t bytes;
} array;

static void fail(const char* what, const char* name) {
    fprintf(stderr, "%s: %s\n", what, name);
    exit(2);
}

/* Reads folder/name; nothing where there is no such file. */
static array read_file(const char* folder, const char* name) {
    char path[4096];
    array a = {0, 0, 0};
    FILE* file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (!file)
        return a;
    fseek(file, 0, SEEK_END);
    a.bytes = (size_t)ftell(file);
    rewind(file);
    a.host = malloc(a.bytes + 1);
    if (!a.host || fread(a.host, 1, a.bytes, file) != a.bytes)
        fail("failed to read", path);
    fclose(file);
    return a;
}

/* A number of folder/name. */
static void read_number(const char* folder, const char* name, void* to, size_t bytes) {
    array a = read_file(folder, name);
    if (a.bytes != bytes)
        fail("no such number", name);
    memcpy(to, a.host, bytes);
    free(a.host);
}

static array read_array(const char* folder, const char* name) {
    array a = read_file(folder, name);
    if (!a.host)
        fail("no such array", name);
#ifdef RUNTIME
    if (RUNTIME(Malloc)(&a.device, a.bytes + 1) || RUNTIME(Memcpy)(a.device, a.host, a.bytes, RUNTIME(MemcpyHostToDevice)))
        fail("failed to copy to the device", name);
#else
    a.device = a.host;
#endif
    return a;
}

/* Takes an array back to the host. */
static void fetch(array* a, const char* name) {
#ifdef RUNTIME
    if (RUNTIME(Memcpy)(a->host, a->device, a->bytes, RUNTIME(MemcpyDeviceToHost)) || RUNTIME(Free)(a->device))
        fail("failed to copy from the device", name);
#else
    (void)a, (void)name;
#endif
}

/* How many numbers differ from those of folder/name.expected, if there are such; numbers of `size` bytes. */
static int compare(const char* folder, const char* name, const void* found, size_t bytes, size_t size) {
    char path[256];
    array expected;
    size_t k;
    int differences = 0;
    snprintf(path, sizeof path, "%s.expected", name);
    expected = read_file(folder, path);
    if (!expected.host)
        return 0;
    if (expected.bytes != bytes)
        fail("another number of expected numbers", path);
    for (k = 0; k < bytes / size; ++k) {
        uint64_t bits[2] = {0, 0};
        const uint64_t infinity = size == 4 ? 0x7f800000u : (uint64_t)0x7ff << 52, magnitude = size == 4 ? 0x7fffffffu : ~((uint64_t)1 << 63);
        memcpy(bits, (const char*)found + k * size, size);
        memcpy(bits + 1, (const char*)expected.host + k * size, size);
        if (bits[0] == bits[1] || ((bits[0] & magnitude) > infinity && (bits[1] & magnitude) > infinity))
            continue;
        if (differences++ == 0)
            fprintf(stderr, "%s/%s: number %zu is %llx, expected %llx\n", folder, name, k, (unsigned long long)bits[0],
                    (unsigned long long)bits[1]);
    }
    free(expected.host);
    return differences;
}
