/* The time of each kernel, compared with the copy bandwidth of the same run. Numbers are random: no time depends on them. */
#pragma once
#include "device.h"
#include <algorithm>
#include <functional>
#include <stdio.h>

__global__ void copy_words(size_t count, const double2* __restrict__ from, double2* __restrict__ to) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/* Median of 30 runs, in microseconds; the first and the third quartile. */
struct Time {
    double median, low, high;
};

static Time time_of(const std::function<void()>& launch) {
    GPU(Event_t) start, end;
    check(GPU(EventCreate)(&start), "failed to make an event");
    check(GPU(EventCreate)(&end), "failed to make an event");
    std::vector<float> times;
    for (int run = -5; run < 30; run++) {
        check(GPU(EventRecord)(start, 0), "failed to record an event");
        launch();
        check(GPU(EventRecord)(end, 0), "failed to record an event");
        check(GPU(EventSynchronize)(end), "failed to wait");
        float milliseconds = 0;
        check(GPU(EventElapsedTime)(&milliseconds, start, end), "failed to read a time");
        if (run >= 0)
            times.push_back(milliseconds);
    }
    (void)GPU(EventDestroy)(start);
    (void)GPU(EventDestroy)(end);
    std::sort(times.begin(), times.end());
    return {1e3 * times[15], 1e3 * times[7], 1e3 * times[22]};
}

template <typename R>
static std::vector<Complex<R>> random_field(size_t count) {
    std::vector<Complex<R>> field(count);
    uint64_t state = 1;
    const auto next = [&] { return (R)((int64_t)(state = state * 6364136223846793005u + 1442695040888963407u) >> 11) / (R)(1ll << 52); };
    for (auto& word : field) {
        const R re = next();
        word = {re, next()};
    }
    return field;
}

static void show(const char* kernel, const char* precision, const char* sites, int reals, Time time, double bytes, double copy) {
    const double rate = bytes / time.median / 1e3;
    printf("%-10s %s %-5s %2d  %8.1f us (%.1f to %.1f)  %7.0f GB/s  %3.0f%% of copy\n", kernel, precision, sites, reals, time.median, time.low, time.high, rate, 100 * rate / copy);
}

template <typename R>
static void bench_precision(const unsigned (&extent)[4], const char* precision, double copy) {
    const Lattice all = {{extent[0], extent[1], extent[2], extent[3]}, {1, 1, 1, -1}, -1};
    const size_t volume = all.volume();
    const Buffer<Complex<R>> links(random_field<R>(72 * volume)), in(random_field<R>(12 * volume)), blocks(random_field<R>(36 * volume)),
        chi(random_field<R>(12 * volume));
    Buffer<Complex<R>> out(12 * volume);
    const Buffer<Accumulator> sum(std::vector<Accumulator>(1));
    for (int reals : {18, 12, 8}) {
        for (int parity : {0, -1}) {
            Lattice lattice = all;
            lattice.parity = parity;
            for (Then then : {STORE, MULTIPLY, SUBTRACT}) {
                if (then != STORE && parity < 0)
                    continue;
                const HopCall<R> call = {lattice, links.data, in.data, blocks.data, chi.data, out.data};
                const char* name = then == STORE ? "hop" : then == MULTIPLY ? "eo_clover" : "oe_clover";
                /* Each field once. */
                const double words = 8 * reals + 24 + 24 + (then != STORE ? 72 : 0) + (then == SUBTRACT ? 24 : 0);
                show(name, precision, parity < 0 ? "full" : "even", reals, time_of([&] { launch_hop<R>(call, reals, false, then); }),
                     words * sizeof(R) * lattice.sites(), copy);
            }
        }
    }
    const Time time = time_of([&] { launch_norm2<R>(all.sites(), 12, in.data, sum.data); });
    show("norm2", precision, "full", 0, time, 24.0 * sizeof(R) * volume, copy);
}

static void bench(const unsigned (&extent)[4]) {
    const size_t count = 1 << 26;
    const Buffer<double2> from(count), to(count);
    check(GPU(Memset)(from.data, 0, count * sizeof(double2)), "failed to clear");
    const Time time = time_of([&] { copy_words<<<1056, 1024>>>(count, from.data, to.data); });
    const double copy = 2.0 * count * sizeof(double2) / time.median / 1e3;
    printf("lattice %u.%u.%u.%u; copy %.0f GB/s; medians of 30 (quartiles)\n", extent[0], extent[1], extent[2], extent[3], copy);
    bench_precision<float>(extent, "f32", copy);
    bench_precision<double>(extent, "f64", copy);
}
