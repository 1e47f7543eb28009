"""Makes PyTorch work on CPUs without CUDA's libraries, which take five of its six gigabytes.

The packages of PyTorch for Linux are linked against CUDA and do not load without it. For each library of
CUDA that is missing this builds one of the same name with functions that fail (they return 100, CUDA's
code for "no device"), next to CUDA's runtime, which is small and real: it finds no GPU, and PyTorch then
calls none of the others.
"""

import collections
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

SITE = pathlib.Path(sysconfig.get_paths()["purelib"])
OUT = SITE / "nvidia" / "cu13" / "lib"
PREFIXES = ("libcu", "libnv", "libnccl")
# The driver's own library is loaded by name, and only where there is a GPU.
DRIVER = "libcuda.so.1"


def read(library):
    """Return the libraries that one needs, and the functions it wants by library and version."""
    command = ["readelf", "-W", "-d", "--dyn-syms", "-V", str(library)]
    lines = [
        line.split()
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    ]
    needed = {line[-1].strip("[]") for line in lines if "(NEEDED)" in line}
    owners, owner = {}, None
    for line in lines:
        if "File:" in line and "Version:" in line:
            owner = line[line.index("File:") + 1]
        elif owner and "Name:" in line and "Flags:" in line:
            owners[line[line.index("Name:") + 1]] = owner
    wanted = collections.defaultdict(set)
    for line in lines:
        if len(line) >= 8 and line[6] == "UND" and line[4] == "GLOBAL":
            name, _, version = line[7].partition("@")
            wanted[owners.get(version), version].add(name)
    return needed, wanted


def build(name, versions):
    """Build one library from its functions by version."""
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "stub.c"), pathlib.Path(folder, "stub.map")
        functions = sorted(set().union(*versions.values())) or ["detent_stub"]
        source.write_text("".join(f"long {function}(void) {{ return 100; }}\n" for function in functions))
        command = ["cc", "-shared", "-fPIC", "-w", "-fno-builtin", "-o", str(OUT / name), str(source), f"-Wl,-soname,{name}"]
        if "" not in versions:
            script.write_text(
                "".join(f"{version} {{ global: {'; '.join(sorted(names))}; }};\n" for version, names in versions.items())
            )
            command.append(f"-Wl,--version-script,{script}")
        subprocess.run(command, check=True)


def main():
    libraries = sorted((SITE / "torch" / "lib").glob("lib*.so"))
    present = {path.name for path in [*OUT.iterdir(), *(SITE / "torch" / "lib").iterdir()]}
    needed, wanted = set(), collections.defaultdict(set)
    for library in libraries:
        names, functions = read(library)
        needed |= names
        for key, found in functions.items():
            wanted[key] |= found
    loose = {name for name in wanted[None, ""] if name.startswith(("cuFile", "cusparseLt", "nccl"))}
    for name in sorted(needed - present - {DRIVER}):
        if name.startswith(PREFIXES):
            build(name, {version: found for (owner, version), found in wanted.items() if owner == name} or {"": loose})
    # What is missing shows here and not in the first test.
    subprocess.run([sys.executable, "-c", "import torch; torch.nn.Linear(1, 1)(torch.ones(1, 1))"], check=True)


if __name__ == "__main__":
    main()
