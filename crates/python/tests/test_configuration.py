"""Configurations: seeds, arrays, files."""

import copy
import gc
import hashlib
import pathlib
import pickle

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


@pytest.mark.parametrize("name", ["c.nersc", "c", "c.lime", "c.npy", "c.h5"])
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


def test_names_say_formats_and_bytes_tell_them(tmp_path, hot):
    for name, start in [("c.lime", b"\x45\x67\x89\xab"), ("c.milc", b"\x87\x4e\0\0"), ("c.h5", b"\x89HDF")]:
        hot.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(ValueError, match="does not say its format"):
        hot.save(tmp_path / "c.cfg")
    hot.save(tmp_path / "c.cfg", format="ildg")
    assert lf.Configuration.read(tmp_path / "c.cfg") == hot
    with pytest.raises(ValueError, match="not 4.4.4.4"):
        lf.Configuration.read(tmp_path / "c.cfg", lattice=(4, 4, 4, 4))


def test_links_far_from_su3_are_projected(tmp_path, hot):
    np.save(tmp_path / "far.npy", hot.links * 1.5)
    with pytest.raises(ValueError, match="not in SU"):
        lf.Configuration.read(tmp_path / "far.npy")
    for projection in ["polar", "max-re-tr"]:
        near = lf.Configuration.read(tmp_path / "far.npy", project=projection)
        assert np.abs(near.links - hot.links).max() < 1e-14
        assert np.abs(near.projected(projection).links - hot.links).max() < 1e-14
    with pytest.raises(ValueError, match="expected polar or max-re-tr"):
        hot.projected("nearest")


def test_labels_survive_reading_and_saving(tmp_path, hot):
    hot.save(tmp_path / "a.nersc")
    text = (tmp_path / "a.nersc").read_bytes().replace(b"ENSEMBLE_LABEL = \n", b"ENSEMBLE_LABEL = DWF 2+1f\n")
    (tmp_path / "a.nersc").write_bytes(text.replace(b"SEQUENCE_NUMBER = 1\n", b"SEQUENCE_NUMBER = 40\n"))
    lf.Configuration.read(tmp_path / "a.nersc").save(tmp_path / "b.npy")
    read = lf.Configuration.read(tmp_path / "b.npy")
    read.save(tmp_path / "c.nersc")
    assert (tmp_path / "c.nersc").read_bytes() == (tmp_path / "a.nersc").read_bytes()
    read.projected().save(tmp_path / "d.nersc")
    assert b"ENSEMBLE_LABEL = DWF 2+1f project:polar\n" in (tmp_path / "d.nersc").read_bytes()
    with pytest.raises(FileExistsError, match="b.npy.json"):
        (tmp_path / "b.npy").unlink()
        hot.save(tmp_path / "b.npy")
    (tmp_path / "b.npy.json").write_text("notes")
    hot.save(tmp_path / "b.npy", overwrite=True)
    with pytest.warns(UserWarning, match="read without it"):
        assert lf.Configuration.read(tmp_path / "b.npy") == hot


def test_arrays_of_numpy_and_hdf5_are_read(tmp_path, hot):
    np.save(tmp_path / "a.npy", hot.links.astype(np.complex64))
    array = lf.read_array(tmp_path / "a.npy")
    assert array.dtype == np.complex64 and (array == hot.links.astype(np.complex64)).all()
    hot.save(tmp_path / "a.h5")
    assert (lf.read_array(tmp_path / "a.h5", dataset="data") == hot.links).all()
    with pytest.raises(ValueError, match="a.h5.*nothing"):
        lf.read_array(tmp_path / "a.h5", dataset="nothing")
    with pytest.raises(FileNotFoundError, match="b.npy"):
        lf.read_array(tmp_path / "b.npy")
    several = pathlib.Path(__file__).parents[3] / "tests/data/hdf5/contiguous.h5"
    with pytest.raises(ValueError, match=r"9 datasets .*: read one with Configuration.from_array\(read_array\(path, dataset=NAME\)\)"):
        lf.Configuration.read(several)


