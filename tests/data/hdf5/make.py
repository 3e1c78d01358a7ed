"""Makes the HDF5 files that the tests of `src/io/hdf5` read. Needs h5py and NumPy.

The numbers of an array are 0.5·n + i·(-1)ⁿ·(n + 1), where n is the position.
"""

import pathlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent


def numbers(shape, dtype):
    n = np.arange(int(np.prod(shape)))
    return (0.5 * n + 1j * (-1.0) ** n * (n + 1)).astype(dtype).reshape(shape)


def pairs(shape, dtype):
    values, record = numbers(shape, "c16"), np.empty(shape, dtype)
    real, imaginary = record.dtype.names
    record[real], record[imaginary] = values.real, values.imag
    return record


def make(name, libver=None, **options):
    return h5py.File(HERE / f"{name}.h5", "w", libver=libver, **options)


with make("contiguous") as f:
    f["complex64"] = numbers((2, 3), "c8")
    f["complex128"] = numbers((2, 3), "c16")
    f["big_endian_f64"] = pairs((2, 3), [("re", ">f8"), ("im", ">f8")])
    f["big_endian_f32"] = pairs((2, 3), [("real", ">f4"), ("imag", ">f4")])
    f["trailing_f64"] = numbers((2, 3), "c16").view("f8").reshape(2, 3, 2)
    f["trailing_big_endian_f32"] = numbers((2, 3), "c8").view("f4").reshape(2, 3, 2).astype(">f4")
    f["scalar"] = np.complex128(1.5 - 2j)
    f["empty"] = np.zeros((0, 3), "c16")
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    values = numbers((2, 3), "c16")
    space, kind = h5py.h5s.create_simple(values.shape), h5py.h5t.py_create(values.dtype)
    h5py.h5d.create(f.id, b"compact", kind, space, properties).write(h5py.h5s.ALL, h5py.h5s.ALL, values)
with make("chunked") as f:
    f.create_dataset("gzip", data=numbers((7, 5), "c16"), chunks=(3, 2), compression="gzip", shuffle=True)
with make("v114", ("v114", "v114")) as f:
    f["contiguous"] = numbers((7, 5), "c8")
    f["type"] = np.dtype("c8")
    v = numbers((7, 5), "c8")
    f.create_dataset("fixed_array", data=v, chunks=(3, 2), compression="gzip", fletcher32=True)
    f.create_dataset("single_chunk", data=v, chunks=(7, 5), compression="lzf")
    f.create_dataset("extensible_array", data=v, chunks=(3, 5), maxshape=(None, 5))
    f.create_dataset("b_tree_2", data=v, chunks=(7, 5), maxshape=(None, None))
    f.create_dataset("committed_type", data=v, dtype=f["type"])
# With HDF5 2.0: what is compressed has a layout of version 5.
with make("latest", "latest") as f:
    f["alias"] = h5py.SoftLink("/contiguous")
    f["contiguous"] = numbers((7, 5), "c8")
    f.create_dataset("chunked", data=numbers((7, 5), "c8"), chunks=(3, 2))
    f.create_dataset("gzip", data=numbers((7, 5), "c8"), chunks=(3, 2), compression="gzip")
with make("nested", userblock_size=512) as f:
    f["a/b/c"] = numbers((2, 3), "c16")
    f["a/plaquette"] = 0.5
    f["trajectory"] = np.arange(4)
with make("soft_link") as f:
    f["field"] = numbers((2, 3), "c16")
    f["alias"] = h5py.SoftLink("/field")
with make("refused") as f:
    f["three"] = np.zeros(2, [("r", "f8"), ("i", "f8"), ("error", "f8")])
    f["integers"] = np.zeros(2, [("r", "i4"), ("i", "i4")])
    f["mixed"] = np.zeros(2, [("r", "f4"), ("i", "f8")])
    f["half"] = np.zeros(2, [("r", "f2"), ("i", "f2")])
    f["swapped"] = np.zeros(2, [("i", "f8"), ("r", "f8")])
    f["mean"] = np.zeros(2, [("mean", "f8"), ("error", "f8")])
    f["real"] = np.zeros((2, 3))
with make("unwritten") as f:
    f.create_dataset("contiguous", (4,), "c16")
    f.create_dataset("chunked", (4,), "c16", chunks=(2,))[0:2] = 1j
    f["null"] = h5py.Empty("c16")
with make("cycle") as f:
    f["a/field"] = numbers((2, 3), "c16")
    f["a/up"] = f["/"]
