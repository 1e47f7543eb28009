// Package experiments is the room of experiments and their trials: what users see of them, change and delete, their code, moves
// between projects and workspaces, and what unmanaged programs report of experiments of their own.
//
// rows.go has the rows of experiments, trials_read.go those of trials, and rows_*.go what single verbs write. Package launch creates and
// continues experiments; package runs shows trials as rows of one table, and package searches talks with programs that
// control a search. The loop (package control) writes the states of experiments and trials: a verb here stores what its user wants, and
// wakes the loop (lifecycle.TopicIntent).
package experiments
