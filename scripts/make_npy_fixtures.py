#!/usr/bin/env python3
"""Makes tests/data/npy/: small files as NumPy and ml_dtypes really write them, for the readers' tests.

    python3 -m venv npy-venv && npy-venv/bin/pip install numpy ml_dtypes
    npy-venv/bin/python scripts/make_npy_fixtures.py

The same bytes on every run. Made with NumPy 2.4 and ml_dtypes 0.6.
"""
import io
import pathlib
import zipfile

import ml_dtypes
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "npy"
MATRIX = np.array([[1, 2, 3], [4, 5, 6]])
# Not symmetric, negative, fractional; exact in every floating type here.
VALUES = np.array([[1.5, -2.0, 0.25], [0.0, 3.0, -0.125]])


def save(name, array, version=None):
    with open(FOLDER / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=True)


def array_bytes(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=True)
    return file.getvalue()


def save_npz(name, compression, force_zip64, **arrays):
    with zipfile.ZipFile(FOLDER / name, "w", compression) as archive:
        for key, array in arrays.items():
            # A ZipInfo of its own carries the date 1980-01-01, as np.savez's does.
            info = zipfile.ZipInfo(key + ".npy")
            info.compress_type = compression
            with archive.open(info, "w", force_zip64=force_zip64) as member:
                member.write(array_bytes(array))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for version in [(1, 0), (2, 0), (3, 0)]:
        save(f"v{version[0]}.npy", VALUES.astype("<f4"), version)
    for code in ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"]:
        save(f"{'little' if code[0] == '<' else 'big'}_{code[1:]}.npy", VALUES.astype(code))
    for code in ["<i4", "<i8", ">i4", ">i8"]:
        save(f"{'little' if code[0] == '<' else 'big'}_{code[1:]}.npy", (MATRIX * -3).astype(code))
    save("u1.npy", (MATRIX * 40).astype("u1"))
    save("b1.npy", MATRIX % 2 == 1)
    save("bf16.npy", VALUES.astype(ml_dtypes.bfloat16))
    save("fortran_f4.npy", np.asfortranarray(VALUES.astype("<f4")))
    save("fortran_big_f8.npy", np.asfortranarray(VALUES.astype(">f8")))
    save("fortran_4d.npy", np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 1, 4)))
    save("scalar.npy", np.array(2.5, dtype="<f4"))
    save("empty.npy", np.zeros((2, 0), dtype="<f4"))
    save("void2.npy", np.zeros(3, dtype="V2"))
    save("float8.npy", VALUES.astype(ml_dtypes.float8_e4m3fn))
    save("object.npy", np.array([None, "a"], dtype=object))
    save("structured.npy", np.zeros(2, dtype=[("a", "<f4"), ("b, )", "<i4", (2,))]))
    save("complex.npy", VALUES.astype("<c8"))
    save("unicode.npy", np.array(["␣cat", "", "praça", "𝄞"]))
    save("unicode_big.npy", np.array(["␣cat", "", "praça", "𝄞"]).astype(">U4"))
    members = dict(
        q=VALUES.astype("<f4"),
        mask=MATRIX % 2 == 1,
        big=VALUES.astype(">f4"),
        fortran=np.asfortranarray(VALUES),
        bf16=VALUES.astype(ml_dtypes.bfloat16),
        tokens=np.array(["␣cat", "ed"]),
        sentence=np.array("a praça"),
        objects=np.array([None], dtype=object),
    )
    save_npz("stored.npz", zipfile.ZIP_STORED, False, **members)
    save_npz("deflated.npz", zipfile.ZIP_DEFLATED, False, **members)
    save_npz("zip64.npz", zipfile.ZIP_STORED, True, **members)


if __name__ == "__main__":
    main()
