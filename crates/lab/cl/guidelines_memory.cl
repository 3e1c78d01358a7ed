// Accesses to memory, as performance guidelines advise for and against them: pairs of kernels, or one kernel whose arguments make the two
// sides. Both sides of a pair give the same words. Elements are integers, so that no order of additions changes a bit. Counterpart:
// crates/lab/src/guidelines (kernels.rs, host.rs).

// out[e] ← in[offset + e], one word a work-item. Item i takes the word whose index is i with its `bits` bits turned left by `turn`: 0 leaves
// neighbours together, 5 sets them 32 words apart.
__kernel void copy_word(__global uint* restrict out, __global const uint* restrict in, uint offset, uint turn, uint bits) {
    const uint item = get_global_id(0);
    const uint e = ((item << turn) | (item >> (bits - turn))) & ((1u << bits) - 1);
    out[e] = in[offset + e];
}

// out ← in, two words a work-item in one access.
__kernel void copy_two_words(__global uint2* restrict out, __global const uint2* restrict in) {
    out[get_global_id(0)] = in[get_global_id(0)];
}

// out ← in, four words a work-item in one access.
__kernel void copy_four_words(__global uint4* restrict out, __global const uint4* restrict in) {
    out[get_global_id(0)] = in[get_global_id(0)];
}

// out ← in, four words a work-item, each by itself: the compiler does not know that they are aligned to 16 bytes.
__kernel void copy_four_by_one(__global uint* restrict out, __global const uint* restrict in) {
    const size_t first = 4 * (size_t)get_global_id(0);
    for (uint k = 0; k < 4; ++k)
        out[first + k] = in[first + k];
}

// out ← in, rows of `width` words that begin `pitch` words apart; an item a word of a row.
__kernel void copy_rows(__global uint* restrict out, __global const uint* restrict in, uint width, uint pitch) {
    const uint x = get_global_id(0);
    const size_t word = (size_t)get_global_id(1) * pitch + x;
    if (x < width)
        out[word] = in[word];
}

// Words of the table of coefficients.
#define TABLE 256

// out ← sum of all coefficients, masked by the item's word. Items of a group begin `spread` coefficients apart: 0 has them all read the
// same one at a time.
#define SUM_OF_TABLE(table)                                                                                                             \
    const uint item = get_global_id(0), first = spread * (uint)get_local_id(0), mask = in[item];                                        \
    uint sum = 0;                                                                                                                       \
    for (uint k = 0; k < TABLE; ++k)                                                                                                    \
        sum += table[(first + k) & (TABLE - 1)] & mask;                                                                                 \
    out[item] = sum;

__kernel void table_in_constant(__global uint* restrict out, __global const uint* restrict in, __constant uint* table, uint spread) {
    SUM_OF_TABLE(table)
}

__kernel void table_in_global(__global uint* restrict out, __global const uint* restrict in, __global const uint* restrict table, uint spread) {
    SUM_OF_TABLE(table)
}

// Groups of 256 items are tiles of 16 × 16 texels; an item reads the 5 × 5 texels round its own, within the image.
#define TILE 16
#define REACH 2
#define WINDOW(READ)                                                                                                                    \
    const int tiles = width / TILE, tile = get_group_id(0), item = get_local_id(0);                                                     \
    const int x = tile % tiles * TILE + item % TILE, y = tile / tiles * TILE + item / TILE;                                             \
    float4 sum = (float4)(0.0f);                                                                                                        \
    for (int dy = -REACH; dy <= REACH; ++dy)                                                                                            \
        for (int dx = -REACH; dx <= REACH; ++dx) {                                                                                      \
            const int u = clamp(x + dx, 0, width - 1), v = clamp(y + dy, 0, height - 1);                                                \
            sum += READ;                                                                                                                \
        }                                                                                                                               \
    out[y * width + x] = sum;

__kernel void window_of_buffer(__global float4* restrict out, __global const float4* restrict in, int width, int height) {
    WINDOW(in[v * width + u])
}

#ifdef __IMAGE_SUPPORT__
__constant sampler_t at_texels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

__kernel void window_of_image(__global float4* restrict out, read_only image2d_t in, int width, int height) {
    WINDOW(read_imagef(in, at_texels, (int2)(u, v)))
}
#endif

