// Package search decides which trials an experiment has. It is pure.
//
// A search is a fold: New gives the state before anything happened, Apply takes
// one event after another, and Trial says at any moment of each trial that
// should exist whether it should run, wait with its checkpoint, stop or fail.
// Nothing else goes in, so the same events always give the same trials, on any
// master, however often it is begun anew.
//
// The events are the search's whole input: a validation result, the end of a
// trial, its leaving when it was to wait, and what a program outside wants.
// Their order is the gapless sequence number that the store gives them.
// Randomness is a function of the experiment's seed and the number of the trial.
//
// What is wanted is a state to reach, not a command to carry out: the control
// loop compares it with the rows, so a plan that is lost half-way is simply made
// again.
//
// A Method is what tells searchers apart: one file each. All keep their trials
// in a TrialSet, which draws hyperparameters (space.go) by chance or, with the
// sampler tpe, near what did well (tpe.go). async_halving and adaptive_asha are
// one or several brackets (halving.go).
package search
