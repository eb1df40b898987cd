#!/bin/bash
# Texts of the library name fields of options, functions and constants as its headers have them, and no option of the
# command; what the command puts in their place (src/tool/fields.c) are options that it has. usage: test_messages.sh
# WISP SOURCE SCRATCH
set -euo pipefail
export LC_ALL=C
cd "$2"
scratch=$3
rm -rf "$scratch" && mkdir -p "$scratch"
bad=0
say() { echo "messages: $*"; bad=1; }

# FILE:LINE: TEXT of each string in the files, without comments and includes.
texts() {
    awk '
    FNR == 1 { comment = 0 }
    /^[ \t]*#[ \t]*include/ { next }
    {
        line = $0
        while (line != "") {
            if (comment) {
                i = index(line, "*/")
                if (!i) break
                comment = 0
                line = substr(line, i + 2)
            }
            if (!match(line, /"|\/\*|\047(\\.|[^\047\\])\047/)) break
            begin = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (begin == "/*") comment = 1
            if (begin != "\"") continue
            match(line, /^([^"\\]|\\.)*/)
            print FILENAME ":" FNR ": " substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 2)
        }
    }' "$@"
}

# The fields of all structs in the headers whose name ends with $1, one a line.
fields() {
    awk -v ending="$1" '
    { gsub(/\/\*.*\*\//, "") }
    /\/\*/ { sub(/\/\*.*/, ""); skip = 1; rest = 1 }
    skip && !rest { if (!/\*\//) next; sub(/.*\*\//, ""); skip = 0 }
    { rest = 0 }
    /^typedef struct.*\{/ { inside = 1; list = ""; next }
    inside && /^\} *[a-z_0-9]+;/ {
        name = $0
        gsub(/[^a-z_0-9]/, "", name)
        if (name ~ ending "$") printf "%s", list
        inside = 0
    }
    inside {
        n = split($0, part, /[,;]/)
        for (i = 1; i < n; i++)
            if (match(part[i], /[A-Za-z_0-9]+( *\[[^]]*\])*[ )]*$/)) {
                word = substr(part[i], RSTART)
                sub(/[^A-Za-z_0-9].*/, "", word)
                list = list word "\n"
            }
    }' include/wisp/*.h | sort -u
}

commands=$(sed -nE 's/^COMMAND\([A-Za-z_, ]*"([a-z]*)",.*/\1/p' src/tool/commands.h | paste -sd'|')
[ "$(tr '|' '\n' <<<"$commands" | wc -l)" -ge 12 ] || say "the subcommands were not found in src/tool/commands.h"
fields _opts >"$scratch/opts"
fields "" >"$scratch/fields"
for name in tolerance max_iterations cache_budget C apply_arg; do
    grep -qx $name "$scratch/opts" || say "the field $name was not found in the headers"
done

# Options, and words that only the command has.
no_options() {
    local text
    sed 's/mpirun --bind-to none//' |
        { grep -E -e "(^|[^a-z-])--[a-z]|(^|[ (])-[hnop] [A-Z]|(^|[^a-z_])wisp ($commands)([^a-z]|\$)|opts->" || true; } |
        while read -r text; do echo "an option or a word of the command: $text"; done
}
# Names that the headers do not have.
known_names() {
    local text name first
    { grep -E '(^|[^a-z_A-Z0-9])(opts\.|wisp_[a-z]|WISP_[A-Z])' || true; } | while read -r text; do
        for name in $(grep -oE '(^|[^a-zA-Z_0-9])(opts(\.[A-Za-z_][A-Za-z_0-9]*)+|wisp_[a-z_0-9]+|WISP_[A-Z_0-9]+)' <<<"${text#*: }" |
            sed 's/^[^a-zA-Z_0-9]//'); do
            case $name in
            opts.*)
                name=${name#opts.} first=${name%%.*}
                grep -qx "$first" "$scratch/opts" || echo "no options have the field $first: $text"
                for below in $(tr '.' ' ' <<<"$name"); do
                    grep -qx "$below" "$scratch/fields" || echo "no struct has the field $below: $text"
                done
                ;;
            *) grep -qrwF -e "$name" include/wisp CONTRIBUTING.md || grep -qrF "getenv(\"$name\")" src || echo "the headers do not have $name: $text" ;;
            esac
        done
    done
}

mapfile -t files < <(find src -name '*.[ch]' -not -path 'src/tool/*' | sort)
texts "${files[@]}" >"$scratch/texts"
[ "$(wc -l <"$scratch/texts")" -gt 1000 ] || say "only $(wc -l <"$scratch/texts") texts were found in src"
texts src/tool/fields.c >"$scratch/table"
{ no_options <"$scratch/texts"; known_names <"$scratch/texts"; known_names <"$scratch/table"; } >"$scratch/wrong"
while read -r line; do say "$line"; done <"$scratch/wrong"

# The table of fields: its options are there, and each text that it has is in the library.
while read -r name; do
    tr '\n' ' ' <src/tool/options_table.c | grep -qE "[A-Z]\( *\"$name\"," ||
        say "src/tool/fields.c names the option $name, which the table of options does not have"
done < <(sed -nE 's/^    \{"[^"]*", [A-Z_| ]+, "([^"]+)",.*/\1/p' src/tool/fields.c | sort -u)

# The checks find what they are for.
found() { # KIND TEXT...: it is found in each of these
    local kind=$1 text
    shift
    for text in "$@"; do
        printf 'call("%s"); /* "not this --one opts.no" */\n' "$text" >"$scratch/sample.c"
        [ "$(texts "$scratch/sample.c" | $kind | wc -l)" -gt 0 ] || say "$kind does not find \"$text\""
    done
}
found no_options 'take wider ones (--bounds lanczos)' '--bounds' 'wisp gen lists them' 'see wisp dos' 'give -n K' \
    'opts->path is NULL'
found known_names 'opts.tolerances is 1' 'take opts.bounds.centre' 'opts.no.' 'wisp_src_no_part' '(WISP_NO_METHOD)' \
    'opts.method = WISP_CG_NO'
printf '"opts.tolerance is %%g; opts.bounds.center, wisp_src_open_crs (WISP_CG); WISP_WEIGHTS=2." "mpirun --bind-to none"\n' >"$scratch/sample.c"
[ -z "$(texts "$scratch/sample.c" | no_options)$(texts "$scratch/sample.c" | known_names)" ] ||
    say "what is right is found wrong: $(texts "$scratch/sample.c" | known_names)"
exit $bad
