package control

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/trial"
)

const (
	benchTrials = 10_000
	benchSlots  = 8_000 // on 1,000 nodes; the other trials wait
)

// BenchmarkDecide measures Decide with 10,000 live trials, each of its own experiment, on
// 1,000 nodes of 8 slots that are all in use. "steady": nothing has changed; "arrivals": a
// hundred new experiments; "ends": a hundred programs have ended. It should take less than
// 200 ms.
func BenchmarkDecide(b *testing.B) {
	b.Run("steady", func(b *testing.B) {
		benchmarkDecide(b, func(*Snapshot) {}, func(c *rows.Changes) bool { return c.Empty() })
	})
	b.Run("arrivals", func(b *testing.B) {
		benchmarkDecide(b, func(p *Snapshot) {
			for _, e := range p.Experiments[benchTrials-100:] {
				delete(p.Allocations, e.Trials[0].TaskID)
				e.Trials, e.LiveExperiment.Trials = nil, 0
			}
		}, func(c *rows.Changes) bool { return len(c.NewTrials) == 100 && len(c.NewAllocations) == 100 })
	})
	b.Run("ends", func(b *testing.B) {
		benchmarkDecide(b, func(p *Snapshot) {
			zero := 0
			for _, e := range p.Experiments[:100] {
				m := &p.Allocations[e.Trials[0].TaskID].Members[0]
				m.ExitedAt, m.ExitCode = &p.Now, &zero
			}
		}, func(c *rows.Changes) bool { return len(c.Trials) == 100 && len(c.Placements) == 100 })
	})
}

func benchmarkDecide(b *testing.B, change func(*Snapshot), right func(*rows.Changes) bool) {
	live := benchLive(b)
	f := folds{byID: map[int]*fold{}}
	p := f.snapshot(live)
	p.Pools, p.Timing = benchPools(), lifecycle.DefaultTiming()
	// The rows of waiting attempts have the reasons that the last cycle stored.
	first := Decide(p).Changes()
	waits := map[string]string{}
	for _, a := range first.Allocations {
		if a.Waiting != nil {
			waits[a.ID] = *a.Waiting
		}
	}
	for _, a := range p.Allocations {
		a.WaitingReason = waits[a.ID]
	}
	for _, e := range p.Experiments {
		for _, c := range first.Experiments {
			if c.ID == e.ID {
				e.Progress = c.Progress
			}
		}
	}
	change(p)
	b.ReportAllocs()
	for b.Loop() {
		c := Decide(p).Changes()
		if !right(c) {
			b.Fatalf("%d new trials, %d changed, %d placements, %d attempts", len(c.NewTrials), len(c.Trials), len(c.Placements), len(c.Allocations))
		}
	}
}

// BenchmarkSnapshot measures how long the loop takes to join rows and searches: a leader that
// has the searches in memory, and a new leader, which parses every configuration.
func BenchmarkSnapshot(b *testing.B) {
	live := benchLive(b)
	b.Run("known", func(b *testing.B) {
		f := folds{byID: map[int]*fold{}}
		f.snapshot(live)
		for b.Loop() {
			f.snapshot(live)
		}
	})
	b.Run("new-leader", func(b *testing.B) {
		for b.Loop() {
			f := folds{byID: map[int]*fold{}}
			f.snapshot(live)
		}
	})
}

// BenchmarkRebuild measures how long a new leader takes to apply the million events of a search.
func BenchmarkRebuild(b *testing.B) {
	const events = 1_000_000
	live := benchLive(b)
	live.Experiments = live.Experiments[:1]
	live.Trials, live.Allocations = live.Trials[:1], live.Allocations[:1]
	for i := range events {
		metric := 1 / float64(i+1)
		body, err := json.Marshal(search.Validation{Metric: &metric, Steps: i, Run: 1})
		if err != nil {
			b.Fatal(err)
		}
		live.Events = append(live.Events, experiments.SearchEvent{ExperimentID: 1, Seq: int64(i + 1), Kind: search.Validated, Body: body})
	}
	for b.Loop() {
		f := folds{byID: map[int]*fold{}}
		p := f.snapshot(live)
		if p.Experiments[0].Broken != "" || p.Experiments[0].Search.Seq() != events {
			b.Fatal(p.Experiments[0].Broken)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}

func benchPools() pool.Set {
	return pool.Set{{Name: "default", NodePool: "default", Driver: "raw_exec", Slots: pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"},
		Preemption: true}}
}

func benchLive(b *testing.B) *rows.Live {
	b.Helper()
	raw, _, err := expconf.Parse("bench.yaml", []byte("name: bench\nentrypoint: python3 train.py\nhyperparameters: {lr: 0.1, layers: {type: int, minval: 1, maxval: 9}}\n"+
		"searcher: {name: single, metric: loss, max_length: {batches: 1000}}\n"))
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "bench", Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	config, err := json.Marshal(cfg)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	live := &rows.Live{Now: now}
	for i := range benchTrials / 10 {
		n := cluster.Node{Node: sched.Node{ID: fmt.Sprintf("node-%04d", i), Name: fmt.Sprintf("n%d", i)}, Cores: 64, MemoryMB: 512 << 10,
			Drivers: []string{"docker", "exec", "raw_exec"}, Devices: map[string][]sched.Slot{}}
		for s := range 8 {
			n.Devices["nvidia/gpu"] = append(n.Devices["nvidia/gpu"], sched.Slot{ID: s, Device: fmt.Sprintf("GPU-%d-%d", i, s), Brand: "H200", Healthy: true, Enabled: true})
		}
		inventory, err := json.Marshal(n)
		if err != nil {
			b.Fatal(err)
		}
		live.Nodes = append(live.Nodes, nodes.Row{ID: n.ID, Name: n.Name, NodePool: "default", Status: "ready", Eligible: true, Enabled: true, Inventory: inventory})
	}
	for i := range benchTrials {
		task := trial.TaskID(i+1, "", 0)
		live.Experiments = append(live.Experiments, rows.LiveExperiment{ID: i + 1, Name: "bench", State: "ACTIVE", Desired: "active", Config: config,
			Seed: int64(i), Pool: "default", SlotsPerTrial: 1, Weight: 1, Priority: 42, Trials: 1})
		live.Trials = append(live.Trials, rows.LiveTrial{ID: i + 1, ExperimentID: i + 1, TaskID: task, State: "ACTIVE", RunID: 1})
		a := rows.LiveAllocation{ID: task + ".1", TaskID: task, RunID: 1, Pool: "default", Slots: 1, Priority: 42, QueuedAt: now.Add(time.Duration(i-benchTrials) * time.Second),
			State: string(lifecycle.Pending)}
		if i < benchSlots {
			a.State, a.AssignedAt, a.SubmittedAt, a.StartedAt = string(lifecycle.Running), &a.QueuedAt, &a.QueuedAt, &a.QueuedAt
			a.Members = []rows.LiveMember{{AllocationID: a.ID, NodeID: live.Nodes[i/8].ID, NodeName: live.Nodes[i/8].Name, SlotIDs: []int{i % 8},
				NomadAllocID: "nomad-" + a.ID, NomadStatus: "running", NomadIndex: 7, Started: true, ClaimedAt: &a.QueuedAt}}
		}
		live.Allocations = append(live.Allocations, a)
	}
	return live
}
