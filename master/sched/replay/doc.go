// Package replay asks the plans of a recording again (package record). Everything is computed from the recording; nothing runs.
//
//	check.go       with the recorded inputs, plan by plan: does the planner decide the same?
//	settings.go    what to change: policies, weights, quotas, nodes
//	history.go     the jobs of a recording: when each came, what it asked for, and for how long it ran
//	simulation.go  the same jobs in simulated time, planned by package sched
//	outcome.go     what teams waited and used
//
// A check proves that a recording is complete: the same input gives the same plan. A simulation answers what would have been, so it has to assume
// something where the recording ends:
//
//   - A job runs as long as it did. What a preemption made it do again is taken off, and added where the simulation preempts it.
//   - What came because another attempt of the same experiment had ended, such as the next trial of a search, comes as long after the simulated
//     end. All else comes when it came.
//   - A job that was canceled while it waited waits until then. A job that ran when the recording ended runs to the end of the simulation.
//   - A failure happens to the attempt to which it happened, wherever it runs.
//   - After a plan of a long queue the next one waits for some time (budget), so a wait may be too long by that.
//
// So two simulations are compared, both with these assumptions: one with the recorded settings and one with the changed ones.
package replay
