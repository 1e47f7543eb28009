// Package release makes what a person installs out of a checkout: archives of the programs, the wheel
// of the Python package, a container image, a bill of materials and checksums.
//
// The archive of det-master is a whole installation. It holds the master with its pages, and beside it
// what the master serves to tasks: det-runner, det-remover, det and the Python package. A master without
// runner_path and harness_path in its configuration uses the files beside its own program.
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
// Two builds of one commit with one Go toolchain give the same bytes: archives carry the time of the
// commit and no names of users.
package release
