"""Kernels of GPUs by NVRTC, without a GPU: nvrtc.py LIBRARY PROGRAM ptx FOLDER, or nvrtc.py LIBRARY PROGRAM registers [keep].

PROGRAM is made of program.c. ptx writes the PTX of each kernel in `keys` to FOLDER/NAME.ptx; registers compares what ptxas
says of them with registers.txt, and with `keep` writes that file anew.
"""
import ctypes
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
GROUP = 128
ARCHES = (80, 90, 100)


def options():
    """What the device compiles with."""
    with open(os.path.join(ROOT, 'src/backend/cuda/compile.c'), encoding='ascii') as f:
        found = re.search(r'\boption\[\] = \{(.*?)\}', f.read(), re.S)
    return re.findall(r'"(.*?)"', found[1])


class Nvrtc:
    """The compiler, by its C interface, of programs as the library puts them together."""

    def __init__(self, path, program):
        self.program = program
        self.lib = ctypes.CDLL(path)
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _text(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.lib, f'nvrtcGet{what}Size')(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value + 1)
        getattr(self.lib, f'nvrtcGet{what}')(program, text)
        return text.value.decode()

    def compile(self, name, defines, *options):
        """The PTX of a kernel (for sm_ architectures: none), and what the compiler says."""
        text = subprocess.run([self.program, str(GROUP), name, *defines], stdout=subprocess.PIPE, check=True).stdout
        program = ctypes.c_void_p()
        self.lib.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(), 0, None, None)
        given = [o.encode() for o in options]
        failed = self.lib.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        log = self._text(program, 'ProgramLog')
        if failed:
            sys.exit(f'{name}: {self.lib.nvrtcGetErrorString(failed).decode()}\n{log}')
        ptx = '' if any('=sm_' in o for o in options) else self._text(program, 'PTX')
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        return ptx, log


TYPES = {'s': ('float', 1), 'd': ('double', 1), 'c': ('float', 2), 'z': ('double', 2)}
KPM = 1 | 2 | 4 | 16 | 32
STEP = 1 | 2 | 4


def sweep(matrix, block, storage=(), usual=None):
    """A sweep's definitions (wisp__gpu_sweep_defines of src/backend/gpu/sweep.c)."""
    (real, parts), (matrix_real, matrix_parts) = TYPES[block], TYPES[matrix]
    width = [f'WIDTH {usual[0]}', f'TERMS {usual[1]}'] if usual else []
    return [f'REAL {real}', f'PARTS {parts}', f'MATRIX_REAL {matrix_real}', f'MATRIX_PARTS {matrix_parts}',
            *storage, *width]


