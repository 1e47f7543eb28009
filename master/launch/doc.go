// Package launch turns requests into rows: an experiment (experiments.New), a notebook,
// shell, command or TensorBoard (tasks.New), or the continuation of an experiment
// (experiments.Continuation).
//
// It merges the submitted configuration over its template and over the defaults of workspace,
// pool and cluster, completes it, checks it against the pool, and finds its project, storage,
// source checkpoint and code. routes.go has the endpoints that create and continue experiments; those that create tasks are in
// package tasks, which makes one call here.
package launch
