// Package logs sends the output of a task to the master: every line once, in order, even if
// masters or the runner are replaced meanwhile.
//
// Capture reads a stream of the program, copies it to Nomad's logs, and splits it into lines.
// The lines get numbers and are appended to a Backlog: segment files in the allocation's shared
// folder, deleted after a master has accepted them. A Shipper reads the backlog and sends
// batches; the master answers with the number of the next line that it expects, so a batch that
// is sent twice is stored once, and another process (the last one of the allocation) continues
// where this one stopped.
//
// A segment is readable text: one line for each log line, its fields separated by tabs:
//
//	number  unix-nanoseconds  stdout|stderr  rank|-  level|-  source  text
//
// The size of the backlog is limited. If masters do not answer until it is full, one line with
// their number replaces the oldest lines; if the disk is full, lines are kept in memory, up to
// a limit, until there is space again.
package logs
