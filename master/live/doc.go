// Package live is the room of streams that keep clients up to date: the stream of a page, with the changes of experiments and lists and the
// reports of trials (stream.go), and Determined's stream of projects, models and versions (follow.go).
//
// A StateFeed reads once for all streams of a master what has changed; package updates below is pure: which changes a client of
// Determined's stream has received.
package live
