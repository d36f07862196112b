"""Writes the small files that the io tests read, beside itself. Needs numpy, scipy, h5py and
hdf5storage.

Every io_points_* file holds the matrix P[i, j] = 10 i + j (4 x 3) in another clothing, every
io_cube_* file the numbers 0..23 as 2 x 3 x 4; the tests know these formulas, not stored numbers.
"""

import gzip
import io
import struct
import zipfile
from pathlib import Path

import h5py
import hdf5storage
import numpy as np
import scipy.io
import scipy.sparse

HERE = Path(__file__).resolve().parent
P = 10.0 * np.arange(4)[:, None] + np.arange(3)
CUBE = np.arange(24.0).reshape(2, 3, 4)
Y = np.array([3, 1, 2, 1])


def npy():
    for code in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
        for order, word in (("<", "little"), (">", "big")):
            np.save(HERE / f"io_points_{code}_{word}.npy", P.astype(order + code))
    np.save(HERE / "io_points_fortran.npy", np.asfortranarray(P))
    np.save(HERE / "io_points_fortran_big.npy", np.asfortranarray(P.astype(">f4")))
    np.save(HERE / "io_cube_c.npy", CUBE)
    np.save(HERE / "io_cube_fortran.npy", np.asfortranarray(CUBE))
    for version in (2, 3):
        with open(HERE / f"io_points_v{version}.npy", "wb") as file:
            np.lib.format.write_array(file, P, version=(version, 0))
    np.save(HERE / "io_bool.npy", P % 2 == 1)
    np.save(HERE / "io_scalar.npy", np.array(2.5))
    np.save(HERE / "io_labels.npy", Y)
    np.save(HERE / "io_labels_row.npy", Y[None, :].astype(np.int32))
    np.save(HERE / "io_labels_column.npy", Y[:, None].astype(np.uint8))
    np.save(HERE / "io_huge_i8.npy", np.array([1, 2**53 + 1]))
    np.save(HERE / "io_huge_u8.npy", np.array([1, 2**64 - 1], dtype=np.uint64))
    np.save(HERE / "io_nan.npy", np.array([[1, 2], [3, np.nan]]))
    np.save(HERE / "io_refused_complex.npy", P * 1j)
    np.save(HERE / "io_refused_text.npy", np.array(["a", "b"]))
    np.save(HERE / "io_refused_object.npy", np.array([1, None], dtype=object))
    fields = np.dtype([("a", "<f8"), ("b]", "<i4", (2,))])
    np.save(HERE / "io_refused_structured.npy", np.zeros(2, dtype=fields))


def npz():
    np.savez(HERE / "io_stored.npz", X=P, y=Y)
    np.savez_compressed(HERE / "io_packed.npz", X=P, y=Y, note=np.array(["text"]))
    np.savez(HERE / "io_two.npz", A=P, B=CUBE, y=Y, w=Y / 4)
    raw = io.BytesIO()
    np.save(raw, P)
    promise = raw.getvalue().replace(b"(4, 3), }     ", b"(4, 300000), }")
    with zipfile.ZipFile(HERE / "io_promise.npz", "w") as archive:
        archive.writestr(zipfile.ZipInfo("X.npy"), promise)  # ZipInfo: without the date of writing


def mat():
    many = {
        "X": P, "y": Y[:, None], "single": P.astype(np.float32), "logical": P % 2 == 1,
        "sparse": scipy.sparse.csc_matrix(P), "complex": P * 1j, "text": "hello",
        "cell": np.array([1, "a"], dtype=object), "struct": {"a": 1.0}, "cube": CUBE,
    }
    for code in "i1 i2 i4 i8 u1 u2 u4 u8".split():
        many[code] = P.astype(code)
    scipy.io.savemat(HERE / "io_v5.mat", {"X": P, "y": Y[:, None]})
    scipy.io.savemat(HERE / "io_v5_packed.mat", {"X": P, "y": Y[:, None]}, do_compression=True)
    scipy.io.savemat(HERE / "io_v5_many.mat", many, do_compression=True)
    for path in [HERE / f"io_v5{end}.mat" for end in ("", "_packed", "_many")]:
        with open(path, "r+b") as file:
            file.write(b"MATLAB 5.0 MAT-file".ljust(116))  # without the date of writing


def mat_big_endian():
    """By hand, since SciPy writes this machine's byte order only."""
    numbers = P.T.astype(">i2").tobytes()
    body = struct.pack(">IIII", 6, 8, 6, 0)  # flags: class double
    body += struct.pack(">IIii", 5, 8, 4, 3)  # shape
    body += struct.pack(">HHcxxx", 1, 1, b"X")  # name, inside its tag
    body += struct.pack(">II", 3, len(numbers)) + numbers
    header = b"MATLAB 5.0 MAT-file".ljust(116) + b"\0" * 8 + b"\x01\x00MI"
    (HERE / "io_v5_big.mat").write_bytes(header + struct.pack(">II", 14, len(body)) + body)


