/* Steps of scalars that wisp_scalars (slot.h) knows, and the numbers that they are made of. Part of wisp.h. */
#ifndef WISP_PUBLIC_STEPS_H
#define WISP_PUBLIC_STEPS_H

/* Numbers of a recurrence lie in a slot by sets: set i is [width] complex numbers, one for each column, from number
   i * width of its place on. Unless something else is said, they are real. */
enum {
    /* Dots of a product, where wisp_spmmv puts them: dot_at is the place itself. */
    WISP_SET_XX,
    WISP_SET_XY,
    WISP_SET_YY,
    WISP_SET_UY,
    /* Four more, as the steps say. */
    WISP_SET_DOT,
    /* Twelve of factors, as the steps say. */
    WISP_SET_FACTOR = WISP_SET_DOT + 4,
    /* re: 0, the column goes on; 1, it has ended. im: 0, or why it can't go on, as below. Columns but those with 0 and
       0 are left as they are. */
    WISP_SET_STATE = WISP_SET_FACTOR + 12,
    WISP_SET_RR,     /* |r|^2 by the recurrence; */
    WISP_SET_ENOUGH, /* a column ends where it is no more than this */
    WISP_SET_BEST,   /* the least |r|^2 that was ever verified */
    /* Sixteen of the step's own, below. */
    WISP_SET_OWN,
    /* What became of a column, a set for each step that is to be told apart: |r|^2, and in im why it can't go on. */
    WISP_SET_RECORD = WISP_SET_OWN + 16,
    WISP_SETS = WISP_SET_RECORD /* without records */
};

/* Why a column can't go on. */
enum {
    WISP_STATE_BREAKDOWN = 1, /* WISP_ERR_BREAKDOWN */
    WISP_STATE_INDEFINITE,    /* WISP_ERR_INDEFINITE */
    WISP_STATE_ASKS,          /* CG: <p, A p> may be rounding. It can go on with <p, p> in set CG_PP. */
    WISP_STATE_CAREFUL,       /* CG, hidden: rounding spoils the recurrence. The classical one may go on. */
    WISP_STATE_WAITED         /* of a record alone: one of the last two was so before the step, which did nothing */
};

/* Numbers for all columns. */
enum {
    WISP_NUMBER_RECORD,   /* the number of the set of records that is written; less than 0: none, and no column ends */
    WISP_NUMBER_EPS,      /* the rounding of the blocks' type */
    WISP_NUMBER_FAR,      /* |r|^2 times this is more than the best: r grows without end. 0: it is not looked at */
    WISP_NUMBER_LEAST,    /* CG: <p, A p> over |r|^2 is more than this, or looked at closely */
    WISP_NUMBER_ROUNDING, /* CG: the rounding of <p, A p> over <p, p> */
    WISP_NUMBER_PRECOND,  /* the set of <r, M^-1 r>, counted from DOT on. CG, BiCGStab: 0, there is no preconditioner */
    WISP_NUMBER_PREDICT,  /* CG: 1, the variant that predicts |r|^2; else 0 */
    WISP_NUMBER_UNIT,     /* MINRES: dots times this are about 1 */
    WISP_NUMBERS
};

