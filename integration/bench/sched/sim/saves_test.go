package sim

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// TestPreemptionsLoseLess: if the scheduler knows when running jobs saved, and which save when they are asked, preempted jobs lose half as much work, or less,
// under priority and fair share, with as many slots in use.
func TestPreemptionsLoseLess(t *testing.T) {
	for name, c := range map[string]struct {
		seeds uint64
		run   func(o Options, seed uint64) (*Run, error)
	}{
		"priority": {2, func(o Options, seed uint64) (*Run, error) {
			jobs, resident := Helios().Jobs(seed, 500, o.Nodes*o.PerNode, 0.9, 0.95)
			o.Pool, o.Resident = &pool.Pool{Name: "gpu", Preemption: true}, resident
			return Simulate(o, Urgent(seed, Saving(seed, jobs, 0.5), 0.3))
		}},
		"fair share": {1, func(o Options, seed uint64) (*Run, error) {
			o.Teams, o.Stops, o.Cycle = Teams(seed, o.Nodes*o.PerNode), 10*24*time.Hour, 10*time.Minute
			for i := range o.Teams {
				o.Teams[i].Saves = 0.5
			}
			o.Pool = &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, MinRunTime: 10 * time.Minute, Workspaces: TeamWeights(o.Teams)}}
			return Simulate(o, nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			lost, used := map[bool]float64{}, map[bool]float64{}
			for _, blind := range []bool{true, false} {
				for seed := range c.seeds {
					o := Usual(seed, 16)
					o.Blind = blind
					r, err := c.run(o, seed)
					if err != nil {
						t.Fatal(err)
					}
					lost[blind], used[blind] = lost[blind]+r.Redone.Hours(), used[blind]+r.Utilization/float64(c.seeds)
					t.Logf("seed %d, knows of saves %v: %d preemptions lose %.1f slot-hours; %.1f %% of the slots in use", seed, !blind, r.Preemptions, r.Redone.Hours(), 100*r.Utilization)
				}
			}
			if lost[true] == 0 || lost[false] > 0.55*lost[true] || used[false] < used[true]-0.02 {
				t.Errorf("lost: %.1f slot-hours with knowledge of saves, %.1f without; slots in use: %.3f and %.3f", lost[false], lost[true], used[false], used[true])
			}
		})
	}
}
