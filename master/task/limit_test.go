package task

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

func TestRuntimeGrace(t *testing.T) {
	grace := expconf.Duration(7 * time.Minute)
	for want, c := range map[time.Duration]expconf.Config{
		5 * time.Minute:  {},
		7 * time.Minute:  {Preemption: &expconf.Preemption{Grace: &grace}},
		20 * time.Second: {PreemptionTimeout: new(20), Preemption: &expconf.Preemption{Grace: &grace}},
	} {
		if got := RuntimeGrace(&c); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestTimeLimitOf: the shorter limit holds, and says whose it is.
func TestTimeLimitOf(t *testing.T) {
	in := &pool.Pool{Name: "gpu", MaxRuntime: 2 * time.Hour}
	for _, c := range []struct {
		own  time.Duration
		in   *pool.Pool
		want time.Duration
		of   string
	}{{0, nil, 0, ""}, {0, in, 2 * time.Hour, "the max_runtime of pool gpu"}, {3 * time.Hour, in, 2 * time.Hour, "the max_runtime of pool gpu"}, {time.Hour, in, time.Hour, "resources.max_runtime"},
		{time.Hour, &pool.Pool{}, time.Hour, "resources.max_runtime"}} {
		if got := TimeLimit(expconf.Duration(c.own), c.in, 1.5, nil); got.Limit != c.want || c.of != "" && got.Of != c.of || got.Held != 1500*time.Millisecond {
			t.Errorf("%v: %+v", c.own, got)
		}
	}
}
