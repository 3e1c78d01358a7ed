/* NumPy arrays of version 1.0 (`.npy`), little-endian and in C order, as golden data have them; on a little-endian host. */
#pragma once
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Array {
    std::string dtype; /* "<c8", "<c16", "<f8" */
    std::vector<size_t> shape;
    std::vector<char> bytes;

    size_t elements() const {
        size_t n = 1;
        for (size_t extent : shape)
            n *= extent;
        return n;
    }
};

/* What stands in a header after 'KEY': . */
static std::string after_key(const std::string& header, const std::string& key, const std::string& path) {
    const size_t at = header.find("'" + key + "':");
    if (at == std::string::npos)
        throw std::runtime_error(path + " has no '" + key + "' in its header: it is no .npy file of version 1.0");
    return header.substr(header.find_first_not_of(' ', at + key.size() + 3));
}

static Array read_npy(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in)
        throw std::runtime_error("failed to open " + path);
    std::stringstream all;
    all << in.rdbuf();
    const std::string file = all.str();
    if (file.size() < 10 || file.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0)
        throw std::runtime_error(path + " is no .npy file of version 1.0");
    const size_t length = (unsigned char)file[8] + 256 * (unsigned char)file[9];
    const std::string header = file.substr(10, length);
    Array array;
    const std::string descr = after_key(header, "descr", path);
    array.dtype = descr.substr(1, descr.find(descr[0], 1) - 1);
    if (after_key(header, "fortran_order", path).compare(0, 5, "False") != 0)
        throw std::runtime_error(path + " is in Fortran order: C order is expected");
    const std::string shape = after_key(header, "shape", path);
    std::stringstream extents(shape.substr(1, shape.find(')') - 1));
    for (std::string extent; std::getline(extents, extent, ',');)
        if (extent.find_first_not_of(' ') != std::string::npos)
            array.shape.push_back(std::stoul(extent));
    array.bytes.assign(file.begin() + 10 + (long)length, file.end());
    const size_t size = std::stoul(array.dtype.substr(2));
    if (array.bytes.size() != array.elements() * size)
        throw std::runtime_error(path + " holds " + std::to_string(array.bytes.size()) + " bytes, and its header says " +
                                 std::to_string(array.elements() * size));
    return array;
}

static void write_npy(const std::string& path, const Array& array) {
    std::string shape;
    for (size_t extent : array.shape)
        shape += std::to_string(extent) + ", ";
    if (array.shape.size() > 1)
        shape.resize(shape.size() - 2);
    std::string header = "{'descr': '" + array.dtype + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
    header += '\n';
    std::ofstream out(path, std::ios::binary);
    out << std::string("\x93NUMPY\x01\x00", 8) << (char)(header.size() % 256) << (char)(header.size() / 256) << header;
    out.write(array.bytes.data(), (long)array.bytes.size());
    if (!out.flush())
        throw std::runtime_error("failed to write " + path);
}
