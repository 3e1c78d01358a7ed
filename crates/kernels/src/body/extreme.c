/* One of the terms, the same in any order: -0 lies below 0, and where a term is NaN so is the result. On the host. */
double EXTREME_OF(const double* terms, size_t count) {
    double extreme = NONE;
    for (; count > 0; --count, ++terms) {
        const double term = *terms;
        if (isnan(term))
            return NAN;
        if (term BEYOND extreme || (term == extreme && OF_ZEROS))
            extreme = term;
    }
    return extreme;
}
