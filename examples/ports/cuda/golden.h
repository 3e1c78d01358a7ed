/* Golden data (docs/golden.md): computes the cases that this port has, from their inputs, and writes the results under the same names for `lanefield golden
   check`. */
#pragma once
#include "device.h"
#include "npy.h"
#include "round.h"
#include <filesystem>
#include <map>
#include <stdio.h>
#include <string.h>

/* A line of cases.tsv. */
using Case = std::map<std::string, std::string>;

static const std::string& member(const Case& line, const std::string& key) {
    const auto found = line.find(key);
    if (found == line.end())
        throw std::runtime_error("case " + line.at("case") + " has no " + key);
    return found->second;
}

static std::vector<Case> read_cases(const std::string& path) {
    std::ifstream in(path);
    if (!in)
        throw std::runtime_error("failed to open " + path);
    std::vector<Case> cases;
    for (std::string line; std::getline(in, line);) {
        Case members;
        std::stringstream words(line);
        for (std::string word; std::getline(words, word, '\t');)
            members[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
        if (members.count("case"))
            cases.push_back(members);
    }
    return cases;
}

/* The field of a file on the sites of a parity (all: −1), word after word. The file has all sites, x fastest, and the words of a site together. */
template <typename R>
static std::vector<Complex<R>> of_sites(const Array& array, Lattice lattice, int parity) {
    lattice.parity = parity;
    if (array.dtype != (sizeof(R) == 4 ? "<c8" : "<c16"))
        throw std::runtime_error("an array of " + array.dtype + " in a case of " + (sizeof(R) == 4 ? "f32" : "f64"));
    const size_t words = array.elements() / lattice.volume(), sites = lattice.sites();
    const auto* values = reinterpret_cast<const Complex<R>*>(array.bytes.data());
    std::vector<Complex<R>> field(words * sites);
    for (unsigned place = 0; place < sites; place++) {
        unsigned x[4];
        lattice.coordinates(place, x);
        Lattice all = lattice;
        all.parity = -1;
        for (size_t word = 0; word < words; word++)
            field[word * sites + place] = values[all.place(x) * words + word];
    }
    return field;
}

/* The other way: zeros on the other sites. */
template <typename R>
static Array to_array(const std::vector<Complex<R>>& field, const Array& like, Lattice lattice) {
    Array array = like;
    std::fill(array.bytes.begin(), array.bytes.end(), 0);
    const size_t sites = lattice.sites(), words = field.size() / sites;
    auto* values = reinterpret_cast<Complex<R>*>(array.bytes.data());
    for (unsigned place = 0; place < sites; place++) {
        unsigned x[4];
        lattice.coordinates(place, x);
        Lattice all = lattice;
        all.parity = -1;
        for (size_t word = 0; word < words; word++)
            values[all.place(x) * words + word] = field[word * sites + place];
    }
    return array;
}

/* The kernels that this port has, by the name without `_dagger`. */
static bool is_hop(const std::string& kernel) { return kernel == "hop" || kernel == "eo_clover" || kernel == "oe_clover"; }

template <typename R>
static void compute(const std::string& from, const std::string& to, const Case& line, const Lattice& lattice) {
    std::string kernel = member(line, "kernel");
    const bool dagger = kernel.size() > 7 && kernel.compare(kernel.size() - 7, 7, "_dagger") == 0;
    kernel = kernel.substr(0, kernel.size() - (dagger ? 7 : 0));
    const int neighbours = lattice.parity < 0 ? -1 : 1 - lattice.parity;
    const auto array = [&](const char* key) { return read_npy(from + "/" + member(line, key)); };
    const auto field = [&](const char* key, int parity) { return Buffer<Complex<R>>(of_sites<R>(array(key), lattice, parity)); };
    const auto write = [&](const char* key, const Array& result) {
        const std::filesystem::path path = to + "/" + member(line, key);
        std::filesystem::create_directories(path.parent_path());
        write_npy(path, result);
    };
    if (kernel == "norm2") {
        const Buffer<Complex<R>> x = field("in.x", lattice.parity);
        const Buffer<Accumulator> sum(std::vector<Accumulator>(1));
        launch_norm2<R>(lattice.sites(), (int)(x.count / lattice.sites()), x.data, sum.data);
        const double result = rounded(sum.download()[0]);
        Array array = {"<f8", {1}, std::vector<char>(sizeof result)};
        memcpy(array.bytes.data(), &result, sizeof result);
        return write("sums", array);
    }
    const Array like = array("in.in");
    Buffer<Complex<R>> out((size_t)12 * lattice.sites());
    if (kernel == "clover_apply") {
        const auto blocks = field("in.blocks", lattice.parity), in = field("in.in", lattice.parity);
        launch_clover_apply<R>(lattice.sites(), blocks.data, in.data, out.data);
    } else {
        const Then then = kernel == "hop" ? STORE : kernel == "eo_clover" ? MULTIPLY : SUBTRACT;
        const auto links = field("in.links", lattice.parity), in = field("in.in", neighbours);
        const auto blocks = field(then == STORE ? "in.in" : "in.blocks", lattice.parity);
        const auto chi = field(then == SUBTRACT ? "in.chi" : "in.in", lattice.parity);
        launch_hop<R>({lattice, links.data, in.data, blocks.data, chi.data, out.data}, std::stoi(member(line, "reconstruct")), dagger, then);
    }
    write("out.out", to_array<R>(out.download(), like, lattice));
}

/* Whether this port has what a case asks for: f32 or f64, one spinor a site, the default order of legs. */
static bool has(const Case& line) {
    std::string kernel = member(line, "kernel");
    if (kernel.size() > 7 && kernel.compare(kernel.size() - 7, 7, "_dagger") == 0)
        kernel.resize(kernel.size() - 7);
    const bool known = is_hop(kernel) || kernel == "clover_apply" || kernel == "norm2";
    const auto legs = line.find("legs");
    return known && member(line, "precision") != "half" && !line.count("parts") && (legs == line.end() || legs->second == "-t-y-z+t+y+z-x+x");
}

/* Computes all cases of a directory that this port has: their number. */
static int golden(const std::string& from, const std::string& to) {
    if (std::filesystem::exists(to))
        throw std::runtime_error(to + " is there already: name a directory that is not");
    const std::vector<size_t> shape = read_npy(from + "/configuration.npy").shape;
    int computed = 0;
    for (const Case& line : read_cases(from + "/cases.tsv")) {
        if (!has(line))
            continue;
        Lattice lattice = {};
        for (int d = 0; d < 4; d++)
            lattice.extent[d] = (unsigned)shape[3 - d];
        const std::string& sites = member(line, "sites");
        lattice.parity = sites == "full" ? -1 : sites == "even" ? 0 : 1;
        if (line.count("boundary") &&
            sscanf(line.at("boundary").c_str(), "%d,%d,%d,%d", &lattice.phase[0], &lattice.phase[1], &lattice.phase[2], &lattice.phase[3]) != 4)
            throw std::runtime_error("boundary " + line.at("boundary") + ": expected four phases");
        member(line, "precision") == "f32" ? compute<float>(from, to, line, lattice) : compute<double>(from, to, line, lattice);
        computed++;
    }
    return computed;
}
