"""What ports need: comparisons that name planted faults, and golden data."""

import shutil

import lanefield as lf
import numpy as np
import pytest


@pytest.fixture()
def psi():
    return lf.gaussian((4, 6, 2, 8), 3)


def test_the_same_numbers_are_the_same(psi):
    comparison = lf.compare(psi, psi.copy())
    assert comparison and comparison.same and comparison.differing == 0 and comparison.first is None
    assert lf.compare(psi.real, psi.real.copy())
    assert lf.compare(psi, psi.astype(np.complex64)), "f64 is rounded to f32 before"
    assert lf.compare(psi, psi.astype(psi.dtype.newbyteorder("S"))) and lf.compare(np.asfortranarray(psi), psi)
    assert lf.compare([1.0, 2.0], np.array([1, 2], dtype=np.float32))
    assert lf.compare([1, 2], np.array([1, 2], dtype=np.int16)) and not lf.compare([1, 2], [1, 3])
    assert lf.compare([1, 2], [1, 3]).first["b"] == 3


def test_one_flipped_bit_is_found(psi):
    other = psi.copy()
    other[5, 1, 4, 3, 2, 1] = complex(np.nextafter(other[5, 1, 4, 3, 2, 1].real, 10), other[5, 1, 4, 3, 2, 1].imag)
    comparison = lf.compare(psi, other)
    assert not comparison and comparison.differing == 1
    first = comparison.first
    assert first["site"] == [3, 4, 1, 5] and first["part"] == "re" and first["ulp"] == 1
    assert first["a"] == psi[5, 1, 4, 3, 2, 1].real and float.fromhex(first["b"].hex()) == other[5, 1, 4, 3, 2, 1].real
    assert int(first["a_bits"], 16) == psi[5, 1, 4, 3, 2, 1].real.view(np.uint64)
    assert lf.compare(psi, other, ulps=1) and comparison.facts["differing"] == 1


def test_exchanged_spins_are_named(psi):
    comparison = lf.compare(psi, np.ascontiguousarray(psi[..., [1, 0, 2, 3], :]))
    assert any("spin" in cause for cause in comparison.causes), comparison.causes


def test_what_cannot_be_compared_is_told(psi):
    with pytest.raises(ValueError, match="shapes differ"):
        lf.compare(psi, psi[1:])
    with pytest.raises(ValueError, match="complex"):
        lf.compare(psi, psi.real)
    with pytest.raises(ValueError, match="whole"):
        lf.compare(psi, np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="b holds whole numbers above"):
        lf.compare([1], [1 << 60])
    with pytest.raises(TypeError, match="a is an array of <U1: expected complex, real or whole numbers"):
        lf.compare(["x"], [1.0])
    with pytest.raises(ValueError, match="ulps is -1"):
        lf.compare(psi, psi, ulps=-1)


def test_golden_data_are_written_and_checked(tmp_path):
    golden, other = tmp_path / "golden", tmp_path / "other"
    keywords = {"kernels": "axpy", "lattice": (2, 2, 2, 4), "precisions": ["f64"]}
    written = lf.golden_export(golden, **keywords)
    assert written["cases"] > 0 and (golden / "manifest.json").is_file()
    lf.golden_export(other, device=lf.Device("cpu", threads=1, lanes=16), **keywords)
    checked = lf.golden_check(golden, other)
    assert checked["same"] and checked["differ"] == [] and checked["missing"] == [] and checked["compared"] > 0
    assert (golden / "manifest.json").read_bytes() == (other / "manifest.json").read_bytes()
    # One bit of each file is wrong.
    for path in other.rglob("*.npy"):
        data = bytearray(path.read_bytes())
        data[-8] ^= 1
        path.write_bytes(data)
    wrong = lf.golden_check(golden, other)
    assert not wrong["same"] and len(wrong["differ"]) == wrong["compared"] == checked["compared"] and wrong["first"]["what"]
    assert wrong["differ"] == sum((group["differ"] for group in wrong["groups"]), [])
    assert wrong["compared"] == sum(group["compared"] for group in wrong["groups"])
    (other / wrong["differ"][0]).unlink()
    assert lf.golden_check(golden, other)["missing"] == wrong["differ"][:1]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        lf.golden_export(golden, **keywords)
    lf.golden_export(golden, overwrite=True, **keywords)
    shutil.rmtree(other)
    with pytest.raises((ValueError, OSError)):
        lf.golden_check(golden, other)
    with pytest.raises(ValueError, match="unknown kernel 'nothing'"):
        lf.golden_export(other, kernels=["nothing"])
    with pytest.raises(TypeError, match="kernels is 3: expected a name, or a list of names"):
        lf.golden_export(other, kernels=3)
    with pytest.raises(ValueError, match="quarter"):
        lf.golden_export(other, precisions=["quarter"])
