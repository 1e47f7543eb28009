// Package runs is the room of runs: trials as rows of one table of all experiments, as pages and Determined's newer clients see them, with
// their metadata, what users do with many of them at once, and the columns by which tables of runs and experiments are searched.
//
// A run is a trial: the rows are those of package experiments, and an action on a run of a search is one on the whole experiment.
package runs
