"""Files that cannot be read or written: an OSError of the right kind that names the path."""

import errno
import os
import pathlib
import stat
import tempfile

import numpy as np
import pytest
from conftest import shifted

import remblai

Xs, ys, Xt, _ = shifted(m=20, n=15)
NOBODY = 65534


@pytest.fixture(scope="module")
def fitted():
    return remblai.GroundMetricTransport().fit(Xs=Xs, ys=ys, Xt=Xt)


def writers(fitted):
    return (fitted.model_.save, fitted.save, fitted.report)


def test_places_that_cannot_be_written(fitted, tmp_path):
    (tmp_path / "file").write_text("text")
    for write in writers(fitted):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            write(tmp_path / "nowhere/model.npz")
        with pytest.raises(NotADirectoryError, match="file/model"):
            write(tmp_path / "file/model.npz")
        with pytest.raises(IsADirectoryError, match=tmp_path.name) as raised:
            write(tmp_path)
        assert raised.value.errno == errno.EISDIR
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def own_folder():
    """A folder of somebody who may not write everywhere; root becomes nobody meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.geteuid() == 0
        if root:
            os.chown(folder, NOBODY, -1)
            try:
                os.setresuid(NOBODY, NOBODY, 0)
            except OSError as error:
                pytest.skip(f"root cannot be anybody else here: {error}")
        try:
            yield pathlib.Path(folder)
        finally:
            if root:
                os.setresuid(0, 0, 0)


def test_what_may_not_be_written(fitted, own_folder):
    (own_folder / "read-only").write_text("old")
    (own_folder / "read-only").chmod(stat.S_IRUSR)
    (own_folder / "folder").mkdir()
    (own_folder / "folder").chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        for write in writers(fitted):
            for path in (own_folder / "read-only", own_folder / "folder/model.npz"):
                with pytest.raises(PermissionError, match=path.name) as raised:
                    write(path)
                assert raised.value.errno == errno.EACCES
        assert (own_folder / "read-only").read_text() == "old"
        assert sorted(os.listdir(own_folder)) == ["folder", "read-only"]
    finally:
        (own_folder / "folder").chmod(0o700)


def test_a_full_disk_is_an_error(fitted, tmp_path):
    full = tmp_path / "full"  # never the machine's own: a writer that replaces it would break that
    try:
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except OSError as error:
        pytest.skip(f"devices cannot be made here: {error}")
    for write in writers(fitted):
        with pytest.raises(OSError) as raised:
            write(full)
        assert raised.value.errno == errno.ENOSPC
        assert stat.S_ISCHR(os.stat(full).st_mode)


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.npz") as raised:
        remblai.load(tmp_path / "nothing.npz")
    assert raised.value.errno == errno.ENOENT
    with pytest.raises(IsADirectoryError):
        remblai.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        remblai.load(tmp_path / "pipe")
    (tmp_path / "text.npz").write_text("no model")
    with pytest.raises(ValueError, match="text.npz"):
        remblai.load(tmp_path / "text.npz")


def test_what_is_no_path(fitted, tmp_path):
    """Also of the file that keeps the state of a fit."""
    for use, name in (
        *((write, "path") for write in writers(fitted)),
        (remblai.load, "path"),
        (lambda path: remblai.fit(Xs=Xs, Xt=Xt, checkpoint=path), "checkpoint"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: a path cannot have a NUL"):
            use(str(tmp_path / "a\0b"))
        with pytest.raises(TypeError, match=f"^{name}: float; give the path of a file"):
            use(3.0)
    fitted.save(os.fsencode(tmp_path / "model.npz"))
    np.testing.assert_array_equal(remblai.load(tmp_path / "model.npz").plan(), fitted.coupling_)


def test_links_lead_to_their_file(fitted, tmp_path):
    """A link stays one, and what it leads to has the new bytes."""
    for write in writers(fitted):
        target, link = tmp_path / "target", tmp_path / "link"
        target.write_text("old")
        link.symlink_to(target)
        write(link)
        assert link.is_symlink() and target.read_bytes()[:3] != b"old"
        target.unlink()
        link.unlink()


def test_pipes_and_files_of_two_names_are_left_alone(fitted, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "one").write_text("old")
    os.link(tmp_path / "one", tmp_path / "two")
    for write in writers(fitted):
        with pytest.raises(OSError, match="not a regular file"):
            write(tmp_path / "pipe")
        with pytest.raises(OSError, match="hard links"):
            write(tmp_path / "two")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text() == "old"


def test_a_saved_estimator_is_a_model(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(remblai.load(tmp_path / "model.npz").plan(), fitted.coupling_)
