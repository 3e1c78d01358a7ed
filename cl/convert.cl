// A field in another precision, on the same cut of the lattice into lanes: element by element, rounded to nearest even; half precision by
// way of f32. PRECISION is that of the result, FROM that of the field that is read. Counterpart: reference/src/kernels/convert.rs.

#include "accelerator.clh"

#ifndef FROM
#define FROM 64
#endif

// Where a word of the field that is read lies.
#define FROM_INDEX(word, words) lane_index_of(part, word, words, lane, FROM, TOGETHER(FROM))

// Words of a part.
#ifndef WORDS
#define WORDS 12
#endif

#if FROM == 64
typedef double2 source_word;
accelerator_inline double2 source(__global const source_word* x, size_t part, uint word, uint lane) {
    return x[FROM_INDEX(word, WORDS)];
}
#elif FROM == 32
typedef float2 source_word;
accelerator_inline float2 source(__global const source_word* x, size_t part, uint word, uint lane) {
    return x[FROM_INDEX(word, WORDS)];
}
#else
typedef uint source_word;
accelerator_inline float2 source(__global const source_word* x, size_t part, uint word, uint lane) {
    const float step = as_float(x[FROM_INDEX(WORDS, WORDS + 1)]);
    return components(x[FROM_INDEX(word, WORDS + 1)], step, -BIAS * step);
}
#endif

#if PRECISION == 64
#define to_cplx convert_double2
#else
#define to_cplx convert_float2
#endif

// `osites`: parts of all outer sites.
__kernel void convert(__global stored* restrict out, __global const source_word* restrict x, uint osites) {
    const uint lane = accelerator_lane();
    accelerator_for(part, osites) {
        cplx values[WORDS];
#pragma unroll
        for (uint word = 0; word < WORDS; ++word)
            values[word] = to_cplx(source(x, part, word, lane));
        insert_all(out, part, WORDS, lane, values);
    }
}
