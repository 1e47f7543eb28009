// Package search implements Determined's searchers: it decides which trials an
// experiment creates, and how long each of them trains. It is pure.
//
// A search is a fold over events: New returns the initial state, Apply applies
// one event, and Trial returns for each trial whether it should run, wait with its
// checkpoint, stop or fail. A search reads no clock and no database, so every
// master that applies the same events computes the same trials.
//
// The events are: what the search learns from earlier experiments (learn_from), a validation result, the exit of a trial, the end of a trial's
// last attempt before it waits, operations of a custom searcher's program, and
// the continuation of an ended experiment. Package experiments numbers the events of an
// experiment without gaps. Random values depend on the experiment's seed and the
// trial's number only.
//
// Trial returns the wanted state, not a command: the control loop compares it
// with the database rows in every cycle, so nothing is lost when a master stops
// between the decision and its execution.
//
// Each searcher is a Method in a file of its own. Methods keep their trials in a
// TrialSet, which draws hyperparameters at random (space.go) or, with
// `sampler: tpe`, with a tree-structured Parzen estimator (tpe.go, parzen.go), which
// learns from the results of all lengths of training (contrast.go), and from the trials of earlier
// experiments (earlier.go, lesson.go). async_halving
// (ASHA) and adaptive_asha have one bracket (halving.go, adaptive.go), which learns what
// the verdicts at its first rung are worth (verdict.go). adaptive_asha has several brackets
// if bracket_rungs says so, and in searches of revision 1.
// At its end a search may train its best configurations again (repeats.go).
// A search estimates what further trials would bring, and may create none (prospects.go).
//
// The configuration has the revision of these algorithms. A search that began with
// revision 1 must read its events with the algorithms of then, or it would not know its
// own trials.
package search
