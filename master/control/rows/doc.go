// Package rows has the rows that the control loop alone reads and writes.
//
// A cycle of the loop reads everything that may still change in one snapshot, decides, and stores its plan as bundles, each of them whole or not
// at all. The files, in the order in which one reads them:
//
//	live.go            the rows of the snapshot
//	live_cache.go      LiveCache, which reads only the rows that have changed
//	live_names.go      the names of workspaces and owners
//	live_searches.go   configurations and events of searches, as many as one load reads
//	changes.go         what a bundle changes, and its statements
//	bundles.go         store bundles; database.ApplyBundles leaves out those that fail
//	work.go            the queue of calls to Nomad and of long deletions
//	observed.go        what Nomad says of members and nodes; the attempts that are to be submitted
//	orphans.go         jobs in Nomad without a row, and ended attempts that still run
//	leftover.go        members whose files are to be read from their nodes
//	regions.go         the regions of Nomad, their alarms and indexes
//
// The statements that both submissions and the loop use, such as that of a new trial, are in the rooms.
package rows
