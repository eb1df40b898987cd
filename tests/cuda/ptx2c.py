"""Translates PTX to C for the stand-in driver: ptx2c.py IN.ptx OUT.c. What C needs besides is in run.h.

A register is an unsigned integer of its width, read and written by the type of each instruction. Each access of memory
is checked when it runs. What is not known here ends with one line, and nothing is written. (ptx_numbers.py has the
instructions that compute, ptx_words.py the words.)
"""
import re
import sys

from ptx_numbers import Numbers
from ptx_words import BITS, ORDERS, SPACES, SPECIAL, Unknown, c_type, literal, split, unsigned, word


class Function(Numbers):
    """An entry or a function: its C, statement by statement."""

    def __init__(self, module, name, params, results):
        self.module, self.name, self.lines = module, name, []
        self.register, self.tables = {}, {}
        self.param = {n: size for n, size, _ in params + results}
        self.symbol = {}  # arrays of its own: name -> (space, offset)

    # ---- operands

    def read(self, text, t):
        """The value of an operand, as the C type of t."""
        if text.startswith('!'):
            return f'!{self.read(text[1:], t)}'
        if text in SPECIAL:
            return f'(({c_type(t)}){SPECIAL[text]})'
        if text == '%clock64' or text == '%clock':
            raise Unknown(f'{text}: kernels go by no clock')
        if text in self.register:
            n, own = word(text), self.register[text]
            if t[0] == 'f':
                self.same_width(text, own, t)
                return f'{t}_of({n})'
            return n if t == 'pred' else f'(({c_type(t)}){n})'
        number = literal(text, t)
        if number is not None:
            return f'{t}_of({number})' if t[0] == 'f' else f'(({c_type(t)}){number})'
        m = re.fullmatch(r'([\w$.%]+)(?:\+(-?\d+))?', text)
        if m:
            return f'(({c_type(t)})({self.address_of(m[1])[1]} + ({m[2] or 0})))'
        raise Unknown(f'the operand {text}')

    @staticmethod
    def same_width(text, own, t):
        if BITS[own] != BITS[t]:
            raise Unknown(f'{text} of type {own} as {t}')

    def write(self, text, t, value):
        """The operand becomes a value of the C type of t; registers that are wider are filled by its sign."""
        if text == '_':
            return f'(void)({value});'
        if text not in self.register:
            raise Unknown(f'{text} as a target')
        own = self.register[text]
        if t[0] == 'f':
            self.same_width(text, own, t)
            return f'{word(text)} = of_{t}({value});'
        if own == 'pred' or t == 'pred':
            return f'{word(text)} = ({value}) != 0;'
        return f'{word(text)} = ({unsigned(own)})({c_type(t)})({value});'

    def address_of(self, name):
        """Where a symbol is: its space, and its address there as C."""
        if name in self.register:
            return None, f'(uint64_t){word(name)}'
        if name in self.symbol:
            space, at = self.symbol[name]
            return space, str(at)
        if name in self.param:
            return 'param', f'(uint64_t)(uintptr_t){word(name)}'
        if name in self.module.symbol:
            return self.module.symbol[name]
        raise Unknown(f'the name {name}')

    def pointer(self, text, space, bytes_):
        """C for a pointer to what lies at [name+offset] of a space, after it was checked."""
        m = re.fullmatch(r'\[\s*([\w$.%]+)\s*(?:\+\s*(-?\d+))?\s*\]', text)
        if not m:
            raise Unknown(f'the address {text}')
        own, address = self.address_of(m[1])
        offset = int(m[2] or 0)
        if own == 'param' and space == 'param':
            if offset < 0 or offset + bytes_ > self.param[m[1]]:
                raise Unknown(f'{text} reaches beyond the parameter')
            return f'({word(m[1])} + {offset})'
        return f'at_{space}(r, t, {address} + UINT64_C({offset & (1 << 64) - 1}), {bytes_})'

    # ---- instructions

    def one(self, text):
        """The C of an instruction, without its predicate."""
        name, _, rest = text.partition(' ')
        words = name.split('.')
        if name in ('rcp.approx.ftz.f64', 'rsqrt.approx.ftz.f64'):
            return self.coarse(words[0], split(rest))
        handler = getattr(self, 'op_' + words[0], None)
        if not handler:
            raise Unknown(f'the instruction {words[0]}')
        types = [w for w in words[1:] if w in BITS]
        for w in words[1:]:
            if w in ('ftz', 'sat', 'approx', 'full') or w in ('rz', 'rm', 'rp') or w in ('f16', 'f16x2', 'bf16'):
                raise Unknown(f'.{w}: kernels round to nearest, and keep what is small')
        return handler(words[1:], types, split(rest))

    # ---- memory

    def place(self, words):
        """The space of a load or store, and whether others may see it in between."""
        self.only(words, *SPACES, *ORDERS, 'v2', 'v4', 'generic')
        space = next((w for w in words if w in SPACES), 'generic')
        return space, any(w in ORDERS for w in words), 4 if 'v4' in words else 2 if 'v2' in words else 1

    def op_ld(self, words, types, ops):
        t, (space, seen, count) = types[-1], self.place(words)
        c, names = unsigned(t), [n.strip() for n in ops[0].strip('{} ').split(',')]
        out = f'const char *p = {self.pointer(ops[1], space, count * BITS[t] // 8)}; '
        for i, n in enumerate(names):
            value = (f'seen{BITS[t]}(t, p + {i * BITS[t] // 8})' if seen else f'bits{BITS[t]}(p + {i * BITS[t] // 8})')
            own = self.register.get(n)
            raw = t if t[0] == 's' or own is None else 'u' + t[1:]
            out += self.write(n, raw, f'({c}){value}')
        return out

    def op_st(self, words, types, ops):
        t, (space, seen, count) = types[-1], self.place(words)
        names = [n.strip() for n in ops[1].strip('{} ').split(',')]
        out = f'char *p = {self.pointer(ops[0], space, count * BITS[t] // 8)}; '
        for i, n in enumerate(names):
            out += f'{"show" if seen else "put"}{BITS[t]}(p + {i * BITS[t] // 8}, {self.bits(n, t)}); '
        return out

    op_ldu = op_ld

    def op_atom(self, words, types, ops):
        kinds = ('add', 'and', 'or', 'xor', 'min', 'max', 'exch', 'cas', 'inc', 'dec')
        self.only(words, *SPACES, *ORDERS, *kinds)
        kind, t = next(w for w in words if w in kinds), types[-1]
        space = next((w for w in words if w in SPACES), 'generic')
        if kind in ('exch', 'cas'):
            t = 'b' + t[1:]
        c, raw = c_type(t), 'b' + t[1:]
        v, other = self.read(ops[2], t), self.read(ops[3], t) if kind == 'cas' else ''
        new = {'add': f'a + {v}' if t[0] == 'f' else f'(uint64_t)a + (uint64_t){v}',
               'and': f'a & {v}', 'or': f'a | {v}', 'xor': f'a ^ {v}', 'exch': v,
               'min': f'a < {v} ? a : {v}', 'max': f'a > {v} ? a : {v}',
               'inc': f'a >= {v} ? 0 : a + 1', 'dec': f'a == 0 || a > {v} ? {v} : a - 1',
               'cas': f'a == {v} ? {other} : a'}[kind]
        before, after = (f'{t}_of(old)', f'of_{t}(b)') if t[0] == 'f' else ('old', f'({unsigned(raw)})b')
        p = self.pointer(ops[1], space, BITS[t] // 8)
        return (f'{unsigned(raw)} *p = (void *){p}, old = __atomic_load_n(p, 5), next; item_waits(t); '
                f'do {{ const {c} a = ({c}){before}, b = ({c})({new}); next = {after}; }} '
                f'while (!__atomic_compare_exchange_n(p, &old, next, 0, 5, 5)); {self.write(ops[0], raw, "old")}')

    def op_red(self, words, types, ops):
        return self.op_atom(words, types, ['_'] + ops)

    @staticmethod
    def op_prefetch(_words, _types, _ops):
        return ';'

    op_prefetchu = op_prefetch

    # ---- order and control

    @staticmethod
    def op_bar(words, _, ops):
        if words[0] != 'sync' or ops != ['0']:
            raise Unknown('a barrier that is not bar.sync 0')
        return 'item_barrier(r, t);'

    @staticmethod
    def op_barrier(words, _, ops):
        return Function.op_bar(words, _, ops)

    @staticmethod
    def op_membar(_words, _types, _ops):
        return '__atomic_thread_fence(__ATOMIC_SEQ_CST);'

    op_fence = op_membar

    @staticmethod
    def op_nanosleep(_words, _types, _ops):
        return 'item_waits(t);'

    @staticmethod
    def op_ret(_words, _types, _ops):
        return 'return;'

    @staticmethod
    def op_exit(_words, _types, _ops):
        return 'item_exit(r, t);'

    @staticmethod
    def op_trap(_words, _types, _ops):
        return 'item_fails(t, RUN_TRAP, 0, 0);'

    @staticmethod
    def op_bra(_words, _types, ops):
        return f'goto {word(ops[0])};'

    def op_brx(self, words, _, ops):
        self.only(words, 'idx')
        cases = ' '.join(f'case {i}: goto {word(label)};' for i, label in enumerate(self.tables[ops[1]]))
        return f'switch ({self.read(ops[0], "u32")}) {{ {cases} }} item_fails(t, RUN_TRAP, 0, 0);'

    def op_call(self, words, _, ops):
        self.only(words)
        groups = [o for o in ops if o.startswith('(')]
        name = next(o for o in ops if not o.startswith('('))
        if name not in self.module.functions:
            raise Unknown(f'a call of {name}')
        given = [word(n) for g in groups for n in split(g.strip('() '))]
        return f'{word(name)}(r, t{"".join(", " + n for n in given)});'

    # ---- statements

    def declare(self, text):
        """A declaration: registers, arrays of this function, parameters of a call; or nothing that counts."""
        if text.startswith('.reg'):
            m = re.fullmatch(r'\.reg\s+\.(\w+)\s+(.*)', text)
            if m[1] not in BITS:
                raise Unknown(f'registers of type .{m[1]}')
            for n in split(m[2]):
                many = re.fullmatch(r'(%?\w+)<(\d+)>', n)
                names = [f'{many[1]}{i}' for i in range(int(many[2]))] if many else [n]
                for name in names:
                    self.register[name] = m[1]
            return
        if re.match(r'\.(shared|local)\b', text):
            space, name, size, align = self.module.array(text)
            self.symbol[name] = (space, self.module.place(space, size, align))
            return
        if text.startswith('.param'):
            (name, size, _), = self.module.params(text)
            self.param[name] = size
            self.lines.append(f'    _Alignas(16) char {word(name)}[{size}];')
            return
        if re.match(r'\.(pragma|loc|file)\b', text):
            return
        raise Unknown(text.split()[0])

    def statement(self, text):
        """A label, a declaration, a brace or an instruction."""
        label = re.match(r'([\w$%]+)\s*:\s*', text)
        if label and not text.startswith('.'):
            targets = re.search(r'\.branchtargets\s+(.*)', text)
            if targets:
                self.tables[label[1]] = split(targets[1])
                return
            self.lines.append(f'{word(label[1])}:;')
            text = text[label.end():]
        if not text:
            return
        if text in '{}':
            self.lines.append(text)
        elif text.startswith('.'):
            self.declare(text)
        else:
            m = re.match(r'@(!?)(%\w+)\s+', text)
            guard = f'if ({m[1]}{word(m[2])}) ' if m else ''
            try:
                self.lines.append(f'    {guard}{{ {self.one(text[m.end():] if m else text)} }}')
            except Unknown as e:
                raise Unknown(f'{e} (in "{text}")') from None
            except (IndexError, KeyError, ValueError, StopIteration):
                raise Unknown(f'operands or types of "{text}"') from None

    def c(self, signature):
        """The whole function."""
        groups = {}
        for n, t in self.register.items():
            groups.setdefault(unsigned(t), []).append(word(n))
        lines = [signature, '{', '    int carry = 0;', '    (void)carry, (void)r, (void)t;']
        lines += [f'    {t} {", ".join(f"{n} = 0" for n in names)};' for t, names in groups.items()]
        return '\n'.join(lines + self.lines + ['}'])


class Module:
    """A text of PTX."""

    def __init__(self, text):
        self.symbol, self.functions, self.entries = {}, {}, []
        self.out, self.values, self.variables = [], [], []
        self.used = {'shared': 0, 'local': 0}  # bytes; no function calls itself, so each has its own of them
        text = re.sub(r'/\*.*?\*/', ' ', re.sub(r'//[^\n]*', '', text), flags=re.S)
        for item in self.items(text):
            self.item(item)

    @staticmethod
    def items(text):
        """What stands at the top, one by one: up to a `;`, to the end of a line of directives, or with a body."""
        at = 0
        while True:
            at += len(re.match(r'\s*', text[at:])[0])
            if at >= len(text):
                return
            m = re.match(r'\.(version|target|address_size)[^\n]*', text[at:])
            if m:
                at += m.end()
                continue
            end, depth = at, 0
            is_code = re.match(r'(\.\w+\s+)*\.(entry|func)\b', text[at:])
            while end < len(text):
                c = text[end]
                depth += (c in '{(') - (c in '})')
                if depth == 0 and (c == ';' or c == '}' and is_code):
                    break
                end += 1
            yield text[at:end + 1].strip().rstrip(';').strip()
            at = end + 1

    def params(self, text):
        """Each parameter of a list: its name, its bytes, its alignment."""
        found = []
        for p in split(text):
            m = re.fullmatch(r'\.(?:param|reg)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\s*(?:\.\w+\s*)*'
                             r'(?:\.align\s+\d+\s+|\d+\s+)?)?([\w$%]+)(?:\[(\d+)\])?', p)
            if not m or m[2] not in BITS:
                raise Unknown(f'the parameter {p}')
            each = max(BITS[m[2]] // 8, 1)
            found.append((m[3], each * int(m[4] or 1), int(m[1] or each)))
        return found

    @staticmethod
    def array(text):
        """A variable: its space, name, bytes (-1: what the launch says) and alignment."""
        m = re.match(r'(?:\.(?:visible|extern|weak|common)\s+)*\.(\w+)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$%]+)'
                     r'((?:\[\d*\])*)', text)
        if not m or m[3] not in BITS:
            raise Unknown(f'the variable {text}')
        size = BITS[m[3]] // 8
        align = int(m[2] or size)
        for n in re.findall(r'\[(\d*)\]', m[5]):
            size = size * int(n) if n else -1
        return m[1], m[4], size, align

    def place(self, space, size, align):
        """A place in the memory of a group, or of an item."""
        at = -(-self.used[space] // align) * align
        self.used[space] = at + size
        return at

    def variable(self, text):
        """A variable of the module, with its values."""
        space, name, size, align = self.array(text)
        if space == 'shared':
            at = '(r->shared_bytes - r->dynamic_bytes)' if size < 0 else self.place('shared', size, align)
            self.symbol[name] = ('shared', at)
            return
        if space not in ('global', 'const'):
            raise Unknown(f'a variable of .{space}')
        values = re.search(r'=\s*\{?([^}]*)\}?', text)
        t = re.search(r'\.([bsuf]\d+)\s', text)[1]
        given = [literal(v, t) for v in split(values[1])] if values else []
        if None in given:
            raise Unknown(f'the values of {name}')
        n = len(self.variables)
        count = size // (BITS[t] // 8)
        self.values.append(f'static const {unsigned(t)} value_{n}[{count}] = {{{", ".join(given) or 0}}};')
        self.variables.append((name, size))
        self.symbol[name] = (space, f'run_variables[{n}].address')

    def item(self, text):
        """A variable, or a function with its body or without."""
        m = re.match(r'((?:\.\w+\s+)*)\.(entry|func)\b\s*(\([^)]*\))?\s*([\w$]+)\s*(?:\(([^)]*)\))?([^{]*)(\{.*)?$',
                     text, re.S)
        if not m:
            self.variable(text)
            return
        params, results = self.params(m[5] or ''), self.params((m[3] or '').strip('() '))
        f = Function(self, m[4], params, results)
        args = ''.join(f', char *{word(n)}' for n, _, _ in results + params)
        signature = f'static void {word(m[4])}(run *r, item *t{args})'
        self.functions[m[4]] = f
        if m[7] is None:
            self.out.append(signature + ';')
            return
        body, pieces = m[7].strip()[1:-1], r'[{}]|[\w$%]+\s*:(?=\s*[{}])|(?:[^;{}]|\{[^;{}]*\})+;'
        rest = re.sub(pieces, '', body).strip()
        if rest:
            raise Unknown(f'what stands at the end of {m[4]}: {rest[:40]}')
        for s in re.findall(pieces, body):
            f.statement(re.sub(r'\s+', ' ', s.strip().rstrip(';').strip()))
        self.out.append(f.c(signature))
        if m[2] == 'entry':
            self.entry(m[4], params, m[6])

    def entry(self, name, params, directives):
        """What a launch calls, and what it needs to know."""
        most = re.search(r'\.(?:maxntid|reqntid)\s+(\d+)', directives)
        offsets, at = [], 0
        for _, size, align in params:
            at = -(-at // align) * align
            offsets.append(at)
            at += size
        given = ''.join(f', params + {o}' for o in offsets)
        self.out.append(f'static void run_{word(name)}(run *r, item *t, char *params) {{ {word(name)}(r, t{given}); }}')
        n, items = len(self.entries), int(most[1]) if most else 1024
        self.out.append(f'static const run_param params_{n}[] = {{' +
                        ''.join(f'{{{o}, {size}}}, ' for o, (_, size, _) in zip(offsets, params)) + '{0, 0}};')
        self.entries.append(f'"{name}", run_{word(name)}, {len(params)}, params_{n}, {at}, {items}')

    def c(self):
        """All of it."""
        shared, local = (-(-self.used[space] // 16) * 16 for space in ('shared', 'local'))
        entries = [f'    {{{e}, {shared}, {local}}},' for e in self.entries]
        variables = ''.join(f'{{"{n}", value_{i}, {size}, 0}}, ' for i, (n, size) in enumerate(self.variables))
        table = f'run_variable run_variables[] = {{{variables}{{0}}}};'
        return '\n'.join(['#include "run.h"', *self.values, table, *self.out,
                          'const run_entry run_entries[] = {', *entries, '    {0}};', ''])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding='ascii') as f:
        text = f.read()
    try:
        c = Module(text).c()
    except Unknown as e:
        sys.exit(f'ptx2c: PTX that is not known: {e}')
    with open(sys.argv[2], 'w', encoding='ascii') as f:
        f.write(c)


if __name__ == '__main__':
    main()
