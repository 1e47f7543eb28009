// Package integration holds the end-to-end tests of what Detent promises, on real
// servers: PostgreSQL, Consul, Nomad, the master as a Nomad job, tasks as
// processes, and other people's clients.
//
// rig_test.go starts one local cluster for the package, with the binaries built
// from this checkout; tests share it and use experiments of their own. What
// kills or breaks parts of it puts them back before it ends.
package integration
