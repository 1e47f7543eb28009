// Package jobspecs turns one attempt of a task into a Nomad job.
//
// Render is pure: the same Task gives the same job, and a job holds nothing that
// is not in its Task. Task (task.go) is what the control loop knows; render.go makes
// the job and its groups, process.go the processes in them, vault.go what they get of
// Vault, display.go what users read in Nomad's own UI. Text that users typed reaches Nomad only through display.go,
// which escapes Markdown and interpolations.
//
// The shape follows from "one attempt, once". Nomad never restarts,
// reschedules or replaces anything by itself; each group has one
// member, pinned to the node that the scheduler chose, and its rank in its name.
// The job asks for no secret and contains none: its first process exchanges
// its workload identity for what it needs.
package jobspecs
