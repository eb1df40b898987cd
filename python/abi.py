"""Writes wisp/_abi.py, cffi's description of the library: python3 abi.py COMPILER INCLUDE FOLDER.

The preprocessor makes the public headers into declarations that cffi reads; only bodies of inline functions are cut out.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import cffi

SOURCE = "#define WISP_BUILDING\n#define __attribute__(x)\n#include <wisp/wisp.h>\n"
# Of wisp/mpi.h, whose MPI_Comm is an address or an int, by the MPI; and what says which MPI the library has. A library
# without MPI lacks both, which shows where they are called.
MPI = """
wisp_status wisp_ctx_create_mpi_sized(wisp_ctx **ctx, void *comm, const wisp_ctx_opts *opts, size_t opts_size);
int MPI_Get_library_version(char *version, int *length);
"""


def declarations(compiler: str, include: str) -> str:
    with tempfile.TemporaryDirectory() as stub:
        for name in ("stdarg.h", "stddef.h", "stdint.h", "stdio.h"):  # cffi knows their types
            pathlib.Path(stub, name).touch()
        run = subprocess.run([compiler, "-E", "-P", "-nostdinc", "-I", stub, "-I", include, "-x", "c", "-"],
                             input=SOURCE, stdout=subprocess.PIPE, text=True, check=True)
    return re.sub(r"static inline [^;{]*\{(?:[^{}]|\{[^{}]*\})*\}", "", run.stdout)


if __name__ == "__main__":
    ffi = cffi.FFI()
    ffi.set_source("wisp._abi", None)  # out-of-line, ABI mode: a file of Python alone
    ffi.cdef(declarations(*sys.argv[1:3]) + MPI)
    ffi.compile(tmpdir=sys.argv[3])
