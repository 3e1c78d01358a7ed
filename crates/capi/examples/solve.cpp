// A solve with handles that free themselves. Compile: c++ -std=c++17 solve.cpp $(pkg-config --cflags --libs lanefield)
#include <lanefield.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

int main() try {
    lanefield::context context("cpu", 2);
    auto links = lanefield::configuration::weak(context, {4, 4, 2, 4}, 3, 0.2);
    std::printf("running on %s, plaquette %.6f\n", context.describe().c_str(), links.plaquette());

    lanefield::op clover(context, links, "clover", {{"mass", 0.5}, {"csw", 1.2}, {"boundary", "1,1,1,-1"}});
    std::printf("%s\n", clover.describe().c_str());
    auto eta = clover.source("point:3,1,0,0,1,2");

    lf_solve_options options{};
    options.method = "mixed-f32";
    options.tolerance = 1e-11;
    auto solved = clover.solve(eta, options);
    auto image = clover.apply(solved.solution);
    for (std::size_t k = 0; k < eta.size(); ++k)
        image[k] -= eta[k];
    double residual = context.norm2(image);
    std::printf("%llu iterations, |M psi - eta|^2 = %.2e\n", static_cast<unsigned long long>(solved.info.iterations), residual);
    if (!(residual < 1e-20))
        return 1;

    // Stopped after five iterations, and by an exception that the library does not see.
    try {
        clover.solve(eta, {}, [](std::uint64_t iteration, double) { return iteration == 5; });
        return 1;
    } catch (const lanefield::error &stopped) {
        if (stopped.status() != LF_STOPPED)
            return 1;
        std::printf("stopped as asked: %s\n", stopped.what());
    }
    try {
        clover.solve(eta, {}, [](std::uint64_t, double) -> bool { throw std::out_of_range("enough"); });
        return 1;
    } catch (const std::out_of_range &) {
    }

    // Swapped spins are detected.
    auto wrong = clover.apply(solved.solution);
    if (clover.compare(solved.solution, wrong).differing != 0)
        return 1;
    std::swap_ranges(wrong.begin() + 12 * 9, wrong.begin() + 12 * 9 + 3, wrong.begin() + 12 * 9 + 3);
    auto report = clover.compare(solved.solution, wrong);
    std::printf("%s\n", report.text);
    if (report.differing != 12)
        return 1;

    lanefield::exact_sum sum, other;
    sum.add({1e300, 1.0});
    other.add(-1e300);
    sum.merge(other);
    return sum.round() == 1.0 ? 0 : 1;
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
