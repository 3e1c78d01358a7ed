"""Configurations: seeds, arrays, files."""

import gc

import lanefield as lf
import numpy as np
import pytest


def test_links_are_a_view_that_cannot_be_written_to():
    configuration = lf.Configuration.hot((4, 6, 2, 8), 7)
    links = configuration.links
    assert links.shape == (8, 2, 6, 4, 4, 3, 3) and links.dtype == np.complex128
    assert not links.flags.writeable and not links.flags.owndata
    assert links.__array_interface__["data"] == configuration.links.__array_interface__["data"]
    with pytest.raises(ValueError):
        links[0] = 0
    with pytest.raises(ValueError):
        links.flags.writeable = True
    before = links.copy()
    del configuration
    gc.collect()
    assert np.array_equal(links, before)


def test_links_are_in_su3_and_come_back_from_an_array(hot):
    links = hot.links
    assert np.allclose(links @ links.conj().swapaxes(-1, -2), np.eye(3), atol=1e-14)
    again = lf.Configuration.from_array(links)
    assert again == hot and again.extents == (4, 6, 2, 8)
    # Also where it is not in C order, or in single precision.
    assert lf.Configuration.from_array(np.asfortranarray(links)) == hot
    single = lf.Configuration.from_array(links.astype(np.complex64))
    assert np.array_equal(single.links, links.astype(np.complex64).astype(np.complex128))


def test_the_plaquette_is_that_of_numpy(hot):
    u = np.moveaxis(hot.links, 4, 0)
    axis = [3, 2, 1, 0]
    planes = [(mu, nu) for mu in range(4) for nu in range(mu + 1, 4)]
    traces = [
        np.einsum(
            "...ij,...jk,...lk,...il->...",
            u[mu],
            np.roll(u[nu], -1, axis[mu]),
            np.roll(u[mu], -1, axis[nu]).conj(),
            u[nu].conj(),
        ).real.mean()
        for mu, nu in planes
    ]
    assert hot.plaquette == pytest.approx(np.mean(traces) / 3, abs=1e-14)
    assert hot.link_trace == pytest.approx(np.trace(hot.links, axis1=-2, axis2=-1).real.mean() / 3, abs=1e-14)
    assert lf.Configuration.unit("4.4.4.4").plaquette == 1.0


@pytest.mark.parametrize("name", ["c.nersc", "c.npy"])
def test_files_give_back_the_same_links_and_are_not_replaced(tmp_path, hot, name):
    path = tmp_path / name
    hot.save(path)
    assert lf.Configuration.read(path) == hot
    other = lf.Configuration.hot(hot.extents, 8)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        other.save(path)
    assert lf.Configuration.read(str(path)) == hot
    other.save(path, overwrite=True)
    assert lf.Configuration.read(path) == other


def test_an_array_that_numpy_writes_is_read(tmp_path, hot):
    np.save(tmp_path / "c.npy", hot.links)
    assert lf.Configuration.read(tmp_path / "c.npy") == hot


def test_wrong_input_is_told(tmp_path, hot):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        lf.Configuration.read(tmp_path / "nowhere.nersc")
    with pytest.raises(OSError):
        lf.Configuration.read(tmp_path)
    (tmp_path / "x.nersc").write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a NERSC file"):
        lf.Configuration.read(tmp_path / "x.nersc")
    with pytest.raises(ValueError, match="SU\\(3\\)"):
        lf.Configuration.from_array(2 * hot.links)
    with pytest.raises(ValueError, match=r"\(8, 2, 6, 4, 4, 3\)"):
        lf.Configuration.from_array(hot.links[..., 0])
    with pytest.raises(TypeError, match="float64"):
        lf.Configuration.from_array(hot.links.real)
    broken = hot.links.copy()
    broken[0, 0, 0, 0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        lf.Configuration.from_array(broken)
    for lattice in ["4.4.4", (4, 4, 4), (4, 4, 0, 4), 4, (1 << 20,) * 4]:
        with pytest.raises(ValueError):
            lf.Configuration.unit(lattice)
    with pytest.raises(MemoryError):
        lf.Configuration.unit((1 << 10, 1 << 10, 1 << 10, 1))
    with pytest.raises(ValueError, match="spread"):
        lf.Configuration.weak("4.4.4.4", 1, spread=-1)
    with pytest.raises(OverflowError):
        lf.Configuration.hot("4.4.4.4", -1)
