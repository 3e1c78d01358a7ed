/* The end of the exact norm, on the host: the digits are carried, and the sum is rounded once, to nearest even. */
#pragma once
#include "exact.h"
#include <math.h>

/* The double nearest to the sum. Norms have no negative terms. */
static double rounded(const Accumulator& sum) {
    if (sum.flags & HAS_NAN)
        return NAN;
    if (sum.flags & HAS_INFINITY)
        return INFINITY;
    uint32_t digit[DIGITS];
    unsigned long long carry = 0;
    for (int k = 0; k < DIGITS; k++) {
        const unsigned __int128 all = (unsigned __int128)sum.digit[k] + carry;
        digit[k] = (uint32_t)all;
        carry = (unsigned long long)(all >> 32);
    }
    const auto bit = [&](int b) { return b < 0 ? 0u : digit[b / 32] >> b % 32 & 1; };
    int highest = 32 * DIGITS - 1;
    while (highest >= 0 && !bit(highest))
        highest--;
    /* The 53 bits from the highest one on; all of them where there are fewer. */
    const int lowest = highest < 53 ? 0 : highest - 52;
    uint64_t mantissa = 0;
    for (int b = highest; b >= lowest; b--)
        mantissa = 2 * mantissa + bit(b);
    bool below = false;
    for (int b = 0; b < lowest - 1 && !below; b++)
        below = bit(b);
    if (bit(lowest - 1) && (below || mantissa % 2))
        mantissa++;
    return ldexp((double)mantissa, lowest - 1074);
}
