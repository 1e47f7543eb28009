// Package lifecycle says how attempts, trials and experiments move from state to
// state. It is pure: a function looks at a snapshot of a thing and the time, and
// returns what should change; the control loop stores the change and then acts.
//
// An attempt (Allocation) is driven by three sources: what users and the
// scheduler want (preempt, kill), what Nomad says of its allocations, and what
// its runners report. Only a runner's report makes a success. Nomad's word ends
// an attempt when the runners stay silent, after a grace in which a report may
// still arrive from the job's last task.
//
// A trial reacts to the end of an attempt by the table in AfterExit, in the
// order in which Determined decides; an experiment follows what its owner wants
// and what its search concludes.
package lifecycle
