// Package queue is the room of the job queue: which jobs hold slots of a pool, which wait for slots and in which order, the quotas that bound
// what each user holds, and the usage, which is what attempts held in the past.
//
// A job is an experiment with its trials, or a task; it is in the queue while it has a live attempt. The queue has no rows of its own: it is
// computed from the rows of attempts, tasks and experiments whenever somebody asks. Users order it by priorities, and by a time of queueing
// that moves a job before or behind another. The loop in package control gives out the slots; it reads the quotas here, and stores here
// when jobs may start (forecasts) and the usage of each attempt. The files, in the order in which one reads them:
//
//	rows_jobs.go         jobs with live attempts, in the order of the queue
//	rows_place.go        move a job in the queue, or a task to another pool
//	rows_forecasts.go    when jobs may start
//	rows_quotas.go       what a quota is, and how its slot-hours are counted
//	rows_usage.go        the slots that attempts held, and their sums by day and month
//	rows_wait_times.go   how long attempts waited in the queues of pools
//	routes.go            the endpoints, and what they use of others
//	jobs.go              list and count jobs
//	change.go            change the priority, weight and pool of a job, and its place in the queue
//	quotas.go            list, set and delete quotas, and write them for Prometheus
//	usage.go             raw and aggregated usage, as JSON and CSV
//
// This room is above accounts, workspaces and tasks, and below experiments and attempts, which it does not import: its statements name
// columns of their tables, and Deps has what the endpoints ask of them.
package queue
