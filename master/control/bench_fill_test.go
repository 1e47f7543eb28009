package control

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/clustertest"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/task"
)

var fillBare = flag.Int("fill-bare", 1_000, "how many bare jobs BenchmarkFill registers with Nomad, before and after, as its yardstick")

// BenchmarkFill measures how long the loop takes to fill an idle cluster of 8,000 slots with
// 8,000 queued trials, on a real PostgreSQL and a real Nomad server: until each trial has its
// slots, and until Nomad has accepted the last job. The nodes exist as rows only, so Nomad
// accepts and evaluates each job but starts nothing; the benchmark tells the loop that the
// jobs have started. For comparison, it measures how fast the same server accepts minimal
// jobs from as many parallel clients, before and after the fill.
func BenchmarkFill(b *testing.B) {
	agent := nomadtest.Start(b, nomadtest.Options{})
	agent.Node.Kill(b)
	const id = "33333333-aaaa-4aaa-8aaa-333333333333"
	connected, err := cluster.New(cluster.Config{Address: agent.Address, Token: agent.Token, ClusterID: id})
	if err != nil {
		b.Fatal(err)
	}
	w := newBench(b)
	w.term.cfg.Pools[0].Slots.PerNode = 8
	w.term.cfg.Timing.Start = time.Hour // no runner claims, and the attempts must not time out
	rig := clustertest.Rig{Runner: jobspecs.Runner{Path: "/det-runner"}}
	w.term.cfg.Task = func(a task.Attempt, members []task.Placed, _ *pool.Pool) (task.Job, error) {
		t := rig.Task(id, a.ID, len(members))
		for i, m := range members {
			t.Members[i].NodeID, t.Members[i].NodeName = m.NodeID, m.NodeName
		}
		return task.Job{Task: t}, nil
	}
	w.crowd(benchSlots, 0)
	nomad := &emptyNomad{fakeNomad: w.nomad, real: connected}
	w.lead(nomad)
	w.until(benchSlots, `SELECT count(*) FROM allocations WHERE state = 'PENDING' AND waiting_reason <> ''`)
	before := registerBare(b, agent, "before", *fillBare)
	var placed, taken time.Duration
	for b.Loop() {
		began := time.Now()
		nomad.open(newFakeNomad(benchNodes()...).nodes)
		w.until(0, `SELECT count(*) FROM allocations WHERE state = 'PENDING'`)
		placed = time.Since(began)
		w.until(benchSlots, `SELECT count(*) FROM allocations WHERE submitted_at IS NOT NULL`)
		taken = time.Since(began)
	}
	if n := w.int(`SELECT count(*) FROM allocations WHERE submit_error <> ''`); n > 0 {
		b.Fatalf("Nomad did not take %d jobs at the first try", n)
	}
	after := registerBare(b, agent, "after", *fillBare)
	b.ReportMetric(placed.Seconds(), "s/placed")
	b.ReportMetric(taken.Seconds(), "s/taken")
	b.ReportMetric((before+after).Seconds()*benchSlots/float64(2**fillBare), "s/bare")
}

// until polls a condition, seldom enough not to disturb the measurement.
func (b *bench) until(want int, sql string) {
	b.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for range tick.C {
		n := b.int(sql)
		if n == want {
			return
		}
		if time.Since(began) > 10*time.Minute {
			b.t.Fatalf("%s: it is %d, want %d", sql, n, want)
		}
	}
}

// emptyNomad is a real Nomad server without nodes. Observe reports simulated nodes, and that
// accepted jobs have started.
type emptyNomad struct {
	*fakeNomad
	real  *cluster.Cluster
	fresh []cluster.Node     // not reported yet
	began []cluster.TaskFact // not reported yet
}

func (n *emptyNomad) open(nodes []cluster.Node) {
	n.mu.Lock()
	n.fresh = nodes
	n.mu.Unlock()
	sleep.Wake(n.wake)
}

// Observe returns changes, like cluster.Cluster.
func (n *emptyNomad) Observe(context.Context, cluster.Known) (cluster.Observation, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := cluster.Observation{Index: n.index, Nodes: n.fresh, Tasks: n.began}
	n.fresh, n.began = nil, nil
	return o, nil
}

func (n *emptyNomad) Submit(ctx context.Context, t jobspecs.Task) (cluster.Outcome, error) {
	outcome, err := n.real.Submit(ctx, t)
	if outcome != cluster.Done {
		return outcome, err
	}
	n.mu.Lock()
	n.index++
	n.began = append(n.began, cluster.TaskFact{AllocationID: t.AllocationID, NomadAllocID: "nomad-" + t.AllocationID,
		NodeID: t.Members[0].NodeID, Status: "running", Started: true, Index: n.index, CreateIndex: n.index})
	n.mu.Unlock()
	sleep.Wake(n.wake)
	return outcome, err
}

// registerBare registers minimal jobs, with as many parallel calls as the loop, and returns
// how long Nomad took.
func registerBare(b *testing.B, agent *nomadtest.Agent, prefix string, n int) time.Duration {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxSubmits}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range maxSubmits {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n) && !b.Failed(); i = next.Add(1) {
				if err := registerOne(b.Context(), client, agent, fmt.Sprintf("%s-%d", prefix, i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return time.Since(began)
}

func registerOne(ctx context.Context, client *http.Client, agent *nomadtest.Agent, id string) error {
	type m = map[string]any
	body, err := json.Marshal(m{"Job": m{"ID": id, "Name": id, "Type": "batch", "Datacenters": []string{"*"}, "TaskGroups": []m{{"Name": "main", "Count": 1,
		"Constraints": []m{{"LTarget": "${node.unique.id}", "RTarget": "id-n1", "Operand": "="}},
		"Tasks":       []m{{"Name": "main", "Driver": "raw_exec", "Config": m{"command": "/bin/true"}, "Resources": m{"CPU": 50, "MemoryMB": 64}}}}}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, agent.Address+"/v1/jobs", bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("job %s: %s: %s", id, res.Status, said)
	}
	return err
}
