// Package clustertest has a fake Nomad in memory, for tests of packages that use package
// cluster, and Conform, a test suite that the fake and a real Nomad must both pass.
//
// A Nomad is one fake server with its nodes; Cluster is the fake of cluster.Cluster for
// one Detent cluster. Nomad's methods simulate events: nodes join and drain,
// processes end, operators purge jobs.
package clustertest
