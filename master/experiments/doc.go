// Package experiments is the room of experiments and their trials. Files, in reading order:
//
//	routes.go         the endpoints, and what they use of others
//	objects.go        the experiments, trials and runs that paths name
//	show.go           what users see of an experiment, alone and in lists; shown_config.go what they see of its configuration
//	find.go           search experiments
//	chosen.go         the experiments of a request about many
//	act.go            activate, pause, cancel, kill, archive and delete
//	change.go         change names, labels, resources; move.go moves to another project or workspace
//	code.go           the code of an experiment, and code_tree.go its files as a tree
//	trials.go         what users see of trials
//	progress.go       what trials report of themselves; trial_sources.go the checkpoints that they work with
//	unmanaged.go      trials whose programs run elsewhere; heard.go their signs of life
//	memory.go         whether the memory for searches has room
//	rows.go           the rows of experiments; rows_<verb>.go what a verb writes or finds
//	rows_trials.go    the rows of trials; rows_trials_new.go inserts one, rows_trials_report.go has what it reports
//	rows_events.go    the events of searches
//	learn.go          what a new search learns from earlier experiments; rows_learn.go reads their trials
//	rows_deletions.go workspaces and projects that are deleted with their experiments
//
// Package launch creates and continues experiments; package runs shows trials as rows of one table, and package searches talks with
// programs that control a search. The loop (package control) writes the states of experiments and trials: a verb here stores what its user
// wants, and wakes the loop (lifecycle.TopicIntent).
package experiments