typedef enum {
    /* CG in two passes and one reduction (Rupp et al. 2016, algorithm 2; Chen and Carson 2020). Dots: XY and YY of
       s = A p, then <r, r> and <s, p'>. Factors: alpha, -alpha, beta, and that of r in p = r + beta p. AGAIN: |r|^2 is
       that of the set, and the dots are those of the step before. */
    WISP_STEP_CG = 1,
    WISP_STEP_CG_AGAIN,
    /* CG in two reductions (Hestenes and Stiefel 1952). LENGTH: alpha, of XY. TURN: beta, of <r, r> and
       <r, M^-1 r>. */
    WISP_STEP_CG_LENGTH,
    WISP_STEP_CG_TURN,
    /* CG whose reduction is hidden behind the product (Ghysels and Vanroose 2014). Dots: <r, r>, <r, u>, <w, u> with
       u = M^-1 r, w = A u. AGAIN: of the same step as before. */
    WISP_STEP_CG_HIDDEN,
    WISP_STEP_CG_HIDDEN_AGAIN,
    /* BiCGStab (van der Vorst 1992; Rupp et al. 2016, algorithm 4). ALPHA: of UY = <r*, v>, and <r*, r> and <r, r>.
       OMEGA: of t = A s: with a preconditioner YY and, in the sets behind <s, s>, <s, t> and <r*, t>; else XY, YY and
       UY. BETA, as algorithm 3 has it: of <r*, r>. Factors: alpha, -alpha, omega, -omega, beta, -beta omega, that of r
       in p = r + beta (p - omega v), and those of x and of a kept x that becomes x where residuals are about to rise
       and x is the best by far. */
    WISP_STEP_BICGSTAB_ALPHA,
    WISP_STEP_BICGSTAB_OMEGA,
    WISP_STEP_BICGSTAB_BETA,
    /* MINRES (Paige and Saunders 1975; Elman, Silvester and Wathen 2005, algorithm 2.4), of <u, z> and XY = <z, A z>;
       FIRST: the first step. Factors, each from the next set on: of A z, u and the u before in the next u; of z and the
       two w before in w; of w in x. */
    WISP_STEP_MINRES_FIRST,
    WISP_STEP_MINRES,
    WISP_STEPS
} wisp_step;

/* Sets of a step's own, and of its factors. */
enum {
    WISP_CG_MU = WISP_SET_OWN, /* <p, A p> */
    WISP_CG_GAMMA,             /* |A p|^2 */
    WISP_CG_DELTA,             /* <r, A p> */
    WISP_CG_ALPHA,
    WISP_CG_BETA,
    WISP_CG_RZ,     /* <r, M^-1 r> */
    WISP_CG_RZ_OLD, /* hidden: that of the step before, and alpha of it */
    WISP_CG_ALPHA_OLD,
    WISP_CG_PP, /* <p, p>, where it was asked for; else 0 */
    WISP_CG_RU, /* hidden: <r, u> and <w, u>, with u = M^-1 r and w = A u */
    WISP_CG_WU,
    WISP_BICGSTAB_RHO = WISP_SET_OWN, /* complex, as the next four */
    WISP_BICGSTAB_RV,
    WISP_BICGSTAB_ALPHA,
    WISP_BICGSTAB_OMEGA,
    WISP_BICGSTAB_BETA,
    WISP_BICGSTAB_WAS,            /* |r|^2 before the step */
    WISP_BICGSTAB_LOW,            /* |r|^2 of the x that is kept */
    WISP_MINRES_B = WISP_SET_OWN, /* beta_k, the norm of u_k, and the one before */
    WISP_MINRES_B_OLD,
    WISP_MINRES_MU, /* alpha_k */
    WISP_MINRES_EPSILON,
    WISP_MINRES_DBAR,
    WISP_MINRES_CS,
    WISP_MINRES_SN,
    WISP_MINRES_PHI,   /* |r| of the preconditioned norm, */
    WISP_MINRES_SCALE, /* whose square times this is |r|^2 */
    WISP_MINRES_NORM,  /* of A at least */
    WISP_MINRES_ROOT   /* |A r| over |r| in the first step */
};
enum { WISP_CG_F_ALPHA = WISP_SET_FACTOR, WISP_CG_F_MINUS_ALPHA, WISP_CG_F_BETA, WISP_CG_F_R };
enum {
    WISP_BICGSTAB_F_ALPHA = WISP_SET_FACTOR,
    WISP_BICGSTAB_F_MINUS_ALPHA,
    WISP_BICGSTAB_F_OMEGA,
    WISP_BICGSTAB_F_MINUS_OMEGA,
    WISP_BICGSTAB_F_BETA,
    WISP_BICGSTAB_F_MINUS_BETA_OMEGA,
    WISP_BICGSTAB_F_R,
    WISP_BICGSTAB_F_TAKE,
    WISP_BICGSTAB_F_KEEP
};
enum {
    WISP_MINRES_F_Q = WISP_SET_FACTOR,
    WISP_MINRES_F_U,
    WISP_MINRES_F_OLD,
    WISP_MINRES_F_V,
    WISP_MINRES_F_W,
    WISP_MINRES_F_WOLD,
    WISP_MINRES_F_PHI
};

#endif
