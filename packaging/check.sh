#!/usr/bin/env bash
# Whether what packages say is true of this checkout: one version everywhere, and files that are there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
version=$(sed -n 's/^project(wisp VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
bad=0
says() {
    grep -q -- "$2" "$1" || { echo "$1: its version is not $version, that of CMakeLists.txt"; bad=1; }
}
says python/pyproject.toml "^version = \"$version\"$"
says packaging/conda-forge/recipe.yaml "^  version: \"$version\"$"
says packaging/spack/wisp-kpm/package.py "version(\"$version\")"
says packaging/debian/changelog "^wisp-kpm ($version-"
python3 - packaging/spack/wisp-kpm/package.py <<'P' || bad=1
import ast, sys
ast.parse(open(sys.argv[1]).read(), sys.argv[1])
P
for file in $(cat packaging/debian/*.docs packaging/debian/*.examples) python/abi.py python/src/wisp/py.typed docs/wisp.1; do
    compgen -G "$file" >/dev/null || { echo "$file: packages take it, and it is not there"; bad=1; }
done
# Options that a package sets must be CMake's: what is misspelled is ignored there.
known=$(cat CMakeLists.txt src/kernels.cmake cmake/*.cmake)
for option in $(grep -oh 'WISP_[A-Z0-9_]*[A-Z0-9]' packaging/debian/rules packaging/conda-forge/recipe.yaml packaging/spack/*/package.py |
    sort -u); do
    grep -q "$option" <<<"$known" || { echo "$option: a package sets it, and CMake does not know it"; bad=1; }
done
# What CMake takes where it finds it: each says whether it is to, or a package has what its builder's machine happens to have.
for name in $(sed -n 's/^option(WISP_\([A-Z0-9]*\) .* if it is found.*/\1/p' CMakeLists.txt); do
    for file in packaging/conda-forge/recipe.yaml packaging/spack/wisp-kpm/package.py; do
        grep -qiE "(WISP_|lib|[^a-z])$name([^a-z_]|\$)" "$file" || { echo "$file: says nothing of WISP_$name"; bad=1; }
    done
done
exit $bad