def mat73():
    def mark(thing, kind):
        """The class as MATLAB stores it: as many bytes as letters, called null-terminated."""
        kind = kind.encode()
        text = h5py.h5t.C_S1.copy()
        text.set_size(len(kind))
        text.set_strpad(h5py.h5t.STR_NULLTERM)
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        attribute = h5py.h5a.create(thing.id, b"MATLAB_class", text, space)
        attribute.write(np.array(kind), mtype=text)
        return thing

    def put(file, name, values, kind):
        return mark(file.create_dataset(name, data=np.asarray(values).T), kind)

    path = HERE / "io_v73.mat"
    with h5py.File(path, "w", userblock_size=512, libver="earliest") as file:
        put(file, "X", P, "double")
        put(file, "y", Y[:, None].astype(np.int32), "int32")
    many = HERE / "io_v73_many.mat"
    with h5py.File(many, "w", userblock_size=512, libver="earliest") as file:
        put(file, "cube", CUBE, "double")
        put(file, "single", P.astype(np.float32), "single")
        logical = put(file, "logical", (P % 2 == 1).astype(np.uint8), "logical")
        logical.attrs["MATLAB_int_decode"] = np.int32(1)
        text = put(file, "text", np.array([[104, 105]], dtype=np.uint16), "char")
        text.attrs["MATLAB_int_decode"] = np.int32(2)
        for code, kind in (("i1", "int8"), ("u2", "uint16"), ("i8", "int64"), ("u8", "uint64")):
            put(file, code, P.astype(code), kind)
        packed = file.create_dataset("packed", data=P.T, chunks=(3, 2), compression="gzip")
        mark(packed, "double")
        group = mark(file.create_group("struct"), "struct")
        put(group, "a", [[1.0]], "double")
        sparse = mark(file.create_group("sparse"), "double")
        sparse.attrs["MATLAB_sparse"] = np.uint64(4)
        empty = put(file, "empty", np.array([0, 3], dtype=np.uint64), "double")
        empty.attrs["MATLAB_empty"] = np.uint8(1)
        put(file, "complex", (P * 1j).view([("real", "f8"), ("imag", "f8")]), "double")
        refs = file.create_group("#refs#")
        cell = np.array([[put(refs, "a", [[1.0]], "double").ref]], dtype=h5py.ref_dtype)
        put(file, "cell", cell, "cell")
        put(file, "string", np.array([[1, 2]], dtype=np.uint32), "string")
        put(file, "handle", np.array([[1]], dtype=np.uint32), "function_handle")
        put(file, "huge", np.array([[1, 2**53 + 1]]), "int64")
        mark(file.create_dataset("promise", (1 << 20, 1 << 20), "f4", chunks=(64, 64)), "single")
    for name in (path, many):
        user_block(name)


def user_block(path):
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + b"\0" * 8 + b"\x00\x02IM"
    with open(path, "r+b") as file:
        file.write(header)


def mat73_by_python():
    """As Python's programs write it: other padding of the class, or none of MATLAB's signs."""
    path = HERE / "io_h5py_class.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("X", data=P.T).attrs["MATLAB_class"] = np.bytes_("double")
        file.create_dataset("y", data=Y[None, :]).attrs["MATLAB_class"] = "int64"  # any length
        file.create_dataset("z", data=CUBE.T).attrs["MATLAB_class"] = np.bytes_("double   ")
    user_block(path)
    with h5py.File(HERE / "io_h5py_block.mat", "w", userblock_size=512) as file:
        file["X"] = P.T
    user_block(HERE / "io_h5py_block.mat")
    with h5py.File(HERE / "io_h5py.mat", "w") as file:
        file["X"] = P
        file["y"] = Y
    with h5py.File(HERE / "io_h5py_many.mat", "w", libver="earliest") as file:
        for code in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
            file[f"{code}_little"] = P.astype("<" + code)
            file[f"{code}_big"] = P.astype(">" + code)
        file["bool"] = P % 2 == 1
        file["cube"] = CUBE
        file["number"] = 2.5
        file["huge"] = np.array([[1, 2, 3], [4, 2**64 - 1, 6]], dtype=np.uint64)
        file["complex"] = P * 1j
        file["text"] = "hello"
        file["records"] = np.zeros(2, dtype=[("a", "f8"), ("b", "i4"), ("c", "i4")])
        file["long"] = P.astype(np.longdouble)
        file["nothing"] = h5py.Empty("f8")
        file["group/X"] = P
        file["soft"] = h5py.SoftLink("/cube")
        file["elsewhere"] = h5py.ExternalLink("io_h5py.mat", "/X")
        file["type"] = np.dtype("f8")
        file.create_dataset("outside", (2, 2), "f8", external=[("io_v5.mat", 0, 32)])
        file.create_dataset("packed", data=P, chunks=(3, 2), compression="gzip", shuffle=True)
    hdf5storage.savemat(
        str(HERE / "io_hdf5storage.mat"), {"X": P, "y": Y[:, None]}, format="7.3", oned_as="column"
    )
    user_block(HERE / "io_hdf5storage.mat")  # without the date of writing


def idx():
    def packed(name, data):
        with open(HERE / name, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as file:
            file.write(data)

    images = struct.pack(">BBBBIII", 0, 0, 8, 3, 2, 3, 4) + CUBE.astype(np.uint8).tobytes()
    labels = struct.pack(">BBBBI", 0, 0, 8, 1, 4) + Y.astype(np.uint8).tobytes()
    (HERE / "io_cube-idx3-ubyte").write_bytes(images)
    (HERE / "io_labels.idx1-ubyte").write_bytes(labels)
    packed("io_cube-idx3-ubyte.gz", images)
    packed("io_labels-idx1-ubyte.gz", labels)
    for kind, code in ((9, ">i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")):
        head = struct.pack(">BBBBII", 0, 0, kind, 2, 4, 3)
        (HERE / f"io_points_{code[1:]}.idx").write_bytes(head + P.astype(code).tobytes())


if __name__ == "__main__":
    npy()
    npz()
    mat()
    mat_big_endian()
    mat73()
    mat73_by_python()
    idx()
