/* The exact norm (docs/arithmetic.md §8): the exact sum of one double a site, rounded once. How it is computed is free. Here a double is an integer times
   2^−1074, and the sum is an integer of 68 digits of 32 bits; each digit is held in 64 bits, so that 2^31 terms can be added to it without carries, in any
   order. Terms of a block of threads that are alike in size, as nearly all are, are first added in 128 bits. */
#pragma once
#include "arithmetic.h"
#include <stdint.h>

enum { DIGITS = 68, HAS_NAN = 1, HAS_INFINITY = 2 };

struct Accumulator {
    unsigned long long digit[DIGITS];
    unsigned flags;
};

/* |ψ|² of one site: s ← fma(x.re, x.re, s), then of x.im, word by word, in double. */
DEVICE double site_norm2(const Complex<R>* x, int words, unsigned sites) {
    double s = 0;
    for (int word = 0; word < words; word++) {
        const Complex<R> z = x[(size_t)word * sites];
        s = fma((double)z.re, (double)z.re, s);
        s = fma((double)z.im, (double)z.im, s);
    }
    return s;
}

/* Adds w · 2^(32·first − 1074). Digits of negative numbers are those of the two's complement. */
static __device__ __forceinline__ void add_digits(Accumulator* sum, int first, __int128 w) {
    atomicAdd(&sum->digit[first], (unsigned long long)(uint32_t)w);
    atomicAdd(&sum->digit[first + 1], (unsigned long long)(uint32_t)(w >> 32));
    atomicAdd(&sum->digit[first + 2], (unsigned long long)(uint32_t)(w >> 64));
    atomicAdd(&sum->digit[first + 3], (unsigned long long)(long long)(w >> 96));
}

#ifdef ON_HOST
enum { NORM_THREADS = 1 };
#else
enum { NORM_THREADS = 256 };
#endif

/* Adds |x|² of all sites to `sum`, which starts as zeros. */
template <typename R>
__global__ void __launch_bounds__(NORM_THREADS) norm2(unsigned sites, int words, const Complex<R>* __restrict__ x, Accumulator* sum) {
    __shared__ unsigned long long low[NORM_THREADS], high[NORM_THREADS];
    __shared__ int shared_first;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    if (threadIdx.x == 0) {
        /* The lowest digit of the 128 bits: 8 to 39 bits below those of this thread's first term. */
        const double term = thread < sites ? site_norm2(x + thread, words, sites) : 1.0;
        const int exponent = (int)(__double_as_longlong(term == 0 ? 1.0 : term) >> 52 & 0x7ff);
        shared_first = exponent < 9 ? 0 : (exponent - 9) / 32;
    }
    __syncthreads();
    const int first = shared_first;
    __int128 window = 0;
    int added = 0;
    for (unsigned site = thread; site < sites; site += threads) {
        const double term = site_norm2(x + site, words, sites);
        const long long bits = __double_as_longlong(term);
        const int exponent = (int)(bits >> 52 & 0x7ff);
        if (exponent == 0x7ff) {
            atomicOr(&sum->flags, term != term ? HAS_NAN : HAS_INFINITY);
            continue;
        }
        const int offset = (exponent ? exponent - 1 : 0) - 32 * first;
        const __int128 mantissa = (bits & 0xfffffffffffffll) | (exponent ? 1ll << 52 : 0);
        /* 2^103 a term, 2^13 of them a thread, 2^8 threads: less than 2^127. */
        if (offset >= 0 && offset <= 50 && added < 8192) {
            window += mantissa << offset;
            added++;
        } else if (mantissa != 0) {
            const int bit = offset + 32 * first;
            add_digits(sum, bit / 32, mantissa << bit % 32);
        }
    }
    low[threadIdx.x] = (unsigned long long)window;
    high[threadIdx.x] = (unsigned long long)(window >> 64);
    for (int half = NORM_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
            const unsigned long long a = low[threadIdx.x], b = low[threadIdx.x + half];
            low[threadIdx.x] = a + b;
            high[threadIdx.x] += high[threadIdx.x + half] + (a + b < a);
        }
    }
    if (threadIdx.x == 0)
        add_digits(sum, first, (__int128)((unsigned __int128)high[0] << 64 | low[0]));
}
