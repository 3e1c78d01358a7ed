// Sums over sites (docs/arithmetic.md §8): norms, inner products, and sums of each word, over all sites or slice by slice. Each kernel is
// written once; whether it sums exactly or as a tree plan says is a matter of the build (reduction.clh). Contributions are taken in
// f64, in the canonical order of words. Counterpart: reference/src/kernels/reduce.rs.

#include "accelerator.clh"
#include "queued_cg.clh"
#include "reduction.clh"

// The kernel `finish` knows no words: a build of it alone (FINISH_ALONE) serves all precisions and lanes.
#ifndef FINISH_ALONE

// Words that are loaded before they are used.
#ifndef WORDS_AHEAD
#define WORDS_AHEAD 12
#endif

// Fields x that `inner_products` takes, 1 to 4.
#ifndef FIELDS
#define FIELDS 1
#endif

// Words that a work-item of `sum` takes of each site ("fused": they are reduced where they were loaded). As many as the site has makes the
// serial-words form, whose bundle no register file holds.
#ifndef BUNDLE
#define BUNDLE 3
#endif

// Whether `sum` asks for the next elements before it adds those that it has (H200, 32⁴ f64 propagators, NSIMD 8, exact: bundles of three
// take 552 µs with it and 578 without); larger bundles leave no registers for it.
#ifndef AHEAD
#define AHEAD (BUNDLE <= 4)
#endif

// WORDS_AHEAD words of a site from `first` on; those that it does not have are not read, and are to be left out.
accelerator_inline void read_ahead(__global const stored* x, ulong osite, uint first, uint words, uint lane, cplx* ahead) {
#if defined(WORDS) && WORDS % WORDS_AHEAD == 0
    extract_words(x, osite, first, WORDS_AHEAD, words, lane, 0, ahead);
#else
#pragma unroll
    for (uint k = 0; k < WORDS_AHEAD; ++k)
        if (first + k < words)
            ahead[k] = extract_lane(x, osite, first + k, words, lane);
#endif
}

// |x|².
REDUCTION_KERNEL void norm2(__global const stored* restrict x, uint osites, uint words, REDUCTION_ARGUMENTS) {
    running sum = running_empty();
    const spill_target target = spill_target_of(spills, 0);
    for_elements(element, osites * NSIMD) {
        const ulong osite = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
        f64 s = f64_zero;
        for (uint first = 0; first < SITE_WORDS(words); first += WORDS_AHEAD) {
            cplx from_x[WORDS_AHEAD];
            read_ahead(x, osite, first, SITE_WORDS(words), lane, from_x);
#pragma unroll
            for (uint k = 0; k < WORDS_AHEAD; ++k) {
                if (first + k < SITE_WORDS(words))
                    s = plus_product(s, from_x[k], from_x[k]);
            }
        }
        running_add(&sum, s, target);
    }
    finish_group(&sum, 1, 0, partials, result, retired, spills, exchange);
}

// ⟨x, y⟩ = Σ conj(x)·y for each x: sum 2k is the real part for x_k, sum 2k + 1 the imaginary part. Arguments from FIELDS on are not
// read. The fields may be the same.
REDUCTION_KERNEL void inner_products(__global const stored* x_0, __global const stored* x_1, __global const stored* x_2,
                                     __global const stored* x_3, __global const stored* y, uint osites, uint words,
                                     REDUCTION_ARGUMENTS) {
    running sums[2 * FIELDS];
#pragma unroll
    for (uint k = 0; k < 2 * FIELDS; ++k)
        sums[k] = running_empty();
    for_elements(element, osites * NSIMD) {
        const ulong osite = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
        f64 re[FIELDS], im[FIELDS];
#pragma unroll
        for (uint k = 0; k < FIELDS; ++k)
            re[k] = im[k] = f64_zero;
        for (uint first = 0; first < SITE_WORDS(words); first += WORDS_AHEAD) {
            cplx from_y[WORDS_AHEAD], from_x[FIELDS][WORDS_AHEAD];
            read_ahead(y, osite, first, SITE_WORDS(words), lane, from_y);
#pragma unroll
            for (uint k = 0; k < FIELDS; ++k)
                read_ahead(k == 0 ? x_0 : k == 1 ? x_1 : k == 2 ? x_2 : x_3, osite, first, SITE_WORDS(words), lane, from_x[k]);
#pragma unroll
            for (uint ahead = 0; ahead < WORDS_AHEAD; ++ahead) {
                if (first + ahead < SITE_WORDS(words)) {
#pragma unroll
                    for (uint k = 0; k < FIELDS; ++k) {
                        re[k] = plus_product(re[k], from_x[k][ahead], from_y[ahead]);
                        im[k] = plus_imaginary_product(im[k], from_x[k][ahead], from_y[ahead]);
                    }
                }
            }
        }
#pragma unroll
        for (uint k = 0; k < FIELDS; ++k)
            running_add_both(&sums[2 * k], re[k], spill_target_of(spills, 2 * k), &sums[2 * k + 1], im[k],
                             spill_target_of(spills, 2 * k + 1));
    }
    finish_group(sums, 2 * FIELDS, 0, partials, result, retired, spills, exchange);
}

