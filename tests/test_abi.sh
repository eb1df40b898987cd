#!/bin/bash
# Headers of earlier versions, which tests/abi keeps, still hold: fields of structs, values of enumerators, arguments of
# functions, and exported symbols are those of now. (The program abi_VERSION, which is compiled with them, computes.)
# $1 command, $2 source folder, $3 scratch folder. $CC: the compiler.
set -euo pipefail
library=$(dirname "$1")/src/libwisp.so source=$2 scratch=$3 bad=0
rm -rf "$scratch"
mkdir -p "$scratch"
nm -D --defined-only "$library" | awk '{ print $NF }' | sort >"$scratch/exported"

# all_compared WHAT PATTERN-IN-THE-HEADERS PATTERN-IN-THE-FILE
all_compared() {
    local want got
    # shellcheck disable=SC2010 # names of headers
    want=$(ls "$kept"wisp/*.h | grep -vE '/(mpi|task|fields)\.h$' | xargs cat | grep -c "$2") got=$(grep -c "$3" "$file") || true
    [ "$got" = "$want" ] || { echo "$version: $got of $want $1 are compared"; bad=1; }
}

# As long as no version is released, today's headers, so that this test is tried.
versions=("$source"/tests/abi/*/)
[ -d "${versions[0]}" ] || versions=("$source/include/")
for kept in "${versions[@]}"; do
    version=$(basename "$kept") file=$scratch/$(basename "$kept").c
    echo '#include <wisp/wisp.h>' | "${CC-cc}" -E -P -I"$kept" - | awk -f "$source/tests/abi/kept.awk" >"$file"
    # None was overlooked.
    all_compared structs '^typedef struct {' '^typedef struct {'
    all_compared enumerations '\<enum {' '^enum {'
    all_compared functions '^WISP_API ' '^__attribute__'
    "${CC-cc}" -std=gnu11 -fsyntax-only -I"$source/include" "$file" || bad=1
    grep '^__attribute__' "$file" | grep -o '\<wisp_[a-z0-9_]*(' | tr -d '(' | sort >"$file.names"
    gone=$(comm -23 "$file.names" "$scratch/exported" | tr '\n' ' ')
    [ -z "$gone" ] || { echo "$version: no longer exported: $gone"; bad=1; }
    echo "$version: $(grep -c '^FIELD' "$file") fields, $(grep -c '^VALUE' "$file") values, $(wc -l <"$file.names") functions"
done
exit $bad
