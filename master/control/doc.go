// Package control is the one loop: observe, load, decide, apply, act.
//
// PostgreSQL holds what is wanted and what is; the loop makes the second follow
// the first. There is no truth in memory: what the loop keeps (the folds of
// searches, the calls in flight) it can lose at any moment and find again.
//
//	observe  what Nomad says → facts into rows, in a fenced transaction
//	load     one snapshot of everything that may still change
//	decide   Decide(snapshot) → Plan; pure: search ▸ lifecycle ▸ sched
//	apply    the plan's bundles, in a fenced transaction
//	act      submit and stop in Nomad, for rows that say so
//
// One experiment cannot stop another. A bundle of a plan is what changes about one
// experiment or task, or one placement; what goes wrong with it, while it is decided
// (plan.go) or stored (apply.go), leaves the other bundles as they are. An experiment
// that cannot be handled ends with the reason, one whose changes take the database
// too long is tried again later and apart (backoff.go).
//
// One master leads (lead.go) and runs the loop (loop.go); the others serve the
// API. A cycle that changed something is followed by another at once, so a chain
// of consequences takes a few cycles of some milliseconds and no special code.
package control