// A group of 256 items holds 32 rows of 8 words, `pitch` words apart, and reads them by columns, `rounds` times: items that run in step read
// different rows. out ← sums of what each item reads.
__kernel void columns_of_tile(__global uint* restrict out, __global const uint* restrict in, __local uint* tile, uint pitch, uint rounds) {
    const uint item = get_local_id(0), row = item % 32, part = item / 32;
    for (uint column = part; column < 32; column += 8)
        tile[row * pitch + column] = in[(get_group_id(0) * 32 + row) * 32 + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (uint round = 0; round < rounds; ++round)
        sum = (sum ^ tile[row * pitch + ((round + part) & 31)]) * 5;
    out[get_global_id(0)] = sum;
}

// Words of the array that a work-item keeps for itself.
#define OWN 16

// `rounds` times, each word of an array of the item's own receives its neighbour; the first word is `FIRST`, a multiple of OWN.
#define OWN_ARRAY(FIRST, UNROLLED)                                                                                                      \
    const uint item = get_global_id(0);                                                                                                 \
    uint own[OWN];                                                                                                                      \
    UNROLLED                                                                                                                            \
    for (uint k = 0; k < OWN; ++k)                                                                                                      \
        own[(k + FIRST) % OWN] = in[item] * (2 * k + 1);                                                                                \
    for (uint round = 0; round < rounds; ++round) {                                                                                     \
        UNROLLED                                                                                                                        \
        for (uint k = 0; k < OWN; ++k)                                                                                                  \
            own[(k + FIRST) % OWN] = own[(k + FIRST) % OWN] * 5 + own[(k + 1 + FIRST) % OWN];                                           \
    }                                                                                                                                   \
    uint sum = 0;                                                                                                                       \
    UNROLLED                                                                                                                            \
    for (uint k = 0; k < OWN; ++k)                                                                                                      \
        sum = sum * 3 + own[(k + FIRST) % OWN];                                                                                         \
    out[item] = sum;

// An argument makes the indices unknown to the compiler, so that the array cannot be registers.
__kernel void own_array_by_argument(__global uint* restrict out, __global const uint* restrict in, uint rounds, uint first) {
    OWN_ARRAY(first, )
}

// The same with indices that are constants once the loops are unrolled.
__kernel void own_array_by_constant(__global uint* restrict out, __global const uint* restrict in, uint rounds, uint first) {
    OWN_ARRAY(0, _Pragma("unroll"))
}

// out ← the transpose of in, a square of `width` words each way. Groups of 256 items are tiles of 16 × 16; each item writes where its word
// belongs, neighbours `width` words apart.
__kernel void transpose_directly(__global uint* restrict out, __global const uint* restrict in, uint width) {
    const uint tiles = width / TILE, tile = get_group_id(0), column = get_local_id(0) % TILE, row = get_local_id(0) / TILE;
    const uint x = tile % tiles * TILE + column, y = tile / tiles * TILE + row;
    out[(size_t)x * width + y] = in[(size_t)y * width + x];
}

// The same, turned in local memory (rows padded by a word against bank conflicts): neighbours write neighbouring words.
__kernel void transpose_in_local_memory(__global uint* restrict out, __global const uint* restrict in, uint width) {
    __local uint words[TILE][TILE + 1];
    const uint tiles = width / TILE, tile = get_group_id(0), column = get_local_id(0) % TILE, row = get_local_id(0) / TILE;
    const uint left = tile % tiles * TILE, top = tile / tiles * TILE;
    words[row][column] = in[(size_t)(top + row) * width + left + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(size_t)(left + row) * width + top + column] = words[column][row];
}

// Rows above that a result adds up.
#define ROWS 8

// out ← sums of ROWS words below each other, in rows of `width` words; one result an item.
__kernel void column_sums(__global uint* restrict out, __global const uint* restrict in, uint width) {
    const size_t word = (size_t)get_global_id(1) * width + get_global_id(0);
    uint sum = 0;
#pragma unroll
    for (uint k = 0; k < ROWS; ++k)
        sum += in[word + (size_t)k * width];
    out[word] = sum;
}

// The same, four results below each other an item, which share what they read.
__kernel void column_sums_of_four(__global uint* restrict out, __global const uint* restrict in, uint width) {
    const size_t word = 4 * (size_t)get_global_id(1) * width + get_global_id(0);
    uint sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (uint k = 0; k < ROWS + 3; ++k) {
        const uint row = in[word + (size_t)k * width];
#pragma unroll
        for (uint j = 0; j < 4; ++j)
            if (k >= j && k < ROWS + j)
                sum[j] += row;
    }
#pragma unroll
    for (uint j = 0; j < 4; ++j)
        out[word + (size_t)j * width] = sum[j];
}

// out[e] ← a · x[e] + y[e], `n` words from `first` on, by as many items as there are.
__kernel void axpy(__global uint* restrict out, uint a, __global const uint* restrict x, __global const uint* restrict y, uint first, uint n) {
    for (uint e = get_global_id(0); e < n; e += get_global_size(0))
        out[first + e] = a * x[first + e] + y[first + e];
}

// out[e] ← a · (a · x[e] + y[e]) + x[e], likewise: two passes of axpy in one.
__kernel void axpy_twice(__global uint* restrict out, uint a, __global const uint* restrict x, __global const uint* restrict y, uint first, uint n) {
    for (uint e = get_global_id(0); e < n; e += get_global_size(0)) {
        const uint own = x[first + e];
        out[first + e] = a * (a * own + y[first + e]) + own;
    }
}

// out ← in, each word by a number that depends on its place in rows of `width` words and planes of `rows` rows.
#define WEIGH(WORD, X, Y, Z) out[WORD] = in[WORD] * ((X) + 3 * (Y) + 5 * (Z) + 1)

// The launch's range is a line: places come by division.
__kernel void weigh_by_division(__global uint* restrict out, __global const uint* restrict in, uint width, uint rows) {
    const uint word = get_global_id(0), row = word / width;
    WEIGH(word, word % width, row % rows, row / rows);
}

// The launch's range has the array's three dimensions.
__kernel void weigh_by_range(__global uint* restrict out, __global const uint* restrict in, uint width, uint rows) {
    const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const uint word = (z * rows + y) * width + x;
    WEIGH(word, x, y, z);
}
