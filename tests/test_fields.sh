#!/bin/bash
# wisp_field tells of the public structs what the compiler says of them: all that the headers declare, each field's name
# and place, each struct's size. What the compiler says is read from its debugging information.
# $1 command, $2 source folder, $3 scratch folder. $CC: the compiler.
set -euo pipefail
library=$(dirname "$1")/src source=$2 scratch=$3
command -v readelf >/dev/null || { echo "no readelf"; exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch"
cat >"$scratch/told.c" <<'END'
#include <stdio.h>
#include <wisp/fields.h>
int main(void)
{
    for (int i = 0; wisp_field(i); i++) {
        const wisp_field_info *f = wisp_field(i);
        if (!f->of || !f->name || !f->type || f->size < 1) return 1;
        printf("%s %s %lld\n", f->of, f->name[0] ? f->name : "-", (long long)(f->name[0] ? f->offset : f->size));
    }
    return wisp_field(-1) != NULL;
}
END
"${CC-cc}" -std=gnu11 -I"$source/include" "$scratch/told.c" -L"$library" -lwisp -Wl,-rpath,"$library" -o "$scratch/told"
"$scratch/told" | sort >"$scratch/told.txt"

# A variable of each type that a brace ends, so that the compiler tells of all of them. (mpi.h needs MPI's own header.)
headers=$(for h in "$source"/include/wisp/*.h; do [[ $h == */mpi.h ]] || echo "$h"; done)
{
    for h in $headers; do echo "#include <wisp/$(basename "$h")>"; done
    # shellcheck disable=SC2086 # a list
    sed -n 's/^} *\(wisp_[a-z_0-9]*\);.*/\1 \1_;/p' $headers
} >"$scratch/all.c"
"${CC-cc}" -std=gnu11 -g -O0 -I"$source/include" -c "$scratch/all.c" -o "$scratch/all.o"
readelf --debug-dump=info --wide "$scratch/all.o" | awk '
    /Abbrev Number/ {
        match($0, /<[0-9a-f]+>:/); at = substr($0, RSTART + 1, RLENGTH - 3)
        tag = $0; sub(/^.*\(DW_TAG_/, "", tag); sub(/\).*/, "", tag)
        if (tag == "structure_type") inside = at
    }
    tag == "structure_type" && /DW_AT_byte_size/ { size[at] = $NF + 0 }
    tag == "member" && /DW_AT_name/ { name[inside, ++count[inside]] = $NF }
    tag == "member" && /DW_AT_data_member_location/ { place[inside, count[inside]] = $NF + 0 }
    tag == "typedef" && /DW_AT_name/ { typedef[at] = $NF }
    tag == "typedef" && /DW_AT_type/ { s = $NF; gsub(/[<>]|0x/, "", s); type[at] = s }
    END {
        for (t in type) if (typedef[t] ~ /^wisp_/ && type[t] in size) {
            print typedef[t], "-", size[type[t]]
            for (i = 1; i <= count[type[t]]; i++) print typedef[t], name[type[t], i], place[type[t], i]
        }
    }' | sort >"$scratch/compiler.txt"
diff "$scratch/compiler.txt" "$scratch/told.txt" || { echo "wisp_field (>) tells other fields than the compiler (<)"; exit 1; }
structs=$(grep -c ' - ' "$scratch/told.txt")
# shellcheck disable=SC2086 # a list
begun=$(cat $headers | grep -c '^typedef struct {')
[ "$structs" = "$begun" ] || { echo "$structs structs, and the headers begin $begun"; exit 1; }
echo "$structs structs, $(($(wc -l <"$scratch/told.txt") - structs)) fields"
