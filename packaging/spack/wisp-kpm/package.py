# Spack: the library, the command, and with +python the module. `spack repo create` makes a repository, whose `packages`
# folder takes this one. Until a release has an archive: spack develop --path CHECKOUT wisp-kpm@=0.3.0
import os

from spack.package import *


class WispKpm(CMakePackage):
    """Spectral quantities of very large sparse matrices, with error bars: densities of states, Green's functions and
    conductivities by the kernel polynomial method, eigenpairs, time evolution, linear systems."""

    maintainers("wisp-authors")
    license("BSD-3-Clause", checked_by="wisp-authors")

    version("0.3.0")

    variant("mpi", default=True, description="Runs of many processes")
    variant("hdf5", default=True, description="Files of moments and vectors in HDF5")
    variant("hwloc", default=True, description="Thread placement by hwloc")
    variant("scotch", default=False, when="+mpi", description="Parts of a graph by PT-SCOTCH")
    variant("hypre", default=False, when="+mpi", description="Multigrid by HYPRE as a preconditioner")
    variant("opencl", default=False, description="Devices of OpenCL")
    variant("blas", default=True, description="What `wisp machine` and `wisp bench` compare with")
    variant("python", default=False, description="The module wisp of Python")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("jansson")
    depends_on("random123")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("hdf5~mpi+shared", when="+hdf5")
    depends_on("hwloc", when="+hwloc")
    depends_on("scotch@7:+mpi+shared+link_error_lib", when="+scotch")
    depends_on("hypre+mpi+shared", when="+hypre")
    depends_on("opencl-headers", when="+opencl")
    depends_on("blas", when="+blas")
    extends("python@3.9:", when="+python")
    with when("+python"):
        depends_on("py-cffi@1.15:", type=("build", "run"))
        depends_on("py-numpy@1.22:", type="run")
        depends_on("py-scipy@1.8:", type="run")
        depends_on("py-h5py", type="run", when="+hdf5")

    def cmake_args(self):
        names = ("mpi", "hdf5", "hwloc", "scotch", "opencl", "blas")
        args = [self.define_from_variant("WISP_" + name.upper(), name) for name in names]
        args += [self.define_from_variant("WISP_AMG", "hypre"), self.define("WISP_MUMPS", False),
                 self.define("WISP_TESTS", self.run_tests), self.define("WISP_HDF5_MODULE", "hdf5")]
        # The kernels of the target that this is built for, beside those that any CPU runs.
        isas = ["generic"]
        if "avx512f" in self.spec.target:
            isas.append("avx512")
        elif "avx2" in self.spec.target:
            isas.append("avx2")
        elif self.spec.target.family == "aarch64":
            isas.append("neon")
        args.append(self.define("WISP_ISAS", isas))
        return args

    def check(self):
        with working_dir(self.build_directory):
            ctest("-L", "fast")

    @run_after("install", when="+python")
    def install_python(self):
        module = join_path(python_platlib, "wisp")
        mkdirp(module)
        with working_dir(self.stage.source_path):
            install("python/src/wisp/*", module)
            python("python/abi.py", spack_cc, "include", os.path.dirname(module))
        library = find_libraries("libwisp", self.prefix, shared=True, recursive=True)
        symlink(library[0], join_path(module, "libwisp.so"))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.wisp)("dos", "graphene:nx=20,ny=20", "--moments", "64", "--vectors", "8")
