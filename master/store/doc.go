// Package store reads and writes the rows of experiments, trials, runs and searches, and of what has no room of its own, over the
// engine in master/database.
//
// Each file has the rows and the hand-written SQL of one noun. A DB has them over a pool of connections or, in Tx,
// over a transaction; its functions work on both.
//
// Constraints in migrations/ state the invariants, so code that violates one cannot commit. Times in rows are the
// database's now(), and errors are faults.
package store
