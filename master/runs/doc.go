// Package runs is the room of runs: trials as rows of one table of all experiments, as pages and Determined's newer clients see them. A
// run is a trial: the rows are those of package experiments, and an action on a run of a search is one on the whole experiment.
// Files, in reading order:
//
//	routes.go        the endpoints, and what they use of others
//	rows.go          the table of runs, and what users change; rows_names.go the names of what they have
//	find.go          search runs
//	columns.go       the columns by which tables of runs and experiments are searched
//	change.go        kill, pause, resume, archive, delete and move many runs
//	start.go         what a program says of its run before it reports
//	metadata.go      the metadata of a run, and their limits
package runs
