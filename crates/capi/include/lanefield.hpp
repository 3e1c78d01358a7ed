// C++17 classes for lanefield.h: handles free themselves, and failures are exceptions. Everything is inline: link only liblanefield.

#ifndef LANEFIELD_HPP
#define LANEFIELD_HPP

#include <lanefield.h>

#include <array>
#include <complex>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lanefield {

// A status other than LF_OK, with the text of lf_last_error().
class error : public std::runtime_error {
public:
    error(lf_status status, const std::string &what) : std::runtime_error(what), status_(status) {}
    lf_status status() const noexcept { return status_; }

private:
    lf_status status_;
};

// Throws if a function failed.
inline void check(lf_status status) {
    if (status != LF_OK)
        throw error(status, std::string(lf_status_name(status)) + ": " + lf_last_error());
}

namespace detail {

template <class T, void (*Free)(T *)> struct freed {
    void operator()(T *handle) const noexcept { Free(handle); }
};

template <class T, void (*Free)(T *)> using handle = std::unique_ptr<T, freed<T, Free>>;

} // namespace detail

using complex = std::complex<double>;
using extents = std::array<std::int32_t, 4>;

// Where the library computes: "cpu", "auto", or the index or part of the name of an OpenCL device.
class context {
public:
    explicit context(const std::string &device = "cpu", std::int32_t threads = 0) {
        lf_context *made = nullptr;
        check(lf_context_create(device.c_str(), threads, &made));
        handle_.reset(made);
    }

    std::string describe() const {
        const char *text = nullptr;
        check(lf_context_describe(get(), &text));
        return text;
    }

    // |x|^2 over objects of `words` complex words each: the exact sum, rounded once.
    double norm2(const std::vector<complex> &x, std::size_t words = 12) const {
        double value = 0;
        check(lf_norm2_f64(get(), reinterpret_cast<const double *>(x.data()), x.size() / words, words, &value));
        return value;
    }

    const lf_context *get() const noexcept { return handle_.get(); }

private:
    detail::handle<lf_context, lf_context_free> handle_;
};

// A gauge configuration.
class configuration {
public:
    static configuration unit(const context &on, const extents &lattice) {
        return make([&](lf_configuration **out) { return lf_configuration_unit(on.get(), lattice.data(), out); });
    }
    static configuration hot(const context &on, const extents &lattice, std::uint64_t seed) {
        return make([&](lf_configuration **out) { return lf_configuration_hot(on.get(), lattice.data(), seed, out); });
    }
    static configuration weak(const context &on, const extents &lattice, std::uint64_t seed, double spread) {
        return make([&](lf_configuration **out) { return lf_configuration_weak(on.get(), lattice.data(), seed, spread, out); });
    }
    // A projection is "polar" or "max-re-tr".
    static configuration read(const context &on, const std::string &path, const extents *lattice = nullptr, const char *projection = nullptr) {
        auto numbers = lattice == nullptr ? nullptr : lattice->data();
        return make([&](lf_configuration **out) { return lf_configuration_read_as(on.get(), path.c_str(), numbers, projection, out); });
    }
    // 36 complex numbers for each site. Links further from SU(3) than the tolerance are refused.
    static configuration from_links(const context &on, const extents &lattice, const std::vector<complex> &links, double tolerance = 1e-5) {
        auto numbers = reinterpret_cast<const double *>(links.data());
        return make([&](lf_configuration **out) {
            return lf_configuration_from_links(on.get(), lattice.data(), numbers, 2 * links.size(), tolerance, out);
        });
    }

    // Writes in the given format, or in the one that the name implies. An existing file is replaced.
    void write(const std::string &path, const char *format = nullptr) const {
        check(lf_configuration_write_as(get(), path.c_str(), format));
    }
    extents lattice() const {
        extents lattice{};
        check(lf_configuration_extents(get(), lattice.data()));
        return lattice;
    }
    double plaquette() const {
        double value = 0;
        check(lf_configuration_plaquette(get(), &value));
        return value;
    }

    const lf_configuration *get() const noexcept { return handle_.get(); }

private:
    template <class Make> static configuration make(Make with) {
        lf_configuration *made = nullptr;
        check(with(&made));
        configuration result;
        result.handle_.reset(made);
        return result;
    }
    detail::handle<lf_configuration, lf_configuration_free> handle_;
};

// A parameter of an operator: a number or a text.
class parameter {
public:
    parameter(std::string name, double number) : name_(std::move(name)), number_(number) {}
    parameter(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)), is_text_(true) {}
    parameter(std::string name, const char *text) : parameter(std::move(name), std::string(text)) {}

    // Valid during the lifetime of this object.
    lf_parameter get() const noexcept { return {name_.c_str(), number_, is_text_ ? text_.c_str() : nullptr}; }

