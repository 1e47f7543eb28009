// Package clustertest has a Nomad in memory, for tests of what stands on package
// cluster, and Conform, the suite that holds both the fake and the real thing to
// the same behaviour.
//
// A Nomad is one server with its nodes; Cluster gives the view that one Detent
// cluster has of it. Its methods play Nomad, the operators and the runners:
// nodes come, drain and are lost, processes end, jobs are purged.
package clustertest
