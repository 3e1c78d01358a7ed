"""Reads an ILDG file and prints suma, sumb and the average plaquette. Written from the definition of the format; shares nothing with the library."""
import re
import struct
import sys
import zlib

file, records, at = open(sys.argv[1], "rb").read(), {}, 0
while at < len(file):
    magic, version, _, length = struct.unpack(">IHHQ", file[at : at + 16])
    assert (magic, version) == (0x456789AB, 1)
    kind = file[at + 16 : at + 144].split(b"\0")[0].decode()
    records[kind] = file[at + 144 : at + 144 + length]
    at += 144 + (length + 7) // 8 * 8

of = lambda name: int(re.search(rf"<{name}>(\d+)</{name}>", records["ildg-format"].decode()).group(1))
extents, bits, data = [of("lx"), of("ly"), of("lz"), of("lt")], of("precision"), records["ildg-binary-data"]
volume, size = extents[0] * extents[1] * extents[2] * extents[3], 72 * bits // 8
rotated = lambda x, k: (x << k | x >> (32 - k)) & 0xFFFFFFFF
suma = sumb = 0
for site in range(volume):
    crc = zlib.crc32(data[site * size : (site + 1) * size])
    suma, sumb = suma ^ rotated(crc, site % 29), sumb ^ rotated(crc, site % 31)

reals = struct.unpack(f">{volume * 72}{'d' if bits == 64 else 'f'}", data)
link = lambda site, mu: [[complex(*reals[72 * site + 18 * mu + 6 * i + 2 * j :][:2]) for j in range(3)] for i in range(3)]
links = [[link(site, mu) for mu in range(4)] for site in range(volume)]
number = lambda x: x[0] + extents[0] * (x[1] + extents[1] * (x[2] + extents[2] * x[3]))
times = lambda a, b: [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
adjoint = lambda a: [[a[j][i].conjugate() for j in range(3)] for i in range(3)]
total = 0
for site in range(volume):
    x, rest = [], site
    for extent in extents:
        x.append(rest % extent)
        rest //= extent
    up = lambda mu: number([(x[d] + (d == mu)) % extents[d] for d in range(4)])
    for mu in range(4):
        for nu in range(mu):
            there = times(links[site][mu], links[up(mu)][nu])
            back = adjoint(times(links[site][nu], links[up(nu)][mu]))
            total += sum(times(there, back)[i][i].real for i in range(3)) / 3
print(f"{suma:x} {sumb:x} {total / (6 * volume)!r}")
