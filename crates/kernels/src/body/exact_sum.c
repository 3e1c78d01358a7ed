/* The exact sum of doubles, rounded once to nearest even (section 8 of docs/arithmetic.md), in any order. On the host. */
double EXACT_SUM(const double* terms, size_t count) {
    /* Limb k counts 2^(32k - 1074), the least subnormal number being 2^-1074. Between carries its magnitude stays below 2^63. */
    enum { LIMBS = 70 };
    long long limb[LIMBS] = {0};
    int not_a_number = 0, infinite[2] = {0, 0}, zeros_are_negative = count > 0, is_negative = 0;
    size_t place;
    int k, bit, top;
    for (place = 0; place <= count; ++place) {
        unsigned long long bits, fraction;
        unsigned int exponent, first, shift;
        int sign;
        if (place == count || place % (1u << 30) == (1u << 30) - 1)
            for (k = 0; k + 1 < LIMBS; ++k) {
                const long long low = (long long)((unsigned long long)limb[k] & 0xffffffffu);
                limb[k + 1] += (limb[k] - low) / 4294967296LL;
                limb[k] = low;
            }
        if (place == count)
            break;
        memcpy(&bits, terms + place, sizeof bits);
        sign = (int)(bits >> 63);
        exponent = (unsigned int)(bits >> 52) & 0x7ff;
        fraction = bits & 0xfffffffffffffULL;
        zeros_are_negative &= bits == 1ULL << 63;
        if (exponent == 0x7ff) {
            not_a_number |= fraction != 0;
            infinite[sign] = 1;
            continue;
        }
        if (exponent > 0)
            fraction |= 1ULL << 52;
        first = (exponent > 0 ? exponent - 1 : 0) / 32;
        shift = (exponent > 0 ? exponent - 1 : 0) % 32;
        {
            const long long low = (long long)(fraction << shift & 0xffffffffu);
            const long long middle = (long long)(fraction >> (32 - shift) & 0xffffffffu);
            const long long high = shift > 0 ? (long long)(fraction >> (64 - shift)) : 0;
            limb[first] += sign ? -low : low;
            limb[first + 1] += sign ? -middle : middle;
            limb[first + 2] += sign ? -high : high;
        }
    }
    if (not_a_number || (infinite[0] && infinite[1]))
        return (double)NAN;
    if (infinite[0] || infinite[1])
        return infinite[1] ? -(double)INFINITY : (double)INFINITY;
    /* The sign is that of the last limb; of a negative sum the magnitude is taken. */
    if (limb[LIMBS - 1] < 0) {
        is_negative = 1;
        for (k = 0; k < LIMBS; ++k)
            limb[k] = -limb[k];
        for (k = 0; k + 1 < LIMBS; ++k) {
            const long long low = (long long)((unsigned long long)limb[k] & 0xffffffffu);
            limb[k + 1] += (limb[k] - low) / 4294967296LL;
            limb[k] = low;
        }
    }
    for (top = 32 * LIMBS - 1; top >= 0 && !(limb[top / 32] >> (top % 32) & 1); --top) {
    }
    if (top < 0)
        return zeros_are_negative ? -0.0 : 0.0;
    {
        /* 53 bits from the top one on; what is below decides how they are rounded. */
        const int last = top > 52 ? top - 52 : 0;
        unsigned long long mantissa = 0;
        int half = 0, rest = 0;
        double magnitude;
        for (bit = top; bit >= last; --bit)
            mantissa = mantissa << 1 | (unsigned long long)(limb[bit / 32] >> (bit % 32) & 1);
        if (last > 0)
            half = (int)(limb[(last - 1) / 32] >> ((last - 1) % 32) & 1);
        for (bit = last - 2; bit >= 0 && !rest; --bit)
            rest = (int)(limb[bit / 32] >> (bit % 32) & 1);
        mantissa += (unsigned long long)(half && (rest || (mantissa & 1)));
        magnitude = ldexp((double)mantissa, last - 1074);
        return is_negative ? -magnitude : magnitude;
    }
}
