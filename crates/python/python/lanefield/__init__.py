"""Lattice fields on OpenCL devices and on CPUs, with the same bits.

Arrays are NumPy arrays of complex64 or complex128. An array in C order and in the machine's byte order is read in place; others are
copied first. The axes of the lattice are (T, Z, Y, X), x fastest:

===========================  ==========================================================
spinors                      (T, Z, Y, X, 4, 3): spin, colour
five-dimensional fermions    (Ls, T, Z, Y, X, 4, 3)
N colour vectors             (T, Z, Y, X, N, 3); a single one also (T, Z, Y, X, 3)
links                        (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column
propagators                  (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour
===========================  ==========================================================

With `convention`, arrays have the axes of PyQUDA or gpt. All conventions have the same basis of spins:

===========  ===================================  =======================================  ==========================
convention   fields                               five-dimensional fermions                links
===========  ===================================  =======================================  ==========================
"lanefield"  (…, T, Z, Y, X, spin, colour)        (…, Ls, T, Z, Y, X, spin, colour)        (T, Z, Y, X, 4, 3, 3)
"pyquda"     (…, 2, T, Z, Y, X/2, spin, colour)   (…, Ls, 2, T, Z, Y, X/2, spin, colour)   (4, 2, T, Z, Y, X/2, 3, 3)
"gpt"        (…, sites, spin, colour), x fastest  (…, sites · Ls, spin, colour), s fastest (4, sites, 3, 3)
===========  ===================================  =======================================  ==========================

A lattice is given by its extents (x, y, z, t), a position by its coordinates (x, y, z, t). A wrong argument raises ValueError or
TypeError, a file OSError, and missing memory MemoryError.
"""

from ._lanefield import *
from ._lanefield import __all__, __version__
