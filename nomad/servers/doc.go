// Package servers brings the servers that a cluster stands on to a machine that may have none of them.
//
// Nomad and Consul are found on PATH, or built once from the Go module registry into a user cache
// (pins.go says which versions, build.go how). PostgreSQL is the system's, or embeddable binaries
// fetched once (postgres_binaries.go); postgres.go runs it. None of this asks for an installation by
// hand, none of it needs root, and root is handled where a server refuses it.
//
// Nothing here knows about Detent itself: package local makes a cluster out of these servers, and
// pgtest gives tests a database each.
package servers
