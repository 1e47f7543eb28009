// Package gpucheck packs what checks Detent on a machine with NVIDIA's GPUs and no network: just gpu-check.
//
// The machine has a driver and a Python with PyTorch; the pack has the rest: Detent's programs, Nomad, PostgreSQL, the Python package,
// and wheels that the machine's Python may lack. The checks themselves are plugins/harness/gpucheck. They also run without a GPU, on
// simulated ones, so that a pack is known to work before it travels.
//
//	pack.go     the archive
//	parts.go    what is in it
//	run.go      the checks of a pack, on this machine
//	cmd/        the command
package gpucheck
