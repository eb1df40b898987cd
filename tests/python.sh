# python3 as tests take it: the program itself, with nothing beside the standard library. What finds it (pyenv) and what it
# looks for take longer than a check. Sourced; $interpreter is empty where there is none.
interpreter=$(python3 -c 'import json, sys; print(sys.executable)' 2>/dev/null) && [ -x "$interpreter" ] || interpreter=
[ -z "$interpreter" ] || python3() { "$interpreter" -IS "$@"; }
