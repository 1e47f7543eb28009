// Package checkpoints is the room of checkpoints: what tasks report of the files that they have stored, and the removal of these files.
//
// A task reports a checkpoint with the names and sizes of its files, which stay in the storage of its experiment; the database has no more of
// them. A garbage collection (GC) is a task that removes files: the loop creates one when a policy does not keep checkpoints or an experiment is
// deleted (control/gc.go), a user when they delete some by name, and a sweep removes what nobody reported. The files, in the order in which one
// reads them:
//
//	routes.go            the endpoints, what they use of others, and what paths name
//	checkpoints.go       report, show and change checkpoints
//	list.go              list those of an experiment or a trial
//	download.go          send the files of one; download_limits.go and packing.go limit that, folder.go and objects.go read the storages
//	logged.go            write and send the files that programs log with MLflow's client; their rows are in rows_logged.go
//	gc.go                remove files by name, preview a policy, and what tasks that remove files ask and report
//	bounds.go            how many files, names and metadata there may be
//	rows.go              the rows of checkpoints; rows_list.go and rows_source.go read them
//	rows_gc.go           garbage collections: what one removes, and who still needs what
//	rows_removals.go     what was removed of each checkpoint
//	rows_sweep.go        which experiments are swept, and which folders nobody names
//	keep                 pure: which checkpoints a policy keeps
//
// Experiments start from checkpoints (Lock, Newest) and are deleted with their files, so this room is below them: it reads their rows in its own
// statements, and Deps finds them for the endpoints.
package checkpoints