def test_an_array_that_numpy_writes_is_read(tmp_path, hot):
    np.save(tmp_path / "c.npy", hot.links)
    assert lf.Configuration.read(tmp_path / "c.npy") == hot


def test_random_links_are_those_of_the_library(tmp_path):
    assert np.array_equal(lf.Configuration.unit("2.4.2.6").links, np.broadcast_to(np.eye(3), (6, 2, 4, 2, 4, 3, 3)))
    lf.golden_export(tmp_path / "golden", kernels="copy", precisions="f32", seed=7)
    exported = np.load(tmp_path / "golden" / "configuration.npy")
    assert np.array_equal(lf.Configuration.hot((4, 6, 2, 8), 7).links, exported)
    # Digests of what the program makes: `lanefield config generate weak --lattice 4.4.4.8 --seed 1`, and 12 numbers a site of seed 1.
    weak = lf.Configuration.weak((4, 4, 4, 8), 1)
    assert weak.sha256 == "21cfc7c79ac0900be394181c35ab66f09bb4c8d2bd6a7b954d3c3b56d53ff2a6"
    numbers = hashlib.sha256(lf.gaussian(weak, 1, ls=4).tobytes()).hexdigest()
    assert numbers == "17e195e764c6f4f7f471979917dbc7fe1cf89b42d9c0708911b9f2bc77e99a68"


def test_configurations_are_keys_and_are_pickled(hot):
    again = pickle.loads(pickle.dumps(hot))
    assert again == hot and hash(again) == hash(hot) and {hot: 1}[again] == 1
    assert hot.sha256 == hashlib.sha256(hot.links.tobytes()).hexdigest()
    assert copy.copy(hot) is hot and copy.deepcopy([hot])[0] is hot
    other = lf.Configuration.hot(hot.extents, 8)
    assert other != hot and other not in {hot} and hot != "hot"
    # A zero's sign is a bit too.
    unit = lf.Configuration.unit("2.2.2.2")
    links = unit.links.copy()
    links[0, 0, 0, 0, 0, 0, 1] = -0.0
    negative = lf.Configuration.from_array(links)
    assert negative != unit and hash(negative) != hash(unit)
    # What was in SU(3) within f32 is so still.
    single = lf.Configuration.from_array(hot.links.astype(np.complex64))
    assert pickle.loads(pickle.dumps(single)) == single


def test_wrong_input_is_told(tmp_path, hot):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        lf.Configuration.read(tmp_path / "nowhere.nersc")
    with pytest.raises(OSError):
        lf.Configuration.read(tmp_path)
    (tmp_path / "x.nersc").write_bytes(b"something else")
    with pytest.raises(ValueError, match="which is no known format"):
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
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        hot.save(tmp_path / "nowhere" / "c.nersc")
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        hot.save(tmp_path / "nowhere" / "c.npy")
    with pytest.raises(IsADirectoryError):
        hot.save(tmp_path, overwrite=True)
    for convention in ("lanefield", "pyquda"):
        with pytest.raises(ValueError, match="of links .* on a lattice 4.6.2.8, and lattice= is 4.4.4.8"):
            lf.Configuration.from_array(hot.array(convention=convention), convention=convention, lattice=(4, 4, 4, 8))
    for lattice in ["4.4.4", (4, 4, 4), (4, 4, 0, 4), 4, (1 << 20,) * 4]:
        with pytest.raises(ValueError):
            lf.Configuration.unit(lattice)
    with pytest.raises(MemoryError):
        lf.Configuration.unit((1 << 10, 1 << 10, 1 << 10, 1))
    with pytest.raises(ValueError, match="spread"):
        lf.Configuration.weak("4.4.4.4", 1, spread=-1)
    with pytest.raises(ValueError, match="seed is -1: expected a whole number that is not negative"):
        lf.Configuration.hot("4.4.4.4", -1)
    with pytest.raises(ValueError, match="seed is 18446744073709551616"):
        lf.Configuration.hot("4.4.4.4", 1 << 64)
    with pytest.raises(TypeError, match="spread is 'x': expected a number"):
        lf.Configuration.weak("4.4.4.4", 1, spread="x")
