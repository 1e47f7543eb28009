package task

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
)

func TestGraceInAPool(t *testing.T) {
	of := func(kill *time.Duration) *pool.Pool {
		return &pool.Pool{Job: &api.Job{TaskGroups: []*api.TaskGroup{{Tasks: []*api.Task{{KillTimeout: kill}}}}}}
	}
	for what, c := range map[string]struct {
		pool *pool.Pool
		want time.Duration
	}{
		"a pool that is gone":      {nil, 20 * time.Second},
		"a pool without a job":     {&pool.Pool{}, 20 * time.Second},
		"a job that says nothing":  {of(nil), 20 * time.Second},
		"a long time":              {of(new(2 * time.Minute)), 110 * time.Second},
		"Nomad's own longest time": {of(new(30 * time.Second)), 20 * time.Second},
		"a short time":             {of(new(10 * time.Second)), 5 * time.Second},
		"hardly any":               {of(new(100 * time.Millisecond)), time.Second},
	} {
		if got := graceIn(c.pool); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}
