"""Words of PTX: its types, names and numbers, for ptx2c.py."""
import re


class Unknown(Exception):
    """PTX that has no translation."""


BITS = {'pred': 1, 'b8': 8, 'u8': 8, 's8': 8, 'b16': 16, 'u16': 16, 's16': 16, 'b32': 32, 'u32': 32, 's32': 32,
        'f32': 32, 'b64': 64, 'u64': 64, 's64': 64, 'f64': 64}
SPACES = ('global', 'shared', 'local', 'param', 'const')
SPECIAL = {'%tid.x': 't->id', '%ntid.x': 'r->items', '%ctaid.x': 't->group', '%nctaid.x': 'r->groups',
           '%laneid': '(t->id % 32)', '%warpid': '(t->id / 32)', '%tid.y': '0', '%tid.z': '0', '%ctaid.y': '0',
           '%ctaid.z': '0', '%ntid.y': '1', '%ntid.z': '1', '%nctaid.y': '1', '%nctaid.z': '1',
           '%dynamic_smem_size': 'r->dynamic_bytes', '%total_smem_size': 'r->shared_bytes'}
# Words of an instruction that change nothing here: hints for caches, and scopes, for all memory is one.
HINTS = {'uni', 'nc', 'ca', 'cg', 'cs', 'lu', 'cv', 'wb', 'wt', 'weak', 'cta', 'gpu', 'sys', 'cluster', 'aligned'}
ORDERS = {'volatile', 'relaxed', 'acquire', 'release', 'acq_rel', 'mmio'}


def unsigned(t):
    """The C type of a PTX type's bits."""
    return 'int' if t == 'pred' else f'uint{BITS[t]}_t'


def c_type(t):
    """The C type that an instruction of this type computes in."""
    return {'f32': 'float', 'f64': 'double'}.get(t) or (f'int{BITS[t]}_t' if t[0] == 's' else unsigned(t))


def word(name):
    """A name of PTX as one of C."""
    if re.fullmatch(r'%\w+', name):
        return f'R{name[1:]}'
    return 'N' + re.sub(r'\W', lambda m: f'_{ord(m[0]):x}_', name)


def split(text):
    """Operands, at commas outside of brackets."""
    parts, depth, now = [], 0, ''
    for c in text:
        depth += (c in '([{') - (c in ')]}')
        if c == ',' and depth == 0:
            parts.append(now.strip())
            now = ''
        else:
            now += c
    return parts + [now.strip()] if now.strip() else parts


def literal(text, t):
    """A number of PTX as bits, or for integers as a value, of type t; None: it is none."""
    m = re.fullmatch(r'0[dD]([0-9a-fA-F]{16})|0[fF]([0-9a-fA-F]{8})', text)
    if m:
        return f'UINT64_C(0x{m[1]})' if m[1] else f'UINT32_C(0x{m[2]})'
    m = re.fullmatch(r'(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?', text)
    if not m:
        return None
    value = int(m[2], 8 if re.fullmatch(r'0\d+', m[2]) else 0)
    value = -value if m[1] else value
    return f'UINT64_C({value & (1 << max(BITS[t], 8)) - 1})' if BITS[t] > 1 else str(value)
