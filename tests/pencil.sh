# What the tests of --overlap share, sourced behind cli.sh with the number of rows in `rows`. A chain's hopping and overlap
# have the same vectors, so that the values of A x = lambda S x are known: c / (1 + s c) with c = 2 cos(pi k / (n + 1)).
chain() { # chain DIAGONAL HOPPING [FIELD]: of so many rows
    awk -v n="$rows" -v d="$1" -v h="$2" -v field="${3:-real}" 'BEGIN {
        imag = field == "complex" ? " 0" : ""
        print "%%MatrixMarket matrix coordinate " field (field == "complex" ? " hermitian" : " symmetric")
        print n, n, (d != 0) * n + n - 1
        for (i = 1; i <= n; i++) {
            if (d != 0) print i, i, d imag
            if (i < n) print i + 1, i, h imag
        }
    }'
}
values_of() { echo "sorted(c/(1+$1*c) for k in range(1,$rows+1) for c in [2*math.cos(math.pi*k/($rows+1))])"; } # values_of S: in Python
