"""Instructions of PTX that compute, for ptx2c.py: each as C that writes its target."""
import re

from ptx_words import BITS, HINTS, SPACES, Unknown, c_type, unsigned


class Numbers:
    """What a function (ptx2c.py) does with numbers; it has read(), write() and the registers' types."""

    @staticmethod
    def only(words, *known):
        """Each word is a type, a hint, or one of these."""
        for w in words:
            if w not in BITS and w not in HINTS and w not in known and not re.match(r'L[12]::', w):
                raise Unknown(f'the word .{w}')

    def two(self, words, types, ops, sign):
        """a sign b; integers wrap."""
        t = types[-1]
        self.only(words, 'rn', 'lo')
        if t[0] == 'f' and 'rn' not in words:
            raise Unknown('arithmetic without .rn, which may be fused')
        a, b = self.read(ops[1], t), self.read(ops[2], t)
        if t[0] != 'f' and t != 'pred':
            a, b = f'(uint64_t){a}', f'(uint64_t){b}'
        return self.write(ops[0], t, f'{a} {sign} {b}')

    def carried(self, words, types, ops, name):
        """Sums with a carry bit, in and out."""
        t, low = types[-1], 'cc' in words
        self.only(words, 'cc')
        if BITS[t] not in (32, 64) or t[0] == 'f':
            raise Unknown(f'a carry of {t}')
        a, b = self.read(ops[1], 'u' + t[1:]), self.read(ops[2], 'u' + t[1:])
        carry = 'carry' if name in ('addc', 'subc') else '0'
        f = f'{name[:3]}_carry{BITS[t]}({a}, {b}, {carry}, {"&carry" if low else "NULL"})'
        return self.write(ops[0], 'u' + t[1:], f)

    def op_add(self, words, types, ops):
        return self.carried(words, types, ops, 'add') if 'cc' in words else self.two(words, types, ops, '+')

    def op_sub(self, words, types, ops):
        return self.carried(words, types, ops, 'sub') if 'cc' in words else self.two(words, types, ops, '-')

    def op_addc(self, words, types, ops):
        return self.carried(words, types, ops, 'addc')

    def op_subc(self, words, types, ops):
        return self.carried(words, types, ops, 'subc')

    def op_and(self, words, types, ops):
        return self.two(words, types, ops, '&')

    def op_or(self, words, types, ops):
        return self.two(words, types, ops, '|')

    def op_xor(self, words, types, ops):
        return self.two(words, types, ops, '^')

    def product(self, words, t, a, b):
        """The type and the value of a product of integers, of which part `words` ask for."""
        a, b = self.read(a, t), self.read(b, t)
        if 'wide' in words:
            wide = t[0] + str(2 * BITS[t])
            return wide, f'({c_type(wide)}){a} * ({c_type(wide)}){b}'
        if 'hi' in words:
            wide = ('__int128' if t[0] == 's' else 'unsigned __int128')
            return t, f'({c_type(t)})((({wide}){a} * ({wide}){b}) >> {BITS[t]})'
        if 'lo' not in words:
            raise Unknown('a product without .lo, .hi or .wide')
        return t, f'({c_type(t)})((uint64_t){a} * (uint64_t){b})'

    def op_mul(self, words, types, ops):
        self.only(words, 'lo', 'hi', 'wide', 'rn')
        if types[-1][0] == 'f':
            return self.two(words, types, ops, '*')
        t, value = self.product(words, types[-1], ops[1], ops[2])
        return self.write(ops[0], t, value)

    def op_mad(self, words, types, ops):
        self.only(words, 'lo', 'hi', 'wide', 'rn')
        if types[-1][0] == 'f':
            return self.op_fma(words, types, ops)
        t, value = self.product(words, types[-1], ops[1], ops[2])
        return self.write(ops[0], t, f'(uint64_t)({value}) + (uint64_t){self.read(ops[3], t)}')

    def op_mul24(self, words, types, ops):
        self.only(words, 'lo')
        t = types[-1]
        low = [f'(({c_type(t)})({self.read(o, "u32")} << 8) >> 8)' for o in ops[1:3]]
        return self.write(ops[0], t, f'(uint64_t){low[0]} * (uint64_t){low[1]}')

    def op_fma(self, words, types, ops):
        self.only(words, 'rn')
        t = types[-1]
        if 'rn' not in words:
            raise Unknown('fma without .rn')
        f = '__builtin_fma' if t == 'f64' else '__builtin_fmaf'
        return self.write(ops[0], t, f'{f}({", ".join(self.read(o, t) for o in ops[1:4])})')

    def op_div(self, words, types, ops):
        self.only(words, 'rn')
        t = types[-1]
        a, b = self.read(ops[1], t), self.read(ops[2], t)
        if t[0] == 'f':
            if 'rn' not in words:
                raise Unknown('div without .rn')
            return self.write(ops[0], t, f'{a} / {b}')
        return self.write(ops[0], t, f'div_{t}({a}, {b})')

    def op_rem(self, words, types, ops):
        self.only(words)
        t = types[-1]
        return self.write(ops[0], t, f'rem_{t}({self.read(ops[1], t)}, {self.read(ops[2], t)})')

    def op_rcp(self, words, types, ops):
        self.only(words, 'rn')
        t = types[-1]
        if 'rn' not in words:
            raise Unknown('rcp without .rn')
        return self.write(ops[0], t, f'1 / {self.read(ops[1], t)}')

    def coarse(self, name, ops):
        """What functions of NVRTC's begin with, as hypot: half of a number's bits, and no device's own."""
        return self.write(ops[0], 'f64', f'{name}_coarse({self.read(ops[1], "f64")})')

    def op_sqrt(self, words, types, ops):
        self.only(words, 'rn')
        t = types[-1]
        if 'rn' not in words:
            raise Unknown('sqrt without .rn')
        f = '__builtin_sqrt' if t == 'f64' else '__builtin_sqrtf'
        return self.write(ops[0], t, f'{f}({self.read(ops[1], t)})')

    def op_neg(self, words, types, ops):
        self.only(words)
        t = types[-1]
        a = self.read(ops[1], t)
        return self.write(ops[0], t, f'-{a}' if t[0] == 'f' else f'-(uint64_t){a}')

    def op_abs(self, words, types, ops):
        self.only(words)
        return self.write(ops[0], types[-1], f'abs_{types[-1]}({self.read(ops[1], types[-1])})')

    def op_not(self, words, types, ops):
        self.only(words)
        t = types[-1]
        return self.write(ops[0], t, f'{"!" if t == "pred" else "~"}{self.read(ops[1], t)}')

    def extreme(self, words, types, ops, name):
        self.only(words)
        t = types[-1]
        a, b = self.read(ops[1], t), self.read(ops[2], t)
        if t[0] == 'f':
            return self.write(ops[0], t, f'{name}_{t}({a}, {b})')
        return self.write(ops[0], t, f'{a} {"<" if name == "min" else ">"} {b} ? {a} : {b}')

    def op_min(self, words, types, ops):
        return self.extreme(words, types, ops, 'min')

    def op_max(self, words, types, ops):
        return self.extreme(words, types, ops, 'max')

    def op_copysign(self, words, types, ops):
        self.only(words)
        t = types[-1]
        f = '__builtin_copysign' if t == 'f64' else '__builtin_copysignf'
        return self.write(ops[0], t, f'{f}({self.read(ops[2], t)}, {self.read(ops[1], t)})')

    def op_testp(self, words, types, ops):
        kinds = {'finite': '__builtin_isfinite(%s)', 'infinite': '__builtin_isinf(%s)', 'nan': '__builtin_isnan(%s)',
                 'number': '!__builtin_isnan(%s)', 'normal': '__builtin_isnormal(%s)'}
        self.only(words, *kinds)
        return self.write(ops[0], 'pred', kinds[words[0]] % self.read(ops[1], types[-1]))

    def op_shl(self, words, types, ops):
        self.only(words)
        t = types[-1]
        return self.write(ops[0], t, f'shl{BITS[t]}({self.read(ops[1], t)}, {self.read(ops[2], "u32")})')

    def op_shr(self, words, types, ops):
        self.only(words)
        t = types[-1]
        f = f'shr_{"s" if t[0] == "s" else "u"}{BITS[t]}'
        return self.write(ops[0], t, f'{f}({self.read(ops[1], t)}, {self.read(ops[2], "u32")})')

    def op_shf(self, words, types, ops):
        self.only(words, 'l', 'r', 'wrap', 'clamp')
        value = f'shf_{words[0]}({", ".join(self.read(o, "u32") for o in ops[1:4])}, {int("clamp" in words)})'
        return self.write(ops[0], 'b32', value)

    def op_popc(self, words, types, ops):
        self.only(words)
        return self.write(ops[0], 'u32', f'__builtin_popcountll((uint64_t){self.read(ops[1], types[-1])})')

    def op_clz(self, words, types, ops):
        self.only(words)
        return self.write(ops[0], 'u32', f'clz({self.read(ops[1], types[-1])}, {BITS[types[-1]]})')

    def op_brev(self, words, types, ops):
        self.only(words)
        return self.write(ops[0], types[-1], f'brev({self.read(ops[1], types[-1])}, {BITS[types[-1]]})')

    def op_bfe(self, words, types, ops):
        self.only(words)
        t = types[-1]
        args = [self.read(ops[1], t), self.read(ops[2], 'u32'), self.read(ops[3], 'u32')]
        return self.write(ops[0], t, f'bfe({", ".join(args)}, {BITS[t]}, {int(t[0] == "s")})')

    def op_bfi(self, words, types, ops):
        self.only(words)
        t = types[-1]
        args = [self.read(ops[1], t), self.read(ops[2], t), self.read(ops[3], 'u32'), self.read(ops[4], 'u32')]
        return self.write(ops[0], t, f'bfi({", ".join(args)}, {BITS[t]})')

    def op_prmt(self, words, types, ops):
        self.only(words)
        return self.write(ops[0], 'b32', f'prmt({", ".join(self.read(o, "b32") for o in ops[1:4])})')

    def op_lop3(self, words, types, ops):
        self.only(words)
        return self.write(ops[0], 'b32', f'lop3({", ".join(self.read(o, "b32") for o in ops[1:5])})')

    # ---- comparisons

    def compared(self, how, t, a, b):
        a, b = self.read(a, t), self.read(b, t)
        if t[0] == 'f':
            ordered = {'eq': '{a} == {b}', 'ne': '({a} < {b} || {a} > {b})', 'lt': '{a} < {b}', 'le': '{a} <= {b}',
                       'gt': '{a} > {b}', 'ge': '{a} >= {b}', 'num': '!__builtin_isunordered({a}, {b})',
                       'nan': '__builtin_isunordered({a}, {b})', 'equ': '!({a} < {b} || {a} > {b})',
                       'neu': '{a} != {b}', 'ltu': '!({a} >= {b})', 'leu': '!({a} > {b})', 'gtu': '!({a} <= {b})',
                       'geu': '!({a} < {b})'}
            if how in ordered:
                return '(' + ordered[how].format(a=a, b=b) + ')'
        signs = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'lo': '<', 'ls': '<=', 'hi': '>',
                 'hs': '>='}
        if t[0] == 'f' or how not in signs:
            raise Unknown(f'the comparison .{how}.{t}')
        return f'({a} {signs[how]} {b})'

    def op_setp(self, words, types, ops):
        value = self.compared(words[0], types[-1], ops[1], ops[2])
        logic = [w for w in words[1:] if w in ('and', 'or', 'xor')]
        self.only(words[1:], 'and', 'or', 'xor')
        targets = ops[0].split('|')
        values = [value, f'!{value}'][:len(targets)]
        if logic:
            sign = {'and': '&', 'or': '|', 'xor': '^'}[logic[0]]
            values = [f'({v} {sign} {self.read(ops[3], "pred")})' for v in values]
        if len(targets) == 1:
            return self.write(targets[0], 'pred', values[0])
        both = ''.join(self.write(n.strip(), 'pred', f'v{i}') for i, n in enumerate(targets))
        return f'const int v0 = {values[0]}, v1 = {values[1]}; {both}'

    def op_set(self, words, types, ops):
        self.only(words[1:])
        value = self.compared(words[0], types[1], ops[1], ops[2])
        return self.write(ops[0], types[0], f'{value} ? {"1.0f" if types[0] == "f32" else "-1"} : 0')

    def op_selp(self, words, types, ops):
        self.only(words)
        t = 'b' + types[-1][1:]
        a, b = self.bits(ops[1], types[-1]), self.bits(ops[2], types[-1])
        return self.write(ops[0], t, f'{self.read(ops[3], "pred")} ? {a} : {b}')

    def op_slct(self, words, types, ops):
        self.only(words)
        t = 'b' + types[0][1:]
        a, b = self.bits(ops[1], types[0]), self.bits(ops[2], types[0])
        return self.write(ops[0], t, f'{self.read(ops[3], types[1])} >= 0 ? {a} : {b}')

    def bits(self, text, t):
        """An operand's bits."""
        return self.read(text, t if t == 'pred' else 'b' + t[1:])

    # ---- moves and conversions

    def op_mov(self, words, types, ops):
        self.only(words)
        t = types[-1]
        raw = t if t == 'pred' else 'b' + t[1:]
        lists = [o.strip('{} ').split(',') if o.startswith('{') else None for o in ops]
        if lists[0]:
            n = BITS[t] // len(lists[0])
            parts = ''.join(self.write(o.strip(), f'b{n}', f'whole >> {i * n}') for i, o in enumerate(lists[0]))
            return f'const {unsigned(raw)} whole = {self.read(ops[1], raw)}; {parts}'
        if lists[1]:
            n = BITS[t] // len(lists[1])
            parts = [f'((uint64_t){self.read(o.strip(), f"b{n}")} << {i * n})' for i, o in enumerate(lists[1])]
            return self.write(ops[0], raw, ' | '.join(parts))
        return self.write(ops[0], raw, self.read(ops[1], raw))

    def op_cvta(self, words, types, ops):
        space = next(w for w in words if w in SPACES)
        self.only(words, 'to', *SPACES)
        window = {'shared': 'SHARED_WINDOW', 'local': 'LOCAL_WINDOW'}.get(space, '0')
        sign = '-' if 'to' in words else '+'
        return self.write(ops[0], types[-1], f'{self.read(ops[1], types[-1])} {sign} {window}')

    def op_isspacep(self, words, _, ops):
        if words[0] not in ('global', 'shared', 'local'):
            raise Unknown(f'isspacep.{words[0]}')
        return self.write(ops[0], 'pred', f'in_{words[0]}(r, {self.read(ops[1], "u64")})')

    def op_cvt(self, words, types, ops):
        to, source = types
        whole = {'rni': 'rint', 'rzi': 'trunc', 'rmi': 'floor', 'rpi': 'ceil'}
        self.only(words, 'rn', *whole)
        value = self.read(ops[1], source)
        how = next((w for w in words if w in whole), None)
        if source[0] == 'f' and how:
            value = f'__builtin_{whole[how]}{"f" if source == "f32" else ""}({value})'
            if to[0] != 'f':
                return self.write(ops[0], to, f'{to}_from_{source}({value})')
            if to != source:
                raise Unknown('a conversion that rounds twice')
        elif source[0] == 'f' and to[0] != 'f':
            raise Unknown('a conversion to integers that does not say how it rounds')
        elif to == 'f32' and source != 'f32' and 'rn' not in words:
            raise Unknown('a conversion that does not say how it rounds')
        return self.write(ops[0], to, f'({c_type(to)}){value}')
