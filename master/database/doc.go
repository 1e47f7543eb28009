// Package database is the engine for PostgreSQL: it knows how rows are read and written, and no noun. It is the
// only package of the master that imports pgx.
//
// A DB is a pool of connections or a transaction; its functions work on both. Tx runs a function in a
// transaction, and runs it again after a serialization failure; transactions do not nest. The leader uses two
// more: Fenced, a transaction that fails if a newer term has begun, and Snapshot, which reads one consistent
// snapshot. Rows, Row, Scalar and Scalars read; Exec changes; Each reads many rows
// and keeps none; EachDocument reads values in JSON documents a few documents at a time, and FirstTexts keeps the first of them; a Batch
// has statements for one message. Conditions, Sorts and PageOf make the pages of lists, which have few rows and few bytes.
//
// ForOwner says in whose name a call is made, so that one owner's calls leave connections to others, and
// LimitReads bounds what a request reads. Group commit (GroupCommit) stores the items of parallel callers in one commit,
// in which the items of one owner delay or break no others. A Bus wakes those who wait for a change, in this
// master and in others. Migrate brings a database to the schema of a list of SQL files.
//
// Times in rows are the database's now(). Errors are faults: fault.NotFound for a missing row, fault.Conflict for a
// violated constraint, and fault.Unavailable for a database that does not answer: then the API must answer 503 and
// never 500, so that tasks retry.
package database
