// Package search decides which trials an experiment has. It is pure.
//
// A search is a fold: New gives the state before anything happened, Apply takes
// one event after another, and Wanted says at any moment which trials should
// exist and which of them should stop. Nothing else goes in, so the same events
// always give the same trials, on any master, however often it is begun anew.
//
// The events are the search's whole input: a validation result, and the end of a
// trial. Their order is the gapless sequence number that the store gives them.
// Randomness is a function of the experiment's seed and the number of the trial.
//
// Wanted is a state to reach, not a command to carry out: the control loop
// compares it with the rows, so a plan that is lost half-way is simply made
// again.
package search
