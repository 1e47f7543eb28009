// Package launch makes rows of requests: an experiment (store.NewExperiment), a
// notebook, shell, command or TensorBoard (store.NewTask), or an experiment that goes on
// (store.Continuation).
//
// A request is checked from its form to what the cluster can do: the document is laid
// over its template and over what workspace, pool and cluster say, completed, held
// against the pool, and given its project, storage, source and code. The API decodes a
// request, makes one call here, and encodes what came of it.
package launch
