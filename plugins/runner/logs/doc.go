// Package logs brings what a task prints to the master: every line once, in
// order, however often masters or the runner itself are replaced on the way.
//
// Capture reads a stream of the program promptly, repeats it for Nomad's own
// logs, and cuts it into lines. The lines get numbers and go to a Spool: segment
// files in the allocation's shared folder, append-only, deleted once a master has
// taken them. A Shipper reads the spool and sends batches; the master answers
// with the number of the first line that it lacks, so a batch that is sent twice
// is stored once, and another process (the one that ends the allocation) goes on
// where this one stopped.
//
// A segment is text that a person can read: a line per line, its fields separated
// by tabs:
//
//	number  unix-nanoseconds  stdout|stderr  rank|-  level|-  source  text
//
// The spool is bounded. When masters stay away until it is full, the oldest lines
// give way to one line that says how many are missing; when the disk is full,
// lines are kept in memory, within a bound, until there is room again.
package logs