private:
    std::string name_;
    double number_ = 0;
    std::string text_;
    bool is_text_ = false;
};

// The results of a solve, apart from the solution.
struct solved {
    std::vector<complex> solution;
    lf_solve_info info;
};

// An operator on a configuration.
class op {
public:
    op(const context &on, const configuration &links, const std::string &name, const std::vector<parameter> &parameters = {}) {
        std::vector<lf_parameter> given;
        for (const auto &one : parameters)
            given.push_back(one.get());
        lf_operator *made = nullptr;
        check(lf_operator_create(on.get(), links.get(), name.c_str(), given.data(), given.size(), &made));
        handle_.reset(made);
    }

    std::string describe() const {
        const char *text = nullptr;
        check(lf_operator_describe(get(), &text));
        return text;
    }
    // The number of complex numbers in an array.
    std::size_t size() const {
        std::size_t reals = 0;
        check(lf_operator_reals(get(), &reals));
        return reals / 2;
    }
    std::vector<complex> apply(const std::vector<complex> &source, bool dagger = false, lf_piece piece = LF_FULL, lf_sites sites = LF_ALL_SITES) const {
        std::vector<complex> result(source.size());
        check(lf_operator_apply_f64(get(), piece, sites, dagger, reals(source), reinterpret_cast<double *>(result.data()), 2 * source.size()));
        return result;
    }
    // The numbers of a source by its name: see lf_source().
    std::vector<complex> source(const std::string &name) const {
        std::vector<complex> values(size());
        check(lf_source(get(), name.c_str(), reinterpret_cast<double *>(values.data()), 2 * values.size()));
        return values;
    }
    // Compares the caller's result with the reference's. The report describes the first difference.
    lf_report compare(const std::vector<complex> &source, const std::vector<complex> &result, bool dagger = false, lf_piece piece = LF_FULL,
                      lf_sites sites = LF_ALL_SITES) const {
        lf_report report{};
        report.size = sizeof report;
        if (result.size() != source.size())
            throw std::invalid_argument("source and result differ in length");
        lf_status status = lf_check_operator_f64(get(), piece, sites, dagger, reals(source), reals(result), 2 * source.size(), &report);
        if (status != LF_DIFFERENT)
            check(status);
        return report;
    }
    // `progress` receives the number of iterations and |r|/|b|. If it returns true, the solve stops. Its exceptions are rethrown here.
    solved solve(const std::vector<complex> &source, lf_solve_options options = {},
                 const std::function<bool(std::uint64_t, double)> &progress = {}) const {
        solved result{std::vector<complex>(source.size()), {}};
        watching watched{&progress, nullptr};
        options.size = sizeof options;
        result.info.size = sizeof result.info;
        if (progress) {
            options.progress = watch;
            options.user = &watched;
        }
        lf_status status = lf_solve(get(), reals(source), reinterpret_cast<double *>(result.solution.data()), 2 * source.size(), &options, &result.info);
        if (watched.thrown)
            std::rethrow_exception(watched.thrown);
        check(status);
        return result;
    }

    const lf_operator *get() const noexcept { return handle_.get(); }

private:
    struct watching {
        const std::function<bool(std::uint64_t, double)> *progress;
        std::exception_ptr thrown;
    };
    static std::int32_t watch(void *user, std::uint64_t iteration, double residual) {
        auto watched = static_cast<watching *>(user);
        // No exception may pass through C.
        try {
            return (*watched->progress)(iteration, residual);
        } catch (...) {
            watched->thrown = std::current_exception();
            return 1;
        }
    }
    static const double *reals(const std::vector<complex> &numbers) { return reinterpret_cast<const double *>(numbers.data()); }

    detail::handle<lf_operator, lf_operator_free> handle_;
};

// An accumulating exact sum of doubles.
class exact_sum {
public:
    exact_sum() {
        lf_exact_sum *made = nullptr;
        check(lf_exact_sum_create(&made));
        handle_.reset(made);
    }
    void add(double term) { check(lf_exact_sum_add(handle_.get(), term)); }
    void add(const std::vector<double> &terms) { check(lf_exact_sum_add_array(handle_.get(), terms.data(), terms.size())); }
    void merge(const exact_sum &other) { check(lf_exact_sum_merge(handle_.get(), other.handle_.get())); }
    double round() const {
        double value = 0;
        check(lf_exact_sum_round(handle_.get(), &value));
        return value;
    }

private:
    detail::handle<lf_exact_sum, lf_exact_sum_free> handle_;
};

} // namespace lanefield

#endif
