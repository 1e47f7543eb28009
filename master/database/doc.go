// Package database is the engine for PostgreSQL: it knows how rows are read and written, and no noun.
//
// A Group stores the items of parallel callers in one commit, in which the items of one owner delay or break
// no others.
package database
