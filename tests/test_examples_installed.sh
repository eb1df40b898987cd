#!/bin/bash
# The C examples as a user builds them, against an installed library by pkg-config; and the numbers that they print, which are
# known in closed form. $1 command, $2 source folder, $3 scratch folder.
set -euo pipefail
wisp=$1 source=$2 scratch=$3
build=$(dirname "$wisp")
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
export XDG_CACHE_HOME=$PWD/cache

cmake --install "$build" --prefix "$PWD/prefix" >install.log
pc=$(dirname "$(find prefix -name wisp.pc)")
if [ -n "${SANITIZED-}" ]; then # a library with a sanitizer in it takes programs with the same one alone
    ln -s "$build/examples" programs
else
    mkdir programs
    for name in bars eig fermi green hall kept pencil solve surface; do
        # shellcheck disable=SC2046 # flags are words
        ${CC:-cc} -std=gnu11 "$source/examples/$name.c" -o programs/$name $(PKG_CONFIG_PATH=$PWD/$pc pkg-config --cflags --libs wisp) -lm
    done
    LD_LIBRARY_PATH=$PWD/$(dirname "$pc"):${LD_LIBRARY_PATH-}
    export LD_LIBRARY_PATH
fi
# holds PROGRAM ARGUMENTS.. -- AWK: the program's lines pass, where `bad` stays 0; `near` compares numbers.
holds() {
    local words=()
    while [ "$1" != -- ]; do words+=("$1") && shift; done
    "programs/${words[0]}" "${words[@]:1}" >"${words[0]}.txt"
    awk "function near(a, b, by) { if (!(a - b < by && b - a < by)) bad = 1 } $2 END { exit bad || !seen }" "${words[0]}.txt" ||
        { echo "${words[*]}:" && cat "${words[0]}.txt" && exit 1; }
}
# Half of the states of a Chern insulator lie below its gap, whatever the disorder: the bar holds that number. It is not empty, and not wide.
holds bars -- '/^below/ { seen = 1; low = $(NF - 2); high = $NF; if (low > 10000 || high < 10000) bad = 1; near(high - low, 80, 60) }
    $1 == "0.00" { if ($2 > 1e-4) bad = 1 }'
# sigma_xy in the gap is the Chern number.
holds hall 40 128 8 -- '$1 == "0.00" { seen = 1; near($2, -1, .02); if ($3 > $2 || $4 < $2) bad = 1 }'
# Waves on a plate decay by (1 + dt lambda) at each step.
holds kept -- '/^plate/ { seen = 1; near($4, $6, 1e-8) } END { if (NR != 2) bad = 1 }'
# A ring of orbitals that overlap, and Dyson's equation of an impurity on a ring.
holds pencil -- '/^energy/ { seen = 1; near($2, $4, 1e-9); if ($6 > 1e-9) bad = 1 } END { if (NR < 5) bad = 1 }'
holds green -- '{ seen = 1; near($2, $7, 1e-8); near($3, $8, 1e-8); if ($4 > 1e-8) bad = 1 } END { if (NR != 11) bad = 1 }'
