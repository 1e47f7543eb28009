// Package sim runs a pool in virtual time: jobs arrive, sched.Plan decides who runs where, jobs
// end, fail and are preempted, and nodes fail. The same seed gives the same run. Two further
// policies, FIFO and plain best fit, show what the rules of sched cost and bring.
package sim
