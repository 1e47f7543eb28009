// Package logs is the room of logs: the lines that tasks write, from the request that brings them to the one that reads them.
//
// A runner ships numbered lines, and a program may send some itself. The master packs them into chunks, searches them for what webhooks wait
// for, and stores the lines of several requests in one commit, in the partition of their class of retention. Readers unpack the chunks
// that a filter cannot exclude. When the retention of a task has ended, its lines are marked as deleted, and their rows go with their
// partition. The files, in the order in which one reads them:
//
//	chunk/               pure: what a line is, and how a chunk of lines is packed
//	logs.go              the settings of all logs, and the topic of one
//	batch.go             the lines of one request, as they can be stored
//	append.go            Store, which stores batches by group commit
//	labels.go            the origins and kinds of lines, which filters offer; their limits and their cache
//	full.go              the limit for the size of a log
//	rows_append.go       the rows that a commit writes
//	triggers.go          lines that triggers of webhooks search for, and their events
//	triggers_work.go     how much a master searches for each owner of tasks
//	reader.go            Reader, which reads the lines that a filter chooses
//	rows_parts.go        which lines belong to a part of a trial's task
//	rows_fields.go       the values that filters offer, and when a log has ended
//	rows_search.go       the search in all logs
//	rows_retention.go    for how long lines are kept
//	rows_expire.go       deletes lines when that time is over
//	rows_partitions.go   the partitions, which each master creates and drops
//	policies.go          log policies: lines that change what happens to a trial
//	rows_matches.go      the lines that policies matched
//	routes.go            the endpoints, what they use of other rooms, and what they share
//	ship.go              receive lines, in packed bodies
//	read.go, send.go     stream the lines of a log, in turns
//	fields.go            stream the values that filters offer
//	search.go            search all logs
//	retention.go         set for how long lines are kept, and delete those that are due
//	masterlog/           the log of the masters themselves
//
// This room is below those of experiments, tasks and attempts, which it does not import: Deps has what the endpoints
// ask of them. Its statements name columns of their tables. The loop in package control uses Store to write lines about attempts, and the functions of
// rows_expire.go to delete lines; what it reads of matches is in control/rows/live.go.
package logs

// Settings are those of the cluster for all logs.
type Settings struct {
	Days     int   // for which the lines of tasks are kept that say nothing else; may be Forever
	MaxBytes int64 // of the log of one task in the database; 0: no limit
}

// Topic wakes clients that follow a task's log.
func Topic(task string) string { return "logs:" + task }
