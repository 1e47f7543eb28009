package sim

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// TestSimulate: in a small cluster each policy brings all jobs to their end, no slot is held twice,
// and the same seed gives the same run.
func TestSimulate(t *testing.T) {
	for name, c := range map[string]struct {
		of   pool.Pool
		plan Planner
	}{
		"priority":    {pool.Pool{Name: "gpu", Preemption: true}, sched.Plan},
		"fair_share":  {pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, MinRunTime: 10 * time.Minute}}, sched.Plan},
		"round_robin": {pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.RoundRobin}}, sched.Plan},
		"FIFO":        {pool.Pool{Name: "gpu"}, FIFO},
		"best fit":    {pool.Pool{Name: "gpu"}, BestFit},

		"Determined, priority":             {pool.Pool{Name: "gpu"}, DeterminedPriority()},
		"Determined, priority, preemption": {pool.Pool{Name: "gpu", Preemption: true}, DeterminedPriority()},
		"Determined, fair_share":           {pool.Pool{Name: "gpu"}, DeterminedFairShare()},
		"Kueue":                            {pool.Pool{Name: "gpu"}, Kueue(false)},
		"Kueue, fair sharing":              {pool.Pool{Name: "gpu"}, Kueue(true)},
	} {
		t.Run(name, func(t *testing.T) {
			const nodes = 16
			jobs, resident := Helios().Jobs(7, 300, nodes*8, 1.2, 0.8)
			o := Usual(7, nodes)
			o.Pool, o.NodeFails, o.Resident = &c.of, 24*time.Hour, resident
			o.Plan = func(of *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, now time.Time) sched.Result {
				r := c.plan(of, nodes, running, queued, now)
				if err := sound(nodes, running, queued, r); err != nil {
					t.Fatal(err)
				}
				return r
			}
			a, err := Simulate(o, jobs)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range a.Slowdowns {
				if x < 1 {
					t.Errorf("%s never ended", jobs[resident+i].ID)
				}
			}
			if a.Utilization <= 0 || a.Utilization > 1 || a.Jain <= 0 || a.Jain > 1.000001 || a.Failures == 0 || a.Wait(0.5) > a.Wait(0.99) {
				t.Errorf("utilization %v, Jain %v, failures %d, waits %v %v", a.Utilization, a.Jain, a.Failures, a.Wait(0.5), a.Wait(0.99))
			}
			b, err := Simulate(o, jobs)
			if err != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("the same seed gives another run: %v", err)
			}
		})
	}
}

// sound holds a plan to what every plan must be.
func sound(nodes []sched.Node, running []sched.Running, queued []sched.Request, r sched.Result) error {
	type slot struct {
		node string
		id   int
	}
	held, up := map[slot]bool{}, map[string]bool{}
	for _, n := range nodes {
		up[n.ID] = n.Schedulable
	}
	take := func(parts []sched.Part) (count int, err error) {
		for _, p := range parts {
			for _, id := range p.SlotIDs {
				if held[slot{p.NodeID, id}] {
					return 0, fmt.Errorf("slot %d of %s is held twice", id, p.NodeID)
				}
				held[slot{p.NodeID, id}] = true
				count++
			}
		}
		return count, nil
	}
	for _, x := range running {
		if _, err := take(x.Parts); err != nil {
			return err
		}
	}
	for _, p := range r.Place {
		n, err := take(p.Parts)
		i := slices.IndexFunc(queued, func(q sched.Request) bool { return q.ID == p.ID })
		if err != nil || i < 0 || n != queued[i].Slots || slices.ContainsFunc(p.Parts, func(p sched.Part) bool { return !up[p.NodeID] }) {
			return fmt.Errorf("%s was placed on %v: %w", p.ID, p.Parts, err)
		}
	}
	return nil
}

// TestShapes: the workloads have the means that were published.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		slots float64
	}{{Helios(), 3.72}, {Philly(), 1.75}} {
		jobs, _ := c.shape.Jobs(1, 200_000, 8000, 1, 0)
		slots, lasts, alone := 0, time.Duration(0), 0
		for _, j := range jobs {
			slots += j.Slots
			lasts += j.Lasts / time.Duration(len(jobs))
			if j.Slots == 1 {
				alone++
			}
		}
		mean := float64(slots) / float64(len(jobs))
		if mean < 0.95*c.slots || mean > 1.05*c.slots || lasts < c.shape.Mean*85/100 || lasts > c.shape.Mean*115/100 || 2*alone < len(jobs) {
			t.Errorf("%s: %.2f slots, %v, %d of one slot", c.shape.Name, mean, lasts, alone)
		}
	}
}
