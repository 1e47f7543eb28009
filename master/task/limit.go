package task

import (
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
)

// defaultRuntimeGrace is how long a trial may store its checkpoint at its max_runtime if the configuration sets neither a preemption
// timeout nor a grace.
const defaultRuntimeGrace = 5 * time.Minute

// RuntimeGrace is how long a trial may run on after its max_runtime, to store a checkpoint.
func RuntimeGrace(c *expconf.Config) time.Duration {
	if c.PreemptionTimeout != nil {
		return time.Duration(*c.PreemptionTimeout) * time.Second
	}
	return time.Duration(optional.Or(optional.Value(c.Preemption).Grace, expconf.Duration(defaultRuntimeGrace)))
}

// TimeLimit is the shorter one of a configuration's limit, 0 for none, and that of the pool, nil for none.
func TimeLimit(own expconf.Duration, in *pool.Pool, heldSeconds float64, since *time.Time) lifecycle.TimeLimit {
	l := lifecycle.TimeLimit{Since: since, Limit: time.Duration(own), Held: time.Duration(heldSeconds * float64(time.Second)), Of: "resources.max_runtime"}
	if in != nil && in.MaxRuntime > 0 && (own == 0 || in.MaxRuntime < l.Limit) {
		l.Limit, l.Of = in.MaxRuntime, "the max_runtime of pool "+in.Name
	}
	return l
}

// TimeLimitOf is the limit of a task that is not a trial, as its row has it. Tasks that the master starts have none.
func TimeLimitOf(kind, own string, in *pool.Pool, heldSeconds float64, since *time.Time) lifecycle.TimeLimit {
	if kind == Removal {
		return lifecycle.TimeLimit{}
	}
	limit, _ := time.ParseDuration(own) // a configuration has no other text there
	return TimeLimit(expconf.Duration(limit), in, heldSeconds, since)
}

// RunsOut reports whether the trials of an experiment run to the end of their training: a search that stops trials early may end
// them at any time.
func RunsOut(c *expconf.Config) bool {
	switch c.Searcher.Name {
	case expconf.Single, expconf.Random, expconf.Grid:
		return true
	}
	return false
}
