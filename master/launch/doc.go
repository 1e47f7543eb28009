// Package launch turns requests into rows: an experiment (store.New), a notebook,
// shell, command or TensorBoard (tasks.New), or the continuation of an experiment
// (store.Continuation).
//
// It merges the submitted configuration over its template and over the defaults of workspace,
// pool and cluster, completes it, checks it against the pool, and finds its project, storage,
// source checkpoint and code. The API decodes a request, makes one call here, and encodes
// the result.
package launch
