package control

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/sched/record"
	"github.com/detent-ml/detent/master/sched/replay"
)

// policiesOfSeeds are those of the simulation's pool, by its seed.
var policiesOfSeeds = []struct {
	preemption bool
	pool.Scheduler
}{{false, pool.Scheduler{}}, {true, pool.Scheduler{Type: pool.Priority}}, {false, pool.Scheduler{Type: pool.FairShare}}, {false, pool.Scheduler{Type: pool.RoundRobin}}}

// frames are what was recorded.
func (b *bench) frames() (list []*record.Frame) {
	b.t.Helper()
	texts, err := database.Scalars[string](b.t.Context(), b.db, `SELECT frame FROM queue_recording ORDER BY id`)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, text := range texts {
		f := &record.Frame{}
		if err := json.Unmarshal([]byte(text), f); err != nil {
			b.t.Fatalf("%v: %s", err, text)
		}
		list = append(list, f)
	}
	return list
}

// replays makes the recorded plans again, and fails if one decides something else or a placement is missing.
func (b *bench) replays() (all replay.Check) {
	b.t.Helper()
	for _, part := range replay.Parts(b.frames()) {
		c, err := replay.CheckPart(part)
		if err != nil {
			b.t.Fatal(err)
		}
		all.Add(c)
	}
	if all.Deviations > 0 || all.Gaps > 0 {
		b.t.Errorf("%+v, the first deviation %+v", all, all.First)
	}
	if placed := b.int(`SELECT count(*) FROM allocations WHERE assigned_at IS NOT NULL`); all.Placements < placed {
		b.t.Errorf("%d placements were recorded, and there were %d", all.Placements, placed)
	}
	return all
}

// TestRecordedPlansAreMadeAgain: quotas, priorities and preemptions of a pool that is full. Another leader goes on with a whole frame.
func TestRecordedPlansAreMadeAgain(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.term.cfg.Pools[0].Preemption = true
	for i := range 6 {
		id := b.experiment(fmt.Sprintf("resources: {slots_per_trial: %d}", 1+i%2))
		b.exec(`UPDATE experiments SET priority = $2 WHERE id = $1`, id, 50-5*i)
		b.settle()
		if i == 4 {
			b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, id-3)
			b.settle()
		}
	}
	b.exec(`INSERT INTO quotas (workspace_id, measure, period, hard) SELECT id, 'slots', '', 3 FROM workspaces LIMIT 1`)
	b.experiment("resources: {slots_per_trial: 1}")
	b.settle()
	before := b.replays()
	if before.Plans == 0 || before.Placements == 0 || before.Preemptions == 0 {
		t.Errorf("%+v", before)
	}
	s := &simulation{bench: b}
	s.newLeader()
	b.experiment("resources: {slots_per_trial: 1}")
	b.settle()
	if after := b.replays(); after.Plans <= before.Plans {
		t.Errorf("the next leader recorded nothing: %+v", after)
	}
	if n := b.int(`SELECT count(*) FROM queue_recording WHERE whole`); n != 2 {
		t.Errorf("%d whole frames, expected one of each leader", n)
	}
	history, err := replay.Read(b.frames(), time.Now().Add(-time.Hour), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if history.Jobs() < 6 {
		t.Errorf("%d jobs", history.Jobs())
	}
}

// TestRecordingCostsNoTransaction: a change that only the recording has waits for a transaction that the loop makes anyway.
func TestRecordingCostsNoTransaction(t *testing.T) {
	b := newBench(t, "n1")
	b.experiment("resources: {slots_per_trial: 2}")
	b.settle()
	b.experiment("resources: {slots_per_trial: 2}")
	b.settle()
	rows := b.int(`SELECT count(*) FROM queue_recording`)
	b.exec(`UPDATE nodes SET enabled = false`)
	if err := b.term.cycle(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting := len(b.term.keeper.Due(true, time.Now()))
	if stored := b.int(`SELECT count(*) FROM queue_recording`) - rows; stored+waiting != 1 {
		t.Errorf("%d frames stored and %d waiting after a node was disabled", stored, waiting)
	}
}

// TestARecordingThatCannotBeStored: the plan is stored without it at once, and the loop tries it again less and less often. Later the recording goes on.
func TestARecordingThatCannotBeStored(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.experiment("resources: {slots_per_trial: 1}")
	b.settle()
	b.exec(`CREATE SEQUENCE tries`)
	b.exec(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''tries''); RAISE disk_full; END'`)
	b.exec(`CREATE TRIGGER full_disk BEFORE INSERT ON queue_recording FOR EACH ROW EXECUTE FUNCTION full_disk()`)
	for range 10 {
		b.experiment("resources: {slots_per_trial: 1}")
		if err := b.term.cycle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if placed := b.int(`SELECT count(*) FROM allocations WHERE assigned_at IS NOT NULL`); placed < 2 {
		t.Errorf("%d attempts were placed", placed)
	}
	if tries := b.int(`SELECT last_value FROM tries`); tries == 0 || tries > 3 {
		t.Errorf("the loop tried to store the recording %d times in 10 cycles", tries)
	}
	b.exec(`DROP TRIGGER full_disk ON queue_recording`)
	delete(b.term.backoffs, recordingKey)
	b.experiment("resources: {slots_per_trial: 1}")
	b.settle()
	b.replays()
}

// TestOldFramesExpire deletes by age and by size, the oldest first.
func TestOldFramesExpire(t *testing.T) {
	b := newBench(t, "n1")
	b.exec(`INSERT INTO queue_recording (pool, at, whole, bytes, frame) SELECT 'p', now() - make_interval(days => 10 - n), n = 1, 1 << 19, '{}' FROM generate_series(1, 9) n`)
	for _, c := range []struct{ days, mb, left int }{{30, 100, 9}, {8, 100, 7}, {30, 2, 4}} {
		err := new(recording.Size).Expire(t.Context(), recording.Limits{Days: c.days, MaxMB: c.mb}, func(do func(tx *database.DB) error) error { return b.db.Tx(t.Context(), do) })
		if left := b.int(`SELECT count(*) FROM queue_recording`); err != nil || left != c.left {
			t.Errorf("%d days, %d MB: %d frames are left, expected %d: %v", c.days, c.mb, left, c.left, err)
		}
	}
	if newest := b.text(`SELECT (min(at) > now() - interval '5 days')::text FROM queue_recording`); newest != "true" {
		t.Errorf("the oldest were not deleted first: %s", newest)
	}
}
