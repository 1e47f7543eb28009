// Package database is the engine for PostgreSQL: it knows how rows are read and written, and no noun.
//
// Migrate brings a database to the schema of a list of SQL files. Errors are faults: AsFault translates what PostgreSQL
// answers, and says fault.Unavailable for a database that does not answer: then the API must answer 503 and never 500,
// so that tasks retry. A Group stores the items of parallel callers in one commit, in which the items of one owner
// delay or break no others. A Bus wakes those who wait for a change, in this master and in others.
package database
