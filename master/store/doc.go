// Package store is PostgreSQL: the only package that imports pgx.
//
// A file holds one noun, its rows and its hand-written SQL. A DB is the pool or
// a transaction, and the same functions work on both: Tx is the only way into a
// transaction, it cannot nest, and it repeats what failed to serialize. Two more
// are the leader's: Fenced begins with the fence that keeps a deposed leader from
// writing, and Snapshot reads one consistent snapshot.
//
// Constraints in migrations/ state the invariants; code that breaks them cannot
// commit. now() is the database's. Errors come out as faults: what is missing is
// fault.NotFound, what clashes fault.Conflict, and a database that is away
// fault.Unavailable, because every path that a task uses must answer 503 then
// and never 500.
package store
