package rows

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/schema/rowtest"
)

// liveWorld has two trials with attempts, and a cache that has loaded them.
func liveWorld(t *testing.T) (w *world, c *LiveCache, first, second int) {
	w = newWorld(t)
	first, second = w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1), w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Exec(`UPDATE trials SET ended_at = NULL, state = 'ACTIVE'`)
	w.Exec(`UPDATE experiments SET ended_at = NULL, state = 'ACTIVE'`)
	w.Exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) SELECT task_id || '.9', task_id, 9, 'default', 2, 42, 'RUNNING' FROM trials`)
	w.Exec(`INSERT INTO members (allocation_id, rank, node_id, node_name) SELECT task_id || '.9', rank, 'n', 'n' FROM trials, generate_series(0, 1) rank`)
	w.Exec(`INSERT INTO nodes (id, name, status, eligible, draining, inventory) VALUES ('b', 'b', 'ready', true, false, '{}'), ('a', 'a', 'ready', true, false, '{}')`)
	return w, NewLiveCache(w.DB), first, second
}

// load loads with a caller that has seen the events of all experiments.
func (w *world) load(c *LiveCache, known ...LiveExperiment) *Live {
	w.T.Helper()
	seen := map[int]int64{}
	for _, e := range known {
		seen[e.ID] = 0
	}
	live, err := c.Load(w.T.Context(), Known{Seen: seen})
	if err != nil {
		w.T.Fatal(err)
	}
	return live
}

// byTrial returns the attempts by trial.
func byTrial(live *Live) map[int]LiveAllocation {
	m := map[int]LiveAllocation{}
	for _, t := range live.Trials {
		for _, a := range live.Allocations {
			if a.TaskID == t.TaskID {
				m[t.ID] = a
			}
		}
	}
	return m
}

// TestALoadReadsWhatHasChanged tests that a load reads changed rows only.
func TestALoadReadsWhatHasChanged(t *testing.T) {
	w, c, first, second := liveWorld(t)
	before := w.load(c)
	was := byTrial(before)
	if len(was) != 2 || len(was[first].Members) != 2 || len(was[second].Members) != 2 || len(before.Nodes) != 2 || before.Nodes[0].ID != "a" {
		t.Fatalf("%+v", before)
	}
	if string(before.Experiments[0].Config) == "{}" {
		t.Fatal("the configuration of a new experiment is missing")
	}
	w.Exec(`UPDATE members SET claimed_at = now() WHERE rank = 1 AND allocation_id = $1`, was[first].ID)
	w.Exec(`UPDATE tasks SET unstarted = 3 WHERE id = $1`, was[second].TaskID)
	w.Exec(`UPDATE nodes SET status = 'down' WHERE id = 'b'`)
	after := w.load(c, before.Experiments...)
	now := byTrial(after)
	if now[first].Members[1].ClaimedAt == nil || now[first].Members[0].ClaimedAt != nil {
		t.Errorf("a claim was not seen: %+v", now[first].Members)
	}
	if &now[second].Members[0] != &was[second].Members[0] || &now[first].Members[0] == &was[first].Members[0] {
		t.Error("the load must read the members of the changed attempt, and no others")
	}
	for _, x := range after.Trials {
		if want := map[int]int{first: 0, second: 3}[x.ID]; x.Unstarted != want {
			t.Errorf("trial %d: %d attempts did not start, not %d", x.ID, x.Unstarted, want)
		}
	}
	if after.Nodes[1].Status != "down" || before.Nodes[1].Status != "ready" {
		t.Errorf("nodes: %s before, %s after", before.Nodes[1].Status, after.Nodes[1].Status)
	}
	if string(after.Experiments[0].Config) != "{}" {
		t.Error("a configuration that is known was sent again")
	}
	again := w.load(c) // the caller has not seen any events now
	if string(again.Experiments[0].Config) != string(before.Experiments[0].Config) {
		t.Error("a configuration that is not known was not sent")
	}
}

// TestWhatIsNoLongerLive tests rows that are no longer live, and that are live again later with
// other values.
func TestWhatIsNoLongerLive(t *testing.T) {
	w, c, first, second := liveWorld(t)
	before := w.load(c)
	gone := byTrial(before)[first]
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'failed' WHERE id = $1`, gone.ID)
	w.Exec(`DELETE FROM members WHERE rank = 1 AND allocation_id = $1`, byTrial(before)[second].ID)
	w.Exec(`DELETE FROM nodes WHERE id = 'a'`)
	w.Exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ($1 || '0', $2, 10, 'default', 1, 42, 'PENDING')`, gone.TaskID+".1", gone.TaskID)
	after := w.load(c, before.Experiments...)
	now := byTrial(after)
	if now[first].RunID != 10 || len(now[first].Members) != 0 || len(now[second].Members) != 1 || len(after.Nodes) != 1 || after.Nodes[0].ID != "b" {
		t.Errorf("%+v, %+v, %d nodes", now[first], now[second], len(after.Nodes))
	}
	w.Exec(`UPDATE trials SET ended_at = now(), state = 'COMPLETED' WHERE id = $1`, first)
	w.Exec(`UPDATE experiments SET ended_at = now(), state = 'COMPLETED' WHERE id = (SELECT experiment_id FROM trials WHERE id = $1)`, first)
	if after = w.load(c, before.Experiments...); len(after.Experiments) != 1 || len(after.Trials) != 1 || after.Trials[0].ID != second {
		t.Errorf("%+v, %+v", after.Experiments, after.Trials)
	}
	w.Exec(`UPDATE experiments SET continues = 1 WHERE ended_at IS NOT NULL`)
	for range 2 {
		after = w.load(c, before.Experiments...)
		if len(after.Trials) != 2 || !after.Trials[0].Ended || string(after.Experiments[0].Config) == "{}" {
			t.Errorf("an ended experiment that a user continues: %+v, %+v", after.Experiments[0], after.Trials)
		}
	}
}

// TestTheCacheIsEmptied tests that a load reads everything again when another server answers, and
// after a failed load.
func TestTheCacheIsEmptied(t *testing.T) {
	w, c, first, _ := liveWorld(t)
	spoil := func() { // changes a row in the cache alone, so that its use shows
		c.trials[first].row.Restarts = 77
		if live := w.load(c); live.Trials[0].Restarts != 77 {
			t.Fatal("the load read a row that has not changed")
		}
	}
	w.load(c)
	spoil()
	c.server = c.server.Add(-time.Hour)
	if live := w.load(c); live.Trials[0].Restarts != 0 {
		t.Error("a row of another server was kept")
	}
	spoil()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Load(ctx, Known{}); err == nil {
		t.Fatal("a canceled load succeeded")
	}
	if live := w.load(c); live.Trials[0].Restarts != 0 {
		t.Error("the cache kept a row after a failed load")
	}
}

// TestConfigurationsInSeveralLoads: a load reads configurations up to a number of bytes as PostgreSQL writes them, and the next loads the rest.
func TestConfigurationsInSeveralLoads(t *testing.T) {
	w := newWorld(t)
	const each = 100_000
	var ids []int
	for range 3 * configsTogether {
		id := w.Experiment(rowtest.LossSearcher)
		w.Exec(`UPDATE experiments SET state = 'PAUSED', config = config || jsonb_build_object('data', repeat('x', $2), 'max_restarts', 7) WHERE id = $1`, id, each)
		ids = append(ids, id)
	}
	w.Exec(`DELETE FROM experiments WHERE NOT id = ANY($1)`, ids)
	c := NewLiveCache(w.DB)
	c.configBytes = 10*each + 1
	seen, loads := map[int]int64{}, 0
	for ; len(seen) < len(ids) && loads < 100; loads++ {
		live, err := c.Load(t.Context(), Known{Seen: seen, Choose: func(list []LiveExperiment) (all []Reading) {
			for _, e := range list {
				if _, ok := seen[e.ID]; !ok {
					all = append(all, Reading{ID: e.ID})
				}
			}
			return all
		}})
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for _, e := range live.Experiments {
			_, before := seen[e.ID]
			switch {
			case e.Unread != live.Later[e.ID] || e.Unread && (before || len(e.Config) > 1000 || !strings.Contains(string(e.Config), "7")):
				t.Fatalf("experiment %d: unread %v, later %v, its configuration has %d bytes", e.ID, e.Unread, live.Later[e.ID], len(e.Config))
			case e.Unread:
			case !before:
				if seen[e.ID] = 0; len(e.Config) < each {
					t.Fatalf("the configuration of experiment %d has %d bytes", e.ID, len(e.Config))
				}
				bytes += len(e.Config)
			}
		}
		if bytes > c.configBytes+2*each {
			t.Errorf("a load reads %d bytes of configurations", bytes)
		}
	}
	if loads < 8 || loads > 12 || len(seen) != len(ids) {
		t.Errorf("after %d loads %d of %d configurations were read", loads, len(seen), len(ids))
	}
	c.configBytes = 1 // one that is larger than a load may read is read alone
	if live, err := c.Load(t.Context(), Known{Choose: func([]LiveExperiment) []Reading { return []Reading{{ID: ids[0]}, {ID: ids[1]}} }}); err != nil || !live.Later[ids[1]] || live.Later[ids[0]] {
		t.Errorf("%v, %v", live.Later, err)
	}
}
