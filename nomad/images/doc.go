// Package images makes the container images in which tasks train, without a registry.
//
// An image is a root file system of Debian's packages and of wheels from the Python package index. Its
// recipe (recipe.go) names both; a lock file beside it has the exact version and hash of each wheel
// (wheels.go). Debian's mmdebstrap makes the root file system (root.go), in one layer that is the same
// byte for byte if the packages are the same, and layout.go packs it as a file that `docker load` and
// `podman load` read. Beside it is a bill of materials (bill.go). Made images stay in the user's cache.
//
// A site needs no change here for packages of its own: its Dockerfile begins with FROM detent-small.
package images