// Re⟨x, y⟩ of iteration `iteration` of those that are queued (queued_cg.clh): x is p, and y is A p.
REDUCTION_KERNEL void cg_curvature(__global const stored* x, __global const stored* y, uint osites, uint words,
                                   uint iteration, f64 c, f64 low, f64 high, REDUCTION_ARGUMENTS) {
    running sum = running_empty();
    const spill_target target = spill_target_of(spills, 2 * iteration);
    const uint elements = is_begun(result, iteration, c, low, high) ? osites * NSIMD : 0;
    for_elements(element, elements) {
        const ulong osite = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
        f64 s = f64_zero;
        for (uint first = 0; first < SITE_WORDS(words); first += WORDS_AHEAD) {
            cplx from_x[WORDS_AHEAD], from_y[WORDS_AHEAD];
            read_ahead(y, osite, first, SITE_WORDS(words), lane, from_y);
            read_ahead(x, osite, first, SITE_WORDS(words), lane, from_x);
#pragma unroll
            for (uint k = 0; k < WORDS_AHEAD; ++k) {
                if (first + k < SITE_WORDS(words))
                    s = plus_product(s, from_x[k], from_y[k]);
            }
        }
        running_add(&sum, s, target);
    }
    finish_group(&sum, 1, 2 * iteration, partials, result, retired, spills, exchange);
}

// Which elements belong to a sum: those of a slice (reference/src/layout/slices.rs), or all. Slice s has the outer sites of class
// s mod classes and the lanes of group s / classes.
typedef struct {
    __global const uint* osites; // class by class; not used where all elements are summed
    __global const uint* lanes;  // group by group; likewise
    uint osites_a_class;
    uint lanes_a_group;
    uint classes;
} slicing;

// BUNDLE words of two elements.
typedef struct {
    cplx of[2][BUNDLE];
} bundles;

// The words from `word` on of the elements `element` and `element` + group size; −0, which changes no sum, where there is none.
accelerator_inline bundles load_bundles(__global const stored* restrict x, uint words, uint word, const bool sliced,
                                        slicing slices, uint slice, uint element) {
    // Lane groups are powers of two: no division by a number that is known at run time only.
    const uint lanes = sliced ? slices.lanes_a_group : NSIMD;
    const uint lane_bits = popcount(lanes - 1);
    bundles values;
#pragma unroll
    for (uint second = 0; second < 2; ++second) {
        const uint this_element = element + second * group_items();
        const bool is_there = this_element < slices.osites_a_class * lanes;
        ulong osite = sliced ? this_element >> lane_bits : stored_at(this_element >> lane_bits);
        uint lane = this_element & (lanes - 1);
        if (sliced && is_there) {
            osite = slices.osites[(slice % slices.classes) * slices.osites_a_class + osite];
            lane = slices.lanes[slice / slices.classes * lanes + lane];
        }
#if BUNDLE <= 24
#pragma unroll
#endif
        for (uint k = 0; k < BUNDLE; ++k) {
            const bool is_read = is_there && word + k < words;
            values.of[second][k] = is_read ? extract_lane(x, osite, word + k, words, lane) : (cplx)(-0.0f, -0.0f);
        }
    }
    return values;
}

