"""Whether kernels of GPUs compile as HIP, for AMD's GPUs: hip.py PROGRAM CLANG [WORD], all or those with the word in
their name. PROGRAM is made of program.c.

No device runs them so: there is no driver for HIP. The compiler needs the target amdgcn, and nothing of ROCm; 77: it has
not got it.
"""
import os
import subprocess
import sys

import nvrtc

OPTIONS = ['-x', 'hip', '--cuda-device-only', '-nogpulib', '-nogpuinc', '--offload-arch=gfx90a', '-std=c++17', '-O1',
           '-ffp-contract=off', '-S', '-o', os.devnull, '-']


def compiles(clang, text):
    """What the compiler says against a text."""
    return subprocess.run([clang, *OPTIONS], input=text, text=True, capture_output=True, check=False).stderr


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    maker, clang, word = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ''
    with open(os.path.join(nvrtc.HERE, 'hip_words.h'), encoding='ascii') as f:
        words = f.read()
    nothing = compiles(clang, f'#define GROUP_SIZE 1\n{words}\n')
    if nothing:
        print(f'{clang} does not compile HIP: {nothing.splitlines()[0]}')
        sys.exit(77)
    count = bad = 0
    for name, kernel, defines, _ in nvrtc.keys():
        if word not in name:
            continue
        made = subprocess.run([maker, str(nvrtc.GROUP), kernel, *defines], stdout=subprocess.PIPE, text=True, check=True)
        size, text = made.stdout.split('\n', 1)
        said = compiles(clang, f'{size}\n{words}\n{text}')
        count += 1
        if said:
            bad += 1
            print(f'{name} as HIP:\n{said}')
    print(f'{count} kernels as HIP: {bad} do not compile')
    sys.exit(bad > 0 or count == 0)


if __name__ == '__main__':
    main()
