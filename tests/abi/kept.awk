# From the headers of an earlier version, preprocessed, to a C file that compiles if today's headers agree with them: each
# field of a struct has its place and type, each enumerator its value, each exported function and callback its arguments.
# Structs and enumerators of the earlier version get names of their own there, KEPT_ and kept_.
{ text = text " " $0 }

# The next piece of the text that matches; "" if there is none.
function next_piece(pattern, piece) {
    if (!match(rest, pattern)) return ""
    piece = substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART + RLENGTH)
    return piece
}

# The name that a declarator of a field declares.
function declared(d) {
    if (d ~ /\(\*/) { sub(/^.*\(\*/, "", d); sub(/\).*/, "", d) } # a pointer to a function
    gsub(/\[[^]]*\]/, "", d)
    sub(/ +$/, "", d)
    sub(/^.*[ *]/, "", d)
    return d
}

function fields(type, body, i, k, m, n, declaration, declarator) {
    n = split(body, declaration, ";")
    for (i = 1; i < n; i++) {
        m = declaration[i] ~ /\(\*/ ? 1 : split(declaration[i], declarator, ",")
        if (m == 1) declarator[1] = declaration[i]
        for (k = 1; k <= m; k++) print "FIELD(" type ", " declared(declarator[k]) ")"
    }
}

function values(body, i, n, enumerator) {
    n = split(body, enumerator, ",")
    for (i = 1; i <= n; i++)
        if (match(enumerator[i], /WISP_[A-Z0-9_]+/)) print "VALUE(" substr(enumerator[i], RSTART + 5, RLENGTH - 5) ")"
}

END {
    gsub(/[ \t]+/, " ", text)
    print "#include <stddef.h>\n#include <wisp/wisp.h>"
    print "#define FIELD(type, f) _Static_assert(offsetof(kept_##type, f) == offsetof(wisp_##type, f) && " \
          "__builtin_types_compatible_p(__typeof__(((kept_##type *)0)->f), __typeof__(((wisp_##type *)0)->f)), " \
          "\"wisp_\" #type \".\" #f \" has another place or type than it had\");"
    print "#define VALUE(name) _Static_assert((int)KEPT_##name == (int)WISP_##name, \"WISP_\" #name \" has another value\");"
    print "#define SIZE(type) _Static_assert(sizeof(kept_##type) == sizeof(wisp_##type), \"wisp_\" #type \" has grown\");"
    for (rest = text; (piece = next_piece("enum \\{[^{}]*\\}")) != "";) {
        if (piece !~ /WISP_/) continue
        sub(/^enum \{/, "", piece)
        sub(/\}$/, "", piece)
        all = piece
        gsub(/WISP_/, "KEPT_", all)
        print "enum {" all "};"
        values(piece)
    }
    for (rest = text; (piece = next_piece("typedef struct \\{[^{}]*\\} wisp_[a-z0-9_]+;")) != "";) {
        type = piece
        sub(/^.*\} wisp_/, "", type)
        sub(/;$/, "", type)
        sub(/^typedef struct \{/, "", piece)
        sub(/\}.*$/, "", piece)
        print "typedef struct {" piece "} kept_" type ";"
        fields(type, piece)
        if (type ~ /^(scalar|bounds|bounds_opts|progress|gallery_entry|term|update|inner|filter|estimate)$/) print "SIZE(" type ")" # they never change (sized.h)
    }
    for (rest = text; (piece = next_piece("typedef [a-z_0-9]+ \\(\\*wisp_[a-z_]+_fn\\)\\([^;]*;")) != "";) print piece
    for (rest = text; (piece = next_piece("__attribute__\\(\\(visibility\\(\"default\"\\)\\)\\) [^;{]*;")) != "";) print piece
}