// The sums of BUNDLE words, from `word` on, of the elements of slice `slice`. They are numbers `first` … of the launch, real and
// imaginary parts in turn; those beyond the site's last word stay empty.
accelerator_inline void sum_words(__global const stored* restrict x, uint words, uint word, const bool sliced,
                                  slicing slices, uint slice, ulong first, REDUCTION_ARGUMENTS) {
    running sums[2 * BUNDLE];
#if BUNDLE <= 24
#pragma unroll
#endif
    for (uint k = 0; k < 2 * BUNDLE; ++k)
        sums[k] = running_empty();
    const uint elements = slices.osites_a_class * (sliced ? slices.lanes_a_group : NSIMD);
    const uint stride = 2 * blocks() * group_items();
    uint element = block_id() * 2 * group_items() + item_id();
#if AHEAD
    // The next elements are on their way while these are added.
    bundles next = load_bundles(x, words, word, sliced, slices, slice, element);
#endif
    for (; element < elements; element += stride) {
#if AHEAD
        const bundles values = next;
        next = load_bundles(x, words, word, sliced, slices, slice, element + stride);
#else
        const bundles values = load_bundles(x, words, word, sliced, slices, slice, element);
#endif
#pragma unroll
        for (uint second = 0; second < 2; ++second)
#if BUNDLE <= 24
#pragma unroll
#endif
            for (uint k = 0; k < BUNDLE; ++k) {
                const cplx v = values.of[second][k];
                running_add_both(&sums[2 * k], f64_of(v.x), spill_target_of(spills, first + 2 * k), &sums[2 * k + 1], f64_of(v.y),
                                 spill_target_of(spills, first + 2 * k + 1));
            }
    }
    finish_group(sums, 2 * BUNDLE, first, partials, result, retired, spills, exchange);
}

// The sum of each word over all elements. Launch row j takes the words from first_word + j·BUNDLE on, and its sums begin at number
// first_row·2·BUNDLE + j·2·BUNDLE.
REDUCTION_KERNEL void sum(__global const stored* restrict x, uint osites, uint words, uint first_word, uint first_row,
                          REDUCTION_ARGUMENTS) {
    slicing all;
    all.osites = 0;
    all.lanes = 0;
    all.osites_a_class = osites;
    all.lanes_a_group = NSIMD;
    all.classes = 1;
    sum_words(x, SITE_WORDS(words), first_word + row_id() * BUNDLE, false, all, 0,
              (ulong)first_row * 2 * BUNDLE + first_sum(2 * BUNDLE), partials, result, retired, spills, exchange);
}

// The sum of each word over each slice: launch row j as in `sum`, launch plane s for slice s.
REDUCTION_KERNEL void slice_sums(__global const stored* restrict x, __global const uint* restrict osites,
                                 __global const uint* restrict lanes, uint osites_a_class, uint lanes_a_group,
                                 uint classes, uint words, REDUCTION_ARGUMENTS) {
    slicing slices;
    slices.osites = osites;
    slices.lanes = lanes;
    slices.osites_a_class = osites_a_class;
    slices.lanes_a_group = lanes_a_group;
    slices.classes = classes;
    sum_words(x, SITE_WORDS(words), row_id() * BUNDLE, true, slices, plane_id(), first_sum(2 * BUNDLE),
              partials, result, retired, spills, exchange);
}

// The staged form's first pass, as Grid packs: BUNDLE words of each site, from `word` on, into a buffer of BUNDLE words a site.
// Dimension 0 is the lane, 1 the word, 2 the outer site.
#if PRECISION != 16
__kernel void pack(__global stored* restrict packed, __global const stored* restrict x, uint words, uint word) {
    const uint k = (uint)get_global_id(1);
    const uint osite = (uint)get_global_id(2);
    if (k < BUNDLE && word + k < SITE_WORDS(words))
        insert_lane(packed, osite, k, BUNDLE, accelerator_lane(),
                    coalesced_read(x, stored_at(osite), word + k, SITE_WORDS(words)));
}
#endif

#endif // FINISH_ALONE

// Adds up what `groups` groups of an earlier launch left in `partials`: a group for each sum from number `first` on.
REDUCTION_KERNEL void finish(uint groups, uint first, REDUCTION_ARGUMENTS) {
    finish_sum(first + row_id(), groups, partials, result, retired, spills, exchange);
}
