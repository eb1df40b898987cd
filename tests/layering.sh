#!/bin/sh
# Who may include whom (docs/design.md, section 3). usage: tests/layering.sh [ROOT]
cd "${1:-$(dirname "$0")/..}" || exit 2
bad=0
# deny FOLDER PATTERN: no quoted include in FOLDER may match.
deny() {
    found=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+[<\"]$2" "src/$1" --include='*.[ch]')
    case $? in
    0) ;;
    1) return ;;
    *) exit 2 ;; # no such folder
    esac
    echo "layering: src/$1 must not include:"
    echo "$found"
    bad=1
}
deny base '(\.\./)+(topo|comm|backend|model|data|op|solver|tool|kernel)/'
deny topo '(\.\./)+(comm|backend|model|data|op|solver|tool|kernel)/'
deny comm '(\.\./)+(topo|backend|model|data|op|solver|tool|kernel)/'
deny backend '(\.\./)+(model|data|op|solver|tool)/'
deny model '(\.\./)+(data|op|solver|tool)/'
deny data '(\.\./)+(op|solver|tool)/'
deny op '(\.\./)+(solver|tool)/'
deny kernel '\.\./'
deny solver '\.\./'
deny tool '\.\./'
grep -rnE '#[[:space:]]*include[[:space:]]+"' examples --include='*.c'
case $? in
0)
    echo "layering: examples include public headers only"
    bad=1
    ;;
1) ;;
*) exit 2 ;;
esac
exit $bad
