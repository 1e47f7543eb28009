// Package sim runs a pool in virtual time: jobs arrive, sched.Plan decides who runs where, jobs
// end, fail and are preempted, and nodes fail. The same seed gives the same run. Further
// policies show what the rules of sched cost and bring: FIFO and plain best fit (plain.go), and the
// published rules of Determined (determined.go) and of Kueue (kueue.go).
package sim
