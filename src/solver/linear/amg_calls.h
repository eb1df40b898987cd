/* HYPRE's functions that amg.c calls: X of each name, without its HYPRE_. */
#ifndef WISP_AMG_CALLS_H
#define WISP_AMG_CALLS_H

#define WISP__HYPRE(X)             \
    X(Init)                        \
    X(GetError)                    \
    X(ClearAllErrors)              \
    X(DescribeError)               \
    X(IJMatrixCreate)              \
    X(IJMatrixSetObjectType)       \
    X(IJMatrixSetRowSizes)         \
    X(IJMatrixInitialize)          \
    X(IJMatrixSetValues)           \
    X(IJMatrixAssemble)            \
    X(IJMatrixGetObject)           \
    X(IJMatrixDestroy)             \
    X(IJVectorCreate)              \
    X(IJVectorSetObjectType)       \
    X(IJVectorInitialize)          \
    X(IJVectorAssemble)            \
    X(IJVectorSetValues)           \
    X(IJVectorGetValues)           \
    X(IJVectorGetObject)           \
    X(IJVectorDestroy)             \
    X(ParVectorSetConstantValues)  \
    X(BoomerAMGCreate)             \
    X(BoomerAMGSetTol)             \
    X(BoomerAMGSetMaxIter)         \
    X(BoomerAMGSetPrintLevel)      \
    X(BoomerAMGSetStrongThreshold) \
    X(BoomerAMGSetCycleRelaxType)  \
    X(BoomerAMGSetup)              \
    X(BoomerAMGSolve)              \
    X(BoomerAMGDestroy)

#endif
