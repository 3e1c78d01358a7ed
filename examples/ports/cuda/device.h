/* Memory of the device, and launches of the kernels by what is known when the program runs. */
#pragma once
#include "exact.h"
#include "kernels.h"
#include <stdexcept>
#include <string>
#include <vector>

static void check(GPU(Error_t) status, const char* what) {
    if (status != GPU(Success))
        throw std::runtime_error(std::string(what) + ": " + GPU(GetErrorString)(status));
}

/* An array of `count` T on the device. */
template <typename T>
class Buffer {
  public:
    explicit Buffer(size_t count) : count(count) { check(GPU(Malloc)((void**)&data, count * sizeof(T) + 1), "failed to allocate"); }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) {
        check(GPU(Memcpy)(data, from.data(), count * sizeof(T), GPU(MemcpyHostToDevice)), "failed to copy to the device");
    }
    ~Buffer() { (void)GPU(Free)(data); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::vector<T> download() const {
        std::vector<T> to(count);
        check(GPU(Memcpy)(to.data(), data, count * sizeof(T), GPU(MemcpyDeviceToHost)), "failed to copy from the device");
        return to;
    }

    T* data = nullptr;
    size_t count;
};

/* Launches a kernel for `count` threads, at most `most` blocks of `threads`. */
template <typename... P, typename... A>
static void launch(const char* name, void (*kernel)(P...), unsigned count, unsigned threads, unsigned most, A... arguments) {
    const unsigned needed = (count + threads - 1) / threads, blocks = needed < most ? needed : most;
#ifdef ON_HOST
    gridDim.x = blocks * threads;
    blockDim.x = 1;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        kernel(arguments...);
    (void)name;
#else
    kernel<<<blocks, threads>>>(arguments...);
    check(GPU(GetLastError)(), name);
#endif
}

/* What a hop reads and writes, on the device. */
template <typename R>
struct HopCall {
    Lattice lattice;
    const Complex<R>*links, *in, *blocks, *chi;
    Complex<R>* out;
};

template <typename R, int REALS, bool DAGGER, Then THEN>
static void launch_hop(const HopCall<R>& call) {
    launch("failed to launch the hop", hop<R, REALS, DAGGER, THEN>, call.lattice.sites(), 128, ~0u, call.lattice, call.links, call.in, call.blocks, call.chi, call.out);
}

template <typename R, int REALS, bool DAGGER>
static void launch_hop(const HopCall<R>& call, Then then) {
    switch (then) {
        case STORE: return launch_hop<R, REALS, DAGGER, STORE>(call);
        case MULTIPLY: return launch_hop<R, REALS, DAGGER, MULTIPLY>(call);
        case SUBTRACT: return launch_hop<R, REALS, DAGGER, SUBTRACT>(call);
    }
}

template <typename R>
static void launch_hop(const HopCall<R>& call, int reals, bool dagger, Then then) {
    switch (reals) {
        case 18: dagger ? launch_hop<R, 18, true>(call, then) : launch_hop<R, 18, false>(call, then); break;
        case 12: dagger ? launch_hop<R, 12, true>(call, then) : launch_hop<R, 12, false>(call, then); break;
        case 8: dagger ? launch_hop<R, 8, true>(call, then) : launch_hop<R, 8, false>(call, then); break;
        default: throw std::runtime_error("links of " + std::to_string(reals) + " reals: expected 18, 12 or 8");
    }
}

template <typename R>
static void launch_clover_apply(unsigned sites, const Complex<R>* blocks, const Complex<R>* in, Complex<R>* out) {
    launch("failed to launch clover_apply", clover_apply<R>, sites, 128, ~0u, sites, blocks, in, out);
}

/* Adds to an accumulator that holds zeros. */
template <typename R>
static void launch_norm2(unsigned sites, int words, const Complex<R>* x, Accumulator* sum) {
    launch("failed to launch norm2", norm2<R>, sites, NORM_THREADS, 1056, sites, words, x, sum);
}
