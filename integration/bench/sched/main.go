// Command sched simulates the policies of a pool in virtual time on the same jobs, and prints a table of
// the results. With -plot it also writes a chart for docs/scheduling.md. With -growth it measures instead
// how long a plan takes in clusters of several sizes (growth.go). With -teams it compares half-lives of fair share for teams that work at
// different times (teams.go), and with -saves what preempted jobs lose (saves.go).
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/integration/bench/sched/sim"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// A policy is one column of the result.
type policy struct {
	name   string
	of     pool.Pool
	plan   sim.Planner
	others bool    // the rules of another system
	limits float64 // share of the jobs with a limit of their time; the ends of those that run are estimated if it is not 0
	run    *sim.Run
	mean   time.Duration // processor time of a plan on this machine
}

func policies() []*policy {
	return append([]*policy{
		{name: "FIFO", of: pool.Pool{Name: "gpu"}, plan: sim.FIFO},
		{name: "best fit", of: pool.Pool{Name: "gpu"}, plan: sim.BestFit},
	}, append(append(own(), knowing()...), []*policy{
		{name: "Determined, priority", of: pool.Pool{Name: "gpu"}, plan: sim.DeterminedPriority(), others: true},
		{name: "Determined, priority, preemption", of: pool.Pool{Name: "gpu", Preemption: true}, plan: sim.DeterminedPriority(), others: true},
		{name: "Determined, fair_share", of: pool.Pool{Name: "gpu"}, plan: sim.DeterminedFairShare(), others: true},
		{name: "Kueue", of: pool.Pool{Name: "gpu"}, plan: sim.Kueue(false), others: true},
		{name: "Kueue, fair sharing", of: pool.Pool{Name: "gpu"}, plan: sim.Kueue(true), others: true},
	}...)...)
}

// own are the policies of sched.
func own() []*policy {
	return []*policy{
		{name: "priority", of: pool.Pool{Name: "gpu"}, plan: sched.Plan},
		{name: "priority, preemption", of: pool.Pool{Name: "gpu", Preemption: true}, plan: sched.Plan},
		{name: "fair_share", of: pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, MinRunTime: 10 * time.Minute}}, plan: sched.Plan},
		{name: "round_robin", of: pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.RoundRobin}}, plan: sched.Plan},
	}
}

// knowing are policies of sched where a half, and all of the jobs have a limit of their time.
func knowing() (list []*policy) {
	for _, p := range own() {
		for _, share := range []struct {
			of   float64
			name string
		}{{0.5, "half"}, {1, "all"}} {
			q := *p
			q.limits, q.name = share.of, fmt.Sprintf("%s, %s with limits", p.name, share.name)
			list = append(list, &q)
		}
	}
	return list
}

func main() {
	nodes := flag.Int("nodes", 1000, "nodes of 8 slots")
	jobs := flag.Int("jobs", 10_000, "jobs")
	load := flag.Float64("load", 1.1, "work that arrives, as a share of the work that the cluster can do in the same time")
	seed := flag.Uint64("seed", 1, "seed of the jobs and of the failures")
	shape := flag.String("shape", "helios", "helios or philly")
	busy := flag.Float64("busy", 0.95, "share of the slots that jobs hold at the beginning")
	plot := flag.String("plot", "", "file for the chart (SVG)")
	growing := flag.Bool("growth", false, "measure the time of a plan in clusters of several sizes")
	only := flag.String("only", "", "simulate only policies whose names contain this")
	teams := flag.Bool("teams", false, "compare half-lives of fair share for teams that work at different times")
	saves := flag.Bool("saves", false, "compare what preempted jobs lose if the scheduler knows when they saved")
	again := flag.Bool("replay", false, "record the jobs and measure replays of the recording")
	runs := flag.Int("runs", 9, "plans of each measurement of -growth; the fastest counts")
	flag.Parse()
	shapes := map[string]sim.Shape{"helios": sim.Helios(), "philly": sim.Philly()}
	of, known := shapes[*shape]
	if !known {
		fmt.Fprintf(os.Stderr, "-shape: expected helios or philly, found %q\n", *shape)
		os.Exit(2)
	}
	if *again {
		if err := measureReplay(of, *seed, *jobs, *nodes, *load); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *saves {
		compareSaves(*seed)
		return
	}
	if *teams {
		compareTeams(*seed, *nodes)
		return
	}
	if *growing {
		growth(of, *seed, *runs, *plot)
		return
	}
	work, resident := of.Jobs(*seed, *jobs, 8**nodes, *load, *busy)
	all := slices.DeleteFunc(policies(), func(p *policy) bool { return !strings.Contains(p.name, *only) })
	var wait sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, p := range all {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if err := p.simulate(*seed, *nodes, work, resident); err != nil {
				fmt.Fprintln(os.Stderr, p.name+":", err)
			}
		})
	}
	wait.Wait()
	if slices.ContainsFunc(all, func(p *policy) bool { return p.run == nil }) {
		os.Exit(1)
	}
	fmt.Printf("%s, %d jobs on %d × 8 slots, load %g, seed %d; %d jobs hold slots at the beginning, the others arrive for %s\n\n", of.Name, *jobs, *nodes, *load, *seed, resident, span(all[0].run.Until))
	table(all, work[resident:])
	write(*plot, picture(all, 8**nodes))
}

// write writes a chart to the named file, if a file is named.
func write(name string, chart []byte) {
	if name == "" {
		return
	}
	if err := os.WriteFile(name, chart, 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (p *policy) simulate(seed uint64, nodes int, jobs []sim.Job, resident int) error {
	o := sim.Usual(seed, nodes)
	o.Pool, o.Resident, o.Estimates = &p.of, resident, p.limits > 0
	jobs = sim.Limited(seed, jobs, p.limits)
	var spent time.Duration
	o.Plan = func(of *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, now time.Time) sched.Result {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := used()
		r := p.plan(of, nodes, running, queued, now)
		spent += used() - begin
		return r
	}
	run, err := sim.Simulate(o, jobs)
	if err != nil {
		return err
	}
	p.run, p.mean = run, spent/time.Duration(max(run.Plans, 1))
	return nil
}

func table(all []*policy, jobs []sim.Job) {
	fmt.Println("| policy | slots in use | wait, median | wait, p99 | wait of < 8 slots, median | wait of ≥ 64 slots, median | … longest | slowdown, p99 | Jain's index | preemptions | on loan | work lost | all done after | a plan takes |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, p := range all {
		r := p.run
		large, small := []time.Duration{0}, []time.Duration{0} // waits of large and of small jobs
		for i, j := range jobs {
			if j.Slots < 8 {
				small = append(small, r.Waits[i])
			}
			if j.Slots >= 64 {
				large = append(large, r.Waits[i])
			}
		}
		slices.Sort(large)
		slices.Sort(small)
		fmt.Printf("| %s | %.1f %% | %s | %s | %s | %s | %s | %.1f | %.3f | %d | %d | %.0f slot-hours | %s | %.1f ms |\n", p.name, 100*r.Utilization, span(r.Wait(0.5)), span(r.Wait(0.99)),
			span(small[len(small)/2]), span(large[len(large)/2]), span(large[len(large)-1]), r.Slowdown(0.99), r.Jain, r.Preemptions, r.Loans, r.Lost.Hours(), span(r.Ended), float64(p.mean.Microseconds())/1000)
	}
}

// used is the processor time of this thread: other work on the machine does not count.
func used() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// span is a time in the unit that reads best.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 72*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}
