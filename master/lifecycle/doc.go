// Package lifecycle has the state machines of attempts, trials and experiments. It is pure:
// a function takes the rows of an object and the time, and returns what should change; the
// control loop stores the change and then acts.
//
// Three inputs change an attempt (Allocation): requests of users and the scheduler
// (preempt, kill), Nomad's state of its allocations, and the reports of its runners. An
// attempt succeeds only by a runner's report. If the runners do not report, Nomad's state
// ends the attempt, after a time in which the job's last task may still report.
//
// AfterExit has the table of what a trial does after the end of an attempt, in
// Determined's order. An experiment follows the requests of its owner and the status of
// its search.
//
// topics.go names the wake-ups that say that something was requested, or has changed.
package lifecycle
