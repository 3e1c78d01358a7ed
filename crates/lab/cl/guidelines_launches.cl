// Work-items that work together, in one launch or over several, as performance guidelines advise for and against it. Both sides of a pair
// give the same words. Counterpart: crates/lab/src/guidelines (kernels.rs, host.rs).

// Adds all words to out[0], one atomic operation an item.
__kernel void sum_by_atomics(__global uint* restrict out, __global const uint* restrict in) {
    atomic_add(out, in[get_global_id(0)]);
}

// The same: a tree in local memory, then one atomic operation a group, whose size is a power of two.
__kernel void sum_by_trees(__global uint* restrict out, __global const uint* restrict in, __local uint* part) {
    const uint item = get_local_id(0);
    part[item] = in[get_global_id(0)];
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_size)
            part[item] += part[item + half_size];
    }
    if (item == 0)
        atomic_add(out, part[0]);
}

// One phase: each word receives its right neighbour in the group, the last the first.
__kernel void phase(__global uint* restrict out, __global const uint* restrict in) {
    const uint item = get_local_id(0), size = get_local_size(0);
    const size_t first = get_global_id(0) - item;
    out[first + item] = in[first + item] * 5 + in[first + (item + 1) % size];
}

// `phases` of them in one launch, with barriers between.
__kernel void phases_with_barriers(__global uint* restrict out, __global const uint* restrict in, __local uint* shared, uint phases) {
    const uint item = get_local_id(0), size = get_local_size(0);
    uint own = in[get_global_id(0)];
    for (uint k = 0; k < phases; ++k) {
        shared[item] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        own = own * 5 + shared[(item + 1) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = own;
}