def keys():
    """Each kernel with its definitions: (name, kernel, definitions, is a usual one)."""
    for matrix, block in ('ss', 'dd', 'cc', 'zz', 'sc', 'sd', 'cz', 'dz', 'ds', 'zc'):
        yield f'spmmv_{matrix}{block}', 'spmmv', sweep(matrix, block), matrix == block
    for storage in ('PATTERNS', 'PATTERNS CODES', 'LISTS', 'LISTS SHORT', 'LISTS CODES', 'LISTS SHORT CODES', 'SHORT',
                    'SHORT CODES', 'CODES'):
        for kind in 'sz':
            yield (f'spmmv_{kind}{kind}_{storage.lower().replace(" ", "_")}', 'spmmv',
                   sweep(kind, kind, storage.split()), False)
    for kind in TYPES:
        for width in (1, 8):
            for name, terms in (('plain', 0), ('kpm', KPM), ('step', STEP)):
                yield (f'spmmv_{kind}{kind}_{width}_{name}', 'spmmv', sweep(kind, kind, (), (width, terms)),
                       name == 'kpm' and (width == 8 or kind in 'dz'))
    yield 'interleaved_zz_patterns_8_kpm', 'interleaved', sweep('z', 'z', ['PATTERNS'], (8, KPM)), True
    for kernel in ('fuse_update', 'dots', 'chain'):
        matrix = ['MATRIX_REAL REAL', 'MATRIX_PARTS 1'] if kernel == 'chain' else []
        for kind, (real, parts) in TYPES.items():
            yield f'{kernel}_{kind}', kernel, [f'REAL {real}', f'PARTS {parts}', *matrix], kind in 'dz'
    for kind in TYPES:
        yield f'interleaved_{kind}{kind}', 'interleaved', sweep(kind, kind), kind in 'dz'
        yield f'interleaved_{kind}{kind}_8_step', 'interleaved', sweep(kind, kind, (), (8, STEP)), kind in 'dz'
    for kind in 'sd':
        real = [f'REAL {TYPES[kind][0]}', 'PARTS 1']
        yield f'axpby_{kind}', 'axpby', real, kind == 'd'
        yield f'philox_{kind}', 'philox', real, kind == 'd'
        yield f'apart_{kind}', 'apart', real, kind == 'd'
        for v, w in ((1, 1), (4, 1), (4, 4)):
            tile = [f'ITEM_V {v}', f'ITEM_W {w}']
            yield f'gram_{kind}_{v}_{w}', 'gram', real + tile, kind == 'd'
            yield f'gram_{kind}_{v}_{w}_compensated', 'gram', real + tile + ['COMPENSATED'], kind == 'd' and v == w
        for rows, columns in ((1, 1), (2, 4), (4, 4)):
            yield (f'tall_{kind}_{rows}_{columns}', 'tall',
                   real + [f'ITEM_ROWS {rows}', f'ITEM_COLUMNS {columns}'], kind == 'd')
    for kind, (real, parts) in TYPES.items():
        yield f'fuse_{kind}_cg', 'fuse', [
            f'REAL {real}', f'PARTS {parts}', 'DOTS 1', 'FACTORS FACTOR(0) FACTOR(3) ',
            'LOADS LOAD(1) LOAD(2) LOAD(4) LOAD(5) ', 'STORES STORE(2) STORE(5) ',
            'WORK MORE(2) PLACED(0,v1) END(2) MORE(5) PLACED(3,v4) END(5) DOT(0,v5,v5,0) '], kind in 'dz'
        yield f'dots_{kind}_compensated', 'dots', [f'REAL {real}', f'PARTS {parts}', 'COMPENSATED'], kind in 'dz'
    for source, to in (('u32', 'u32'), ('float', 'double'), ('double', 'float')):
        yield f'columns_{source}_{to}', 'columns', [f'FROM {source}', f'TO {to}'], False
    yield 'sums', 'sums', ['REAL double', 'PARTS 1'], True
    yield 'sums_compensated', 'sums', ['REAL double', 'PARTS 1', 'COMPENSATED'], True
    for kernel in ('join', 'fill', 'pack', 'scalars'):
        yield kernel, kernel, [], True


def registers(nvrtc):
    """Lines of the table: architecture, key, registers, bytes of the stack, bytes spilled."""
    for arch in ARCHES:
        for name, kernel, defines, usual in keys():
            if not usual:
                continue
            _, log = nvrtc.compile(kernel, defines, f'--gpu-architecture=sm_{arch}', *options(), '--ptxas-options=-v')
            used = re.search(r'Used (\d+) registers', log)
            frame = re.search(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads', log)
            if not used:
                sys.exit(f'{name}: ptxas does not say how many registers it uses:\n{log}')
            stack, spilled = (int(frame[1]), int(frame[2]) + int(frame[3])) if frame else (0, 0)
            yield f'sm_{arch}', name, int(used[1]), stack, spilled


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    nvrtc, table = Nvrtc(sys.argv[1], sys.argv[2]), os.path.join(HERE, 'registers.txt')
    if sys.argv[3] == 'ptx':
        for name, kernel, defines, _ in keys():
            arch = ARCHES[len(name) % len(ARCHES)]
            ptx, _ = nvrtc.compile(kernel, defines, f'--gpu-architecture=compute_{arch}', *options())
            with open(os.path.join(sys.argv[4], f'{name}.ptx'), 'w', encoding='ascii') as f:
                f.write(ptx)
        return
    found = list(registers(nvrtc))
    if sys.argv[4:] == ['keep']:
        with open(table, 'w', encoding='ascii') as f:
            f.write('# architecture, kernel, registers, bytes of the stack, bytes spilled: nvrtc.py registers keep\n')
            f.writelines(' '.join(map(str, line)) + '\n' for line in found)
        return
    with open(table, encoding='ascii') as f:
        kept = {tuple(w[:2]): [int(n) for n in w[2:]] for w in map(str.split, f) if w and w[0] != '#'}
    bad = 0
    for arch, name, *now in found:
        before = kept.get((arch, name))
        if before is None or any(n > b for n, b in zip(now, before)):
            bad += 1
            print(f'{arch} {name}: registers, stack, spilled are {now}; {before or "nothing"} in registers.txt')
    print(f'registers of {len(found)} kernels: {bad} need more than registers.txt says')
    sys.exit(bad > 0)


if __name__ == '__main__':
    main()
