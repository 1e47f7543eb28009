// Package bench measures Detent on real servers and prints each figure next to a
// yardstick that was measured in the same run, because absolute figures say
// little on a machine that others share.
//
//	just bench                      everything
//	just bench -bench Reports       a part
//
// A part is a benchmark of bench_test.go. They share one local cluster
// (cluster_test.go): PostgreSQL with stock settings, Consul, Nomad, and the
// programs that just build made. load_test.go drives it, bare_test.go has the
// yardsticks that are programs of their own, figures_test.go the table that is
// printed at the end. docs/benchmarks.md explains the figures.
package bench
