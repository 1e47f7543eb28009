// Package attempts is the room of attempts, which Determined's API calls allocations: one run of a task on the nodes where the scheduler
// has placed it, and its members, one for each node.
//
// The control loop creates attempts and writes their states (package control). What their processes report is here. The runner of a member
// claims it, and no program starts before the master has accepted the claim (docs/rfd/0004-the-gate.md); the answer describes what the
// runner starts. The members then meet at the rendezvous, and exchange data in all-gathers. The program asks whether it must stop, the
// runner whether its attempt has ended, and at last the runner reports how the program ended. Those who wait subscribe to the Topic of the
// attempt, and read the rows again when it wakes them. The files, in the order in which one reads them:
//
//	object.go               the attempts and members that paths name: only the attempt itself may call
//	routes.go               the endpoints, and what they use of others
//	claim.go                the claim of a runner
//	rows.go                 the description of an attempt from its rows, for its runner and for the loop
//	rows_gate.go            which claims are accepted
//	rows_rollback.go        the reports of earlier runs that a claim archives
//	rendezvous.go           the members meet
//	rows_members.go         the members, until their exits
//	gather.go, gathers.go   all-gathers: the calls, and the answers that all peers of a round share
//	rows_gathers.go         the data of rounds
//	signals.go              preemption, and what programs report of themselves
//	rows_signals.go         the columns of both; rows_accelerators.go those of the accelerators that members found
//	watch.go                whether an attempt must end, and which visitors are still allowed
//	exit.go                 matches of log policies, and exits
//	list.go, rows_list.go   attempts with their history
//	rows_callers.go         the attempts that call, by their tokens
//	rows_jobs.go            attempts by the names of their jobs in Nomad
//
// This room is above accounts, nodes, logs, metrics and tasks. Package artifacts has the files that runners fetch.
package attempts

// Topic wakes long polls of an attempt: for the preemption signal, the
// rendezvous and a task's readiness.
func Topic(id string) string { return "alloc:" + id }
