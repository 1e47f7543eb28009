package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/detent-ml/detent/integration/bench/sched/sim"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// compareSaves prints what preempted jobs lose if the scheduler knows when they saved, and if it does not, for three seeds together.
func compareSaves(seed uint64) {
	fmt.Println("| policy | programs that save when asked | scheduler knows of saves | preemptions | work lost | … of each preemption | wait, median | wait, p99 | slots in use |\n|---|---|---|---|---|---|---|---|---|")
	for _, c := range []struct {
		name string
		run  func(seed uint64, saves float64, blind bool) (*sim.Run, error)
	}{{"priority, preemption", urgentJobs}, {"fair_share", teamsOf(0)}, {"fair_share, half-life of 30 days", teamsOf(30 * 24 * time.Hour)}} {
		for _, saves := range []float64{0, 0.5} {
			for _, blind := range []bool{true, false} {
				preempted, redone, used := 0, 0.0, 0.0
				var waits []time.Duration
				for i := range uint64(3) {
					r, err := c.run(seed+i, saves, blind)
					if err != nil {
						fmt.Fprintln(os.Stderr, err)
						os.Exit(1)
					}
					preempted, redone, used, waits = preempted+r.Preemptions, redone+r.Redone.Hours(), used+r.Utilization/3, append(waits, r.Waits...)
				}
				slices.Sort(waits)
				knows := map[bool]string{true: "no", false: "yes"}[blind]
				fmt.Printf("| %s | %.0f %% | %s | %d | %.0f slot-hours | %.0f min | %s | %s | %.1f %% |\n", c.name, 100*saves, knows, preempted, redone, 60*redone/float64(max(preempted, 1)), span(waits[len(waits)/2]), span(waits[len(waits)*99/100]), 100*used)
			}
		}
	}
}

// urgentJobs runs a pool in which three in ten jobs are urgent.
func urgentJobs(seed uint64, saves float64, blind bool) (*sim.Run, error) {
	const nodes = 50
	jobs, resident := sim.Helios().Jobs(seed, 1000, nodes*8, 0.9, 0.95)
	o := sim.Usual(seed, nodes)
	o.Pool, o.Plan, o.Resident, o.Blind = &pool.Pool{Name: "gpu", Preemption: true}, sched.Plan, resident, blind
	return sim.Simulate(o, sim.Urgent(seed, sim.Saving(seed, jobs, saves), 0.3))
}

// teamsOf runs teams that work at different times, for 10 days.
func teamsOf(halfLife time.Duration) func(seed uint64, saves float64, blind bool) (*sim.Run, error) {
	return func(seed uint64, saves float64, blind bool) (*sim.Run, error) {
		const nodes = 16
		o := sim.Usual(seed, nodes)
		o.Teams, o.Stops, o.Cycle, o.Plan, o.Blind = sim.Teams(seed, nodes*8), 10*24*time.Hour, 10*time.Minute, sched.Plan, blind
		for i := range o.Teams {
			o.Teams[i].Saves = saves
		}
		o.Pool = &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, MinRunTime: 10 * time.Minute, Workspaces: sim.TeamWeights(o.Teams), HalfLife: halfLife}}
		return sim.Simulate(o, nil)
	}
}
