// Package jobspecs turns one attempt of a task into a Nomad job.
//
// Render is pure: the same Task gives the same job, and a job holds nothing that
// is not in its Task. Task (task.go) is what the control loop knows; job.go makes
// the job and its groups, task.go the processes in them, words.go what users
// read in Nomad's own UI. What a person typed reaches Nomad only through
// words.go, which takes its power to be Markdown or an interpolation from it.
//
// The shape follows from "one attempt, once". Nomad never restarts,
// reschedules or replaces anything by the job's word; each group has one
// member, pinned to the node that the scheduler chose, and its rank in its name.
// The job asks for no secret and contains none: its first process trades its
// workload identity for what it needs.
package jobspecs
