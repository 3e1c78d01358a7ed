"""Lattice fields on OpenCL devices and on CPUs, with the same bits.

Arrays are NumPy arrays of complex64 or complex128. An array in C order and in the machine's byte order is read in place; others are
copied first. The axes of the lattice are (T, Z, Y, X), x fastest:

* spinors: (T, Z, Y, X, 4, 3), with spin and colour last;
* five-dimensional fermions: (Ls, T, Z, Y, X, 4, 3);
* N colour vectors: (T, Z, Y, X, N, 3), a single one also (T, Z, Y, X, 3);
* links: (T, Z, Y, X, 4, 3, 3), with direction x, y, z, t, row and column last;
* propagators: (T, Z, Y, X, 4, 4, 3, 3), with sink spin, source spin, sink colour and source colour last.

With `convention`, arrays have the axes of PyQUDA or gpt. All conventions have the same basis of spins:

* "lanefield": fields (…, T, Z, Y, X, spin, colour), five-dimensional fermions (…, Ls, T, Z, Y, X, spin, colour), and
  links (T, Z, Y, X, 4, 3, 3);
* "pyquda": fields (…, 2, T, Z, Y, X/2, spin, colour), five-dimensional fermions (…, Ls, 2, T, Z, Y, X/2, spin, colour),
  and links (4, 2, T, Z, Y, X/2, 3, 3);
* "gpt": fields (…, sites, spin, colour) with x fastest, five-dimensional fermions (…, sites · Ls, spin, colour) with s
  fastest, and links (4, sites, 3, 3).

A lattice is given by its extents (x, y, z, t), a position by its coordinates (x, y, z, t). A wrong argument raises ValueError or
TypeError, a file OSError, and missing memory MemoryError.
"""

from ._lanefield import *
from ._lanefield import __all__, __version__
