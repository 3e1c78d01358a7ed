"""Lattice fields on OpenCL devices and on CPUs, with the same bits.

Arrays are NumPy arrays, complex64 or complex128. Those in C order and in the machine's byte order are read where they lie, others are copied first. Sites
are (T, Z, Y, X), x fastest:

===========================  ==========================================================
spinors                      (T, Z, Y, X, 4, 3): spin, colour
five-dimensional fermions    (Ls, T, Z, Y, X, 4, 3)
colour vectors               (T, Z, Y, X, N, 3); of one also (T, Z, Y, X, 3)
links                        (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column
propagators                  (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour
===========================  ==========================================================

With `convention` arrays are those of PyQUDA or gpt, with the same basis of spins:

===========  ===================================  =======================================  ==========================
convention   fields                               five-dimensional fermions                links
===========  ===================================  =======================================  ==========================
"lanefield"  (…, T, Z, Y, X, spin, colour)        (…, Ls, T, Z, Y, X, spin, colour)        (T, Z, Y, X, 4, 3, 3)
"pyquda"     (…, 2, T, Z, Y, X/2, spin, colour)   (…, Ls, 2, T, Z, Y, X/2, spin, colour)   (4, 2, T, Z, Y, X/2, 3, 3)
"gpt"        (…, sites, spin, colour), x fastest  (…, sites · Ls, spin, colour), s fastest (4, sites, 3, 3)
===========  ===================================  =======================================  ==========================

Lattices are extents (x, y, z, t), as are positions. Wrong arguments raise ValueError or TypeError, files OSError, missing memory MemoryError.
"""

from ._lanefield import *
from ._lanefield import __all__, __version__
