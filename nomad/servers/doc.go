// Package servers provides the servers of a cluster on machines that may have none of them installed.
//
// Nomad and Consul are found on PATH, or built once from the Go module registry into a user cache
// (pins.go has the versions, build.go the build). PostgreSQL is the system's, or binaries that are
// downloaded once (postgres_binaries.go); postgres.go runs it. Nothing must be installed by hand,
// nothing needs root, and servers that refuse to run as root run under another account.
//
// Where nothing can be built, Supply finds what somebody has downloaded, and names or downloads what is missing (supply.go, fetch.go);
// released.go knows the makers' archives and verifies them.
//
// The package does not depend on Detent itself: package local makes a cluster from these servers, and
// pgtest gives each test its own database.
package servers
