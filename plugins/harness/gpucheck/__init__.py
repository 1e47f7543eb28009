"""Checks Detent on one machine with GPUs of NVIDIA, or with simulated ones.

``just gpu-check`` packs this folder with the programs that it needs, and runs it. On another
machine, without a network: unpack, and ``python3 gpu-check``.

__main__.py  the command line
report.py    the lines, and the table for docs/gpu.md
machine.py   what the machine has
cluster.py   a cluster of its own, for as long as the checks run
checks.py    the checks, in their order
trials/      the programs that train
"""
