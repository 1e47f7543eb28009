package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/cli/queue"
	"github.com/detent-ml/detent/integration/bench/sched/sim"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
	"github.com/detent-ml/detent/master/sched/replay"
)

// measureReplay records a run of jobs, and prints how long det needs to ask the recording what other settings would have done, and to make all of its
// plans again. Times are of the processor, and of the clock.
func measureReplay(of sim.Shape, seed uint64, jobs, nodes int, load float64) error {
	work, resident := of.Jobs(seed, jobs, 8*nodes, load, 0.5)
	o := sim.Usual(seed, nodes)
	o.Pool, o.Resident, o.NodeFails = &pool.Pool{Name: "gpu", Preemption: true}, resident, 0
	var recorder record.Recorder
	var lines [][]byte
	size := 0
	var spent time.Duration
	o.Plan = func(of *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, now time.Time) sched.Result {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		r := sched.Plan(of, nodes, running, queued, now)
		began := used()
		line, _, err := recorder.Note(record.Input{Pool: of, At: now, Planned: true, Nodes: nodes, Running: running, Queued: queued, Result: r})
		spent += used() - began
		if err != nil {
			panic(err)
		}
		if line != nil {
			lines, size = append(lines, line), size+len(line)
		}
		return r
	}
	run, err := sim.Simulate(o, work)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d jobs on %d × 8 slots, load %g, seed %d; recorded %d frames, %.0f bytes for each job, %.0f µs of the recorder for each plan\n\n", of.Name, jobs, nodes, load, seed, len(lines),
		float64(size)/float64(jobs), float64(spent.Microseconds())/float64(max(run.Plans, 1)))
	began, clock := cpu(), time.Now()
	frames := make([]*record.Frame, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &frames[i]); err != nil {
			return err
		}
	}
	fmt.Printf("| what | processor | clock | plans | median wait | 90 %% |\n|---|---|---|---|---|---|\n| parse the recording | %.1f s | %.1f s | | | |\n", (cpu() - began).Seconds(), time.Since(clock).Seconds())
	from, until := record.Time(frames[0].At), epochOf(frames, run.Until)
	for _, text := range []string{"resource_pools.gpu.preemption=false", "resource_pools.gpu.scheduler.type=fair_share", "nodes.gpu+=8x8"} {
		change, err := replay.ParseChange(text)
		if err != nil {
			return err
		}
		began, clock = cpu(), time.Now()
		r, err := queue.Ask(frames, from, until, []replay.Change{change})
		if err != nil {
			return err
		}
		all := r.After.Teams[len(r.After.Teams)-1]
		fmt.Printf("| %s, and as recorded | %.1f s | %.1f s | %d and %d | %s | %s |\n", text, (cpu() - began).Seconds(), time.Since(clock).Seconds(), r.After.Plans, r.Before.Plans,
			span(time.Duration(all.Median*float64(time.Second))), span(time.Duration(all.P90*float64(time.Second))))
	}
	began, clock = cpu(), time.Now()
	r, err := queue.Ask(frames, from, until, nil)
	if err != nil {
		return err
	}
	fmt.Printf("| make each plan again: %d placements, %d deviations | %.1f s | %.1f s | %d | | |\n", r.Check.Placements, r.Check.Deviations, (cpu() - began).Seconds(), time.Since(clock).Seconds(), r.Check.Plans)
	return nil
}

// epochOf is when the last job came.
func epochOf(frames []*record.Frame, last time.Duration) time.Time {
	return record.Time(frames[0].At).Truncate(24 * time.Hour).Add(last)
}

// cpu is the processor time of the program.
func cpu() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
