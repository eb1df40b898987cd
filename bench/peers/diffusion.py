#!/usr/bin/env python3
"""-div(c grad u) on N^3 cells, u = 0 around them, as a .crs file for --matrix: diffusion.py stretched|jumps N FILE.

stretched: c is 1 along x and y, and 1000 along z, the index that is fastest. jumps: c is constant in cubes of 10 cells a
side, and log-uniform between 1e-3 and 1e3; on a face it is the harmonic mean of both cells."""
import array
import random
import sys

CUBE = 10


def stretched(n):
    """c on the lower and the upper face along the axis of the cell at (x, y, z)."""
    return lambda at, axis: (1000., 1000.) if axis == 2 else (1., 1.)


def jumps(n):
    draw = random.Random(1)
    side = (n - 1) // CUBE + 1
    cubes = [10 ** draw.uniform(-3, 3) for _ in range(side**3)]

    def c(at):
        return cubes[(at[0] // CUBE * side + at[1] // CUBE) * side + at[2] // CUBE]

    def faces(at, axis):
        own = c(at)
        both = []
        for step in (-1, 1):
            there = at[axis] + step
            other = c(at[:axis] + (there,) + at[axis + 1:]) if 0 <= there < n else own
            both.append(2 * own * other / (own + other))
        return both

    return faces


def main():
    kinds = {"stretched": stretched, "jumps": jumps}
    if len(sys.argv) != 4 or sys.argv[1] not in kinds or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    n = int(sys.argv[2])
    faces = kinds[sys.argv[1]](n)
    stride = (n * n, n, 1)
    start, col, val = array.array("q", [0]), array.array("q"), array.array("d")
    for row in range(n**3):
        at = (row // (n * n), row // n % n, row % n)
        c = [faces(at, axis) for axis in range(3)]
        entries = [(row - stride[a], -c[a][0]) for a in range(3) if at[a] > 0]
        entries.append((row, sum(low + high for low, high in c)))
        entries += [(row + stride[a], -c[a][1]) for a in (2, 1, 0) if at[a] < n - 1]
        col.extend(j for j, _ in entries)
        val.extend(v for _, v in entries)
        start.append(len(col))
    with open(sys.argv[3], "wb") as f:
        array.array("i", [0, 1, 0, 1, 6]).tofile(f)
        array.array("q", [n**3, n**3, len(col)]).tofile(f)
        for a in (start, col, val):
            a.tofile(f)


if __name__ == "__main__":
    main()
