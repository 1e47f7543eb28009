package main

import (
	"fmt"
	"os"
	"time"

	"github.com/detent-ml/detent/integration/bench/sched/sim"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// compareTeams prints what teams hold of what they are due, under fair share without a memory and with several half-lives.
func compareTeams(seed uint64, nodes int) {
	fmt.Printf("Teams that work at different times, %d × 8 slots, %d days, seed %d: what each held, in parts of what it was due\n\n", nodes, sim.TeamDays, seed)
	header := "| half-life |"
	for _, t := range sim.Teams(seed, nodes*8) {
		header += fmt.Sprintf(" %s (weight %g) |", t.Name, t.Weight)
	}
	fmt.Println(header + " error, most | … mean | preemptions | slots in use |\n|---|---|---|---|---|---|---|---|---|---|---|")
	const day = 24 * time.Hour
	for _, life := range []time.Duration{0, 1 * day, 7 * day, 14 * day, 30 * day} {
		o := sim.Usual(seed, nodes)
		o.Teams, o.Stops, o.Cycle, o.Plan = sim.Teams(seed, nodes*8), sim.TeamDays*day, 10*time.Minute, sched.Plan
		weights := sim.TeamWeights(o.Teams)
		o.Pool = &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, MinRunTime: 10 * time.Minute, Workspaces: weights, HalfLife: life}}
		run, err := sim.Simulate(o, nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		row := "| none |"
		if life > 0 {
			row = fmt.Sprintf("| %s |", span(life))
		}
		due := run.Due(weights)
		for _, t := range o.Teams {
			row += fmt.Sprintf(" %.3f |", run.Held[t.Name]/due[t.Name])
		}
		most, mean := run.Unfair(weights)
		fmt.Printf("%s %.1f %% | %.1f %% | %d | %.1f %% |\n", row, 100*most, 100*mean, run.Preemptions, 100*run.Utilization)
	}
}
