// Package release makes the files of a release from a checkout: archives of the programs, the wheel
// of the Python package, a container image, a bill of materials and checksums.
//
// The archive of det-master is a whole installation: the master with its web pages, and in the same
// folder what the master serves to tasks: det-runner, det-remover, det and the Python package. A
// master without runner_path and harness_path in its configuration uses the files in the folder of
// its executable. The archive also has what makes a cluster on one machine with it: det-gpu, the wheel and the examples.
//
//	programs.go   cross-compiles the programs
//	content.go    which files go into which archive
//	archive.go    packs files the same way every time
//	image.go      the container image, from nothing, in the format that docker and podman load
//	licences.go   the licence texts of everything that is linked
//	bom.go        the bill of materials, in CycloneDX
//	wheel.go      the Python package
//	checksums.go  SHA256SUMS
//
// Two builds of one commit with one Go toolchain give the same bytes: archives have the time of the
// commit and no user names.
//
// goreleaser (2.18) makes no wheels, and its go.mod names 369 modules, where Detent's names 110; that of syft (1.57), which writes
// bills of materials, names 336. This package is 800 lines.
package release
