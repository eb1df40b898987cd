# Numbers that are known of infinite systems, from the command: densities of states of a chain and of the square lattice, and
# the localisation length of a disordered chain.
. "$(dirname "$0")/cli.sh"
sed -i 's/^import json.*/import json, math, sys/' check.py

# A chain on the bounds -2t, 2t: the moments of a site are 1, 0, 0, .., as far as steps reach no end.
ok ldos anderson:nx=2000,disorder=0 --sites 1000 --bounds=-2,2 --moments 64 --json
json out 'd["moments"] == [[1] + 63 * [0]]'

# The square lattice, states per site: complete elliptic integrals, K(sqrt(1 - E^2/16)) / (2 pi^2).
ok ldos square:nx=600,ny=600 --sites 180300 --bounds=-4.05,4.05 --moments 512 --energies 0.5,1,2 --json
json out 'all(abs(a - b) < 1e-4 for a, b in zip(d["dos"][0], (0.17607, 0.14191, 0.10925)))'

# The inverse localisation length at E = 1 from moments that were kept, by Thouless' formula: the mean of log |E - E_n|, whose
# series is log(halfwidth/2) - 2 sum of cos(n t) mu_n/n. Products of transfer matrices give 0.05806 +- 0.0002.
if [ $have_hdf5 = 1 ]; then
    ok dos anderson:nx=200000,disorder=2 --moments 256 --vectors 8 --save kept.h5 --quiet
    ok dos --from kept.h5 --energies 1 --json
else
    ok dos anderson:nx=200000,disorder=2 --moments 256 --vectors 8 --energies 1 --json
fi
cat >check_length.py <<'PY'
import json, math
d = json.load(open("out"))
t = math.acos((1 - d["bounds"]["center"]) / d["bounds"]["halfwidth"])
part = [2 / n * math.cos(n * t) / d["rows"] for n in range(1, 256)]
inverse = math.log(d["bounds"]["halfwidth"] / 2) - sum(p * m for p, m in zip(part, d["moments"][1:]))
error = math.hypot(*(p * e for p, e in zip(part, d["moments_error"][1:])))
print("inverse localisation length: %.5f +- %.5f" % (inverse, error))
assert error < 2e-3 and abs(inverse - 0.05806) < 4 * error + 2e-4
PY
check "the localisation length" python3 check_length.py
finish
