/* Chebyshev filter diagonalization: which move comes next, from what is known after a round. Plain numbers: no matrix
   is known here. */
#ifndef WISP_CHEBFD_NEXT_H
#define WISP_CHEBFD_NEXT_H
#include <stdbool.h>
#include <stdint.h>

/* Whether all has been found, as a look by fresh columns and the density tell. */
typedef enum {
    WISP__UNASKED,
    WISP__FINE,
    WISP__MISSING, /* some pairs came forth that the space lacks */
    WISP__DIFFERS  /* the density differs from what was found, or residuals do not tell what belongs to the target */
} wisp__chebfd_verdict;

typedef struct {
    int inside, pending; /* pairs in the target that have converged; that lie there, or may, and have not */
    double worst,
        before;     /* the largest residual of the latter; after the round before. INFINITY: the space was another */
    int search;     /* columns of the space */
    int64_t rows;   /* of the matrix */
    bool tells;     /* pairs from mixtures */
    bool is_single; /* the filter */
    int stalls, growths;          /* rounds in a row without progress, before this one; what was tried against that */
    int asked;                    /* pairs nearest to a target; 0: all in an interval */
    wisp__chebfd_verdict verdict; /* on all having been found */
} wisp__chebfd_known;

typedef enum {
    WISP__REFINE,       /* another round with the same filter */
    WISP__ENLARGE,      /* a space for more pairs than it has met */
    WISP__VERIFY,       /* the verdict is asked for */
    WISP__ADD_MISSING,  /* a space with room for those that are missing */
    WISP__LOOK_FARTHER, /* a wider target */
    WISP__TAKE_DOUBLE,  /* a filter of more digits */
    WISP__ADD_COLUMNS,  /* a space of more columns, for more random ones may tell apart what these do not */
    WISP__GIVE_UP,      /* residuals no longer fall */
    WISP__END           /* with the verdict */
} wisp__chebfd_move;

wisp__chebfd_move wisp__chebfd_next(const wisp__chebfd_known *n);
/* Rounds in a row without progress, with this one. */
int wisp__chebfd_stalls(const wisp__chebfd_known *n);
#endif
