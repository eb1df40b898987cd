/* Where the rows of a matrix are: positions of sites, velocities, magnetic fields. Part of wisp.h, which says what
   holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_POSITIONS_H
#define WISP_PUBLIC_POSITIONS_H

#include "matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the position of a row, x, y and z; 0 where a direction is not there. Returns 0; anything else is a failure
   (WISP_ERR_CALLBACK). It is called from many threads at once, for any row, and must answer the same each time. */
typedef int (*wisp_position_fn)(void *arg, int64_t row, double *xyz);
/* Which of the orbitals of its cell a row is: 0 to orbitals - 1; orbitals, where it is of none. Called as a
 * wisp_position_fn. */
typedef int (*wisp_orbital_fn)(void *arg, int64_t row);

/* Positions are computed row by row, so that nobody has to hold all of them. A program may fill in its own. */
typedef struct {
    int64_t rows;
    int dimensions;           /* 1 to 3: so many vectors of the cell count */
    unsigned periodic;        /* bit d: the lattice repeats along cell[d] */
    double cell[3][3];        /* vectors along which the whole lattice extends, x, y, z of each; 0: not known */
    double volume;            /* that they span: a length, an area, a volume; 0: not known */
    double reach;             /* of the longest bond, before ends of periodic directions are joined; 0: not known */
    wisp_position_fn at;      /* of a row */
    void *arg;                /* passed to at() */
    void (*free_arg)(void *); /* called by wisp_positions_close; may be NULL */
    int orbitals;             /* rows of a cell of the lattice, which are no images of each other; 0: not known */
    wisp_orbital_fn orbital;  /* NULL: that of a row is row modulo orbitals */
    int64_t cells[3];         /* how many cells of the lattice each vector leads across; 0: not known */
} wisp_positions;

/* Opens the positions of a gallery spec, those of the rows that are left if it has vacancies; closed by
   wisp_positions_close. Lattices in the plane: first neighbours are 1 apart, and cells have their true angles. topi,
   anderson and laplace: sites of a cubic lattice, 1 apart. wannier: the cell of a function, for its file tells no more,
   in edges of the cell, as if these were perpendicular. WISP_ERR_UNSUPPORTED: that entry of the gallery has none. Other
   failures as those of wisp_src_open_gallery. */
WISP_SIZED wisp_status wisp_positions_open_gallery(wisp_positions *positions, wisp_ctx *ctx, const char *spec);
/* Opens a file of positions: a text with a line for each row, of 1 to 3 numbers, the same on all lines; empty lines and
   those that begin with # do not count, nor do last columns that are 0 on all lines. cell[3 vectors]: x, y, z of as
   many vectors as the lattice is periodic along, at most 3; NULL with vectors = 0: it is open. Each rank reads and
   holds the whole file, 24 bytes a row. WISP_ERR_IO: it can't be read, or ranks see different ones; WISP_ERR_FORMAT: it
   is malformed, and the message names the line; WISP_ERR_MISMATCH: it has not so many rows; WISP_ERR_ARG: the vectors
   span no cell. All ranks make this call together. */
WISP_SIZED wisp_status wisp_positions_open_file(wisp_positions *positions, wisp_ctx *ctx, const char *path,
                                                int64_t rows, const double *cell, int vectors);
/* Opens positions of an array[rows][dimensions], which is copied (24 bytes a row, on each rank) and must be the same on
   all ranks. cell and vectors as above. WISP_ERR_ARG: dimensions are 1 to 3, positions finite, or the vectors span no
   cell. All ranks make this call together. */
WISP_SIZED wisp_status wisp_positions_open_array(wisp_positions *positions, wisp_ctx *ctx, int64_t rows, int dimensions,
                                                 const double *array, const double *cell, int vectors);
/* Calls free_arg, and empties the struct, which is the caller's. positions may be NULL. */
WISP_SIZED void wisp_positions_close(wisp_positions *positions);

/* VELOCITY: v = i [H, x] itself, complex and Hermitian. REAL, of a real H alone: the real w with v = i w, which is
   antisymmetric if H is symmetric. */
typedef enum { WISP_VELOCITY, WISP_VELOCITY_REAL } wisp_velocity;
/* Opens the velocity of a square source along direction[3] as a source: v_rc = i h_rc d, with d the direction times the
   step from row r to the nearest image of row c (hbar is 1: the unit is that of h times that of positions; a direction
   of another length than 1 scales v). It has the rows that h has on each rank, and the entries of h, those with d = 0
   as zeros; single precision stays so. h and the positions are used, and must stay open as long as it is; the structs
   need not stay. All bonds are looked at once, over the rows of each rank, so all ranks make this call together.
   WISP_ERR_ARG: two images of a bond are equally near and differ along the direction, or bonds of the lattice (reach)
   are not shorter than half of the way around, and the message says how large a cell has to be; or, where reach is 0,
   positions extend over more than the cell, or a bond joins images of one place (a cell that is far larger than the
   sample is warned of, by the log); WISP_ERR_MISMATCH: the
   source is not square, or has not so many positions; WISP_ERR_UNSUPPORTED: its rows were partitioned anew. */
WISP_SIZED wisp_status wisp_src_velocity(wisp_src *src, wisp_ctx *ctx, const wisp_src *h,
                                         const wisp_positions *positions, const double *direction, wisp_velocity form);

/* Opens a square source in a magnetic field along z as a complex source, by Peierls' phases: h_rc turns by 2 pi times
   the integral of the vector potential from c straight to the nearest image of r, in Landau's gauge (Peierls 1933;
   Hofstadter, Phys. Rev. B 14, 2239). field: flux quanta for each unit of area of the positions; a way around an area
   counterclockwise turns by 2 pi times its flux. The entries are as many as those of h, which must have none yet from
   this field. What is said of h and the positions, and of ranks, in wisp_src_velocity holds here. WISP_ERR_ARG: as
   there; or the flux through a cell that is periodic in both directions is no whole number, and the message has the
   nearest field that fits; WISP_ERR_UNSUPPORTED: vectors of the periodic cell are oblique to z. */
WISP_SIZED wisp_status wisp_src_peierls(wisp_src *src, wisp_ctx *ctx, const wisp_src *h,
                                        const wisp_positions *positions, double field);

/* Column j of x becomes the plane wave exp(i k_j . r) on the rows of orbital[j] (below 0: on all rows), 0 on others,
   and of norm 1; a wave of an orbital that no row has is 0. k[width][3]: x, y and z of each, in radians over the unit
   of positions. r is the position of the row itself. orbital[width] may be NULL: all rows. All ranks make this call
   together. WISP_ERR_UNSUPPORTED: x is real; WISP_ERR_MISMATCH: it has not so many rows; WISP_ERR_ARG: a number of k is
   not finite, or there is no such orbital; WISP_ERR_CALLBACK: a position can't be had. */
WISP_SIZED wisp_status wisp_blk_fill_waves(wisp_blk *x, const wisp_positions *positions, const double *k,
                                           const int *orbital);
/* Moves k[3] by as little as makes each exp(i k . a), for the vectors a of the cell along which the lattice is
   periodic, 1: to a wave that fits, one by one. Elsewhere than along them k stays. */
WISP_SIZED wisp_status wisp_positions_fit_wave(const wisp_positions *positions, double *k);

#ifdef __cplusplus
}
#endif

#endif
