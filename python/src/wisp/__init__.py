"""wisp: spectral quantities of very large sparse matrices, with error bars.

>>> import wisp
>>> rho = wisp.gallery("graphene", nx=20, ny=20).spectral_density(num_vectors=8, num_moments=64)
>>> round(rho.integrate().value)
800
"""
from . import _lapack, _threads
from ._average import Average, average
from ._checkpoint import Checkpoint
from ._context import Context
from ._errors import (ArgumentError, BoundsError, CallbackError, CancelledError, ConvergenceError, FileError, FormatError,
                      IncompleteError, NotHermitianError, NumericError, OutOfMemoryError, SingularError, TooLargeError,
                      UnsupportedError, WispError)
from ._evolve import EvolveInfo
from ._files import load
from ._lib import __version__, features
from ._local import GreensFunction, LocalDensity
from ._maps import LocalMap, SpectralFunction
from ._matrix import Matrix, gallery
from ._moments import Estimate, Moments, SpectralDensity, Thermal
from ._results import Eigenpairs, SingularTriplets, SolveInfo
from ._transport import Conductivity

__all__ = ["ArgumentError", "Average", "BoundsError", "CallbackError", "CancelledError", "Checkpoint", "Conductivity", "Context",
           "ConvergenceError", "Eigenpairs", "Estimate", "EvolveInfo", "FileError", "FormatError", "GreensFunction",
           "IncompleteError", "LocalDensity", "LocalMap", "Matrix", "Moments", "NotHermitianError", "NumericError",
           "OutOfMemoryError", "SingularError", "SingularTriplets", "SolveInfo", "SpectralDensity", "SpectralFunction", "Thermal",
           "TooLargeError", "UnsupportedError", "WispError", "__version__", "average", "features", "gallery", "load"]
