package control

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// fakeNomad places submitted jobs at once and runs nothing. Tests change the states of its
// allocations, and report in the place of runners.
type fakeNomad struct {
	mu     sync.Mutex
	index  uint64
	tasks  map[string]*cluster.TaskFact // by attempt
	stops  map[string]int
	submit map[string]int
	answer func(id string) (cluster.Outcome, error) // result of submissions; nil: Done
	refuse func(id string) error                    // error of stops; nil: none
	full   map[string]string                        // by attempt: why it was not placed
	nodes  []cluster.Node
	jobs   []cluster.JobFact
	alarm  string
	wake   chan struct{}
	seen   func(cluster.TaskFact, jobspecs.Task) // gets each change of an allocation, and the job if it is new; nil: nobody does
}

func newFakeNomad(nodes ...string) *fakeNomad {
	f := &fakeNomad{tasks: map[string]*cluster.TaskFact{}, stops: map[string]int{}, submit: map[string]int{}, wake: make(chan struct{}, 1)}
	for _, n := range nodes {
		f.nodes = append(f.nodes, cluster.Node{Node: sched.Node{ID: "id-" + n, Name: n}, NodePool: "default", Status: "ready",
			Eligible: true, Drivers: []string{"raw_exec"}})
	}
	return f
}

func (f *fakeNomad) Observe(context.Context, cluster.Known) (cluster.Observation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := cluster.Observation{Index: f.index, Full: true, Nodes: f.nodes, Jobs: f.jobs, Alarm: f.alarm}
	for _, t := range f.tasks {
		o.Tasks = append(o.Tasks, *t)
	}
	return o, nil
}

func (f *fakeNomad) Wake() <-chan struct{} { return f.wake }

func (f *fakeNomad) Submit(_ context.Context, t jobspecs.Task) (cluster.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submit[t.AllocationID]++
	if f.answer != nil {
		if outcome, err := f.answer(t.AllocationID); outcome != cluster.Done {
			return outcome, err
		}
	}
	f.index++
	f.tasks[t.AllocationID] = &cluster.TaskFact{AllocationID: t.AllocationID, NomadAllocID: "nomad-" + t.AllocationID,
		NodeID: t.Members[0].NodeID, Status: "running", Started: true, Index: f.index, CreateIndex: f.index}
	f.changed(t.AllocationID, t)
	return cluster.Done, nil
}

func (f *fakeNomad) Stop(_ context.Context, id string) (cluster.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stops[id]++
	if f.refuse != nil {
		if err := f.refuse(id); err != nil {
			return cluster.TryAgain, err
		}
	}
	for i := range f.jobs {
		f.jobs[i].Stopped = f.jobs[i].Stopped || f.jobs[i].AllocationID == id
	}
	if t := f.tasks[id]; t != nil && t.Status == "running" {
		f.index++
		t.Status, t.Index = "complete", f.index
		f.changed(id, jobspecs.Task{})
	}
	return cluster.Done, nil
}

func (f *fakeNomad) WhyNotPlaced(_ context.Context, id string) (string, error) {
	return f.full[id], nil
}

// turn changes the Nomad state of an attempt.
func (f *fakeNomad) turn(id string, change func(*cluster.TaskFact)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index++
	change(f.tasks[id])
	f.tasks[id].Index = f.index
	f.changed(id, jobspecs.Task{})
}

func (f *fakeNomad) changed(id string, job jobspecs.Task) {
	if f.seen != nil {
		f.seen(*f.tasks[id], job)
	}
}

// bench is a loop with a real database and the fake Nomad; tests run its cycles one by one.
type bench struct {
	t     testing.TB
	db    *database.DB
	nomad *fakeNomad
	term  *term

	reported map[int][]float64 // progress, by experiment; see reports
}

func newBench(t testing.TB, nodes ...string) *bench {
	t.Helper()
	pgtest.Beside(t)
	return newBenchOn(t, pgtest.New(t, schema.Hash(), schema.Migrate), nodes...)
}

// newBenchOn is newBench with a database that the test has prepared.
func newBenchOn(t testing.TB, dsn string, nodes ...string) *bench {
	t.Helper()
	db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	log := slog.New(slog.DiscardHandler)
	b := &bench{t: t, db: db, nomad: newFakeNomad(nodes...), reported: map[int][]float64{}}
	timing := lifecycle.DefaultTiming()
	timing.StopAfter, timing.Margin = 0, 0
	l := New(Config{Timing: timing, Recording: recording.Limits{Days: 1, MaxMB: 100}, Pools: pool.Set{{Name: "default", NodePool: "default", Driver: "raw_exec",
		Slots: pool.Slots{Kind: pool.CPUSlots, PerNode: 2}, MaxAux: 10}},
		Task: func(a task.Attempt, members []task.Placed, _ *pool.Pool) (task.Job, error) {
			job := task.Job{Task: jobspecs.Task{AllocationID: a.ID}}
			for _, m := range members {
				job.Members = append(job.Members, jobspecs.Member{NodeID: m.NodeID, SlotIDs: m.SlotIDs})
			}
			return job, nil
		}}, db, database.NewBus(dsn, log), b.nomad, log)
	n, err := db.Elect(t.Context(), "test", "", time.Hour)
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	lead := &Leadership{Term: n}
	lead.extend(time.Now().Add(time.Hour))
	if b.term, err = newTerm(t.Context(), l, lead); err != nil {
		t.Fatal(err)
	}
	return b
}

// settle runs cycles until nothing changes.
func (b *bench) settle() {
	b.t.Helper()
	for range 30 {
		if err := b.term.cycle(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		b.term.calls.wait()
		called := false
		select {
		case <-b.term.calls.done:
			called = true
		default:
		}
		if !b.term.cycleAgain && !called && b.quiet() {
			return
		}
	}
	b.t.Fatal("the loop does not come to rest")
}

// quiet reports whether all queued work has been tried at least once.
func (b *bench) quiet() bool {
	return b.int(`SELECT count(*) FROM work WHERE tries = 0`) == 0
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if err := b.db.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *bench) int(sql string, args ...any) int {
	b.t.Helper()
	var n int
	if err := b.db.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (b *bench) text(sql string, args ...any) string {
	b.t.Helper()
	var s string
	if err := b.db.QueryRow(b.t.Context(), sql, args...).Scan(&s); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return s
}

func (b *bench) experiment(more string) int {
	b.t.Helper()
	return b.submit("searcher: {name: single, metric: loss, max_length: {batches: 9}}\n" + more)
}

// submit creates an experiment from a configuration with a searcher.
func (b *bench) submit(config string) int {
	b.t.Helper()
	raw, _, err := expconf.Parse("test", []byte("entrypoint: x\nmax_restarts: 1\n"+config))
	if err != nil {
		b.t.Fatal(err)
	}
	if raw.CheckpointStorage.Type == "" { // required; with this storage, no files are removed when the experiment ends
		raw.CheckpointStorage = expconf.CheckpointStorage{Type: expconf.HDFS}
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		b.t.Fatal(err)
	}
	js, err := json.Marshal(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.int(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, state, pool, slots_per_trial)
		SELECT u.id, p.id, $1, '', 1, 'test', 'active', 'ACTIVE', 'default', $2 FROM users u, projects p WHERE u.username = 'determined'
		RETURNING id`, js, cfg.Resources.SlotsPerTrial)
}

// newest returns the id of the experiment's newest attempt.
func (b *bench) newest(experiment int) string {
	b.t.Helper()
	return b.text(`SELECT a.id FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 ORDER BY run_id DESC LIMIT 1`, experiment)
}

// claim makes the claim of every member of an attempt.
func (b *bench) claim(id string) {
	b.t.Helper()
	b.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE allocation_id = $1`, id)
}

func (b *bench) exit(id string, code int) {
	b.t.Helper()
	b.exec(`UPDATE members SET exited_at = now(), exit_code = $2 WHERE allocation_id = $1`, id, code)
}

func (b *bench) ack(id string) {
	b.t.Helper()
	b.exec(`UPDATE allocations SET preempt_acked_at = now() WHERE id = $1`, id)
}

// want checks the states of an experiment, its trial and its newest attempt.
func (b *bench) want(experiment int, state, trial, attempt string) {
	b.t.Helper()
	got := b.text(`SELECT e.state || ' ' || t.state || ' ' || a.state || coalesce(' ' || a.outcome, '')
		FROM experiments e JOIN trials t ON t.experiment_id = e.id JOIN allocations a ON a.task_id = t.task_id
		WHERE e.id = $1 ORDER BY a.run_id DESC LIMIT 1`, experiment)
	if want := fmt.Sprintf("%s %s %s", state, trial, attempt); got != want {
		b.t.Errorf("experiment, trial and attempt are %q, want %q", got, want)
	}
}

func TestAGoodLife(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	id := b.newest(e)
	if b.nomad.submit[id] != 1 {
		t.Errorf("submitted %d times", b.nomad.submit[id])
	}
	b.claim(id)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "RUNNING")
	if err := experiments.AppendEvents(t.Context(), b.db, []experiments.NewEvent{{ExperimentID: e, Kind: "validated", Body: []byte(`{"metric": 0.25, "steps": 9, "run": 1}`)}}); err != nil {
		t.Fatal(err)
	}
	b.exec(`UPDATE trials SET progress = 0.5 WHERE experiment_id = $1`, e)
	b.settle()
	if p := b.text(`SELECT progress::text || ' ' || best_metric::text FROM experiments WHERE id = $1`, e); p != "0.5 0.25" {
		t.Errorf("progress and best are %s", p)
	}
	b.exit(id, 0)
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	if n := b.int(`SELECT count(*) FROM tasks WHERE ended_at IS NULL`); n != 0 {
		t.Error("the trial's task has not ended")
	}
	if b.nomad.stops[id] != 0 {
		t.Error("the master stopped a job that had ended by itself")
	}
}

// TestWhatFailedHasNotReachedItsEnd tests that the progress of a failed or canceled experiment is
// the progress of its trials, and not 1.
func TestWhatFailedHasNotReachedItsEnd(t *testing.T) {
	b := newBench(t, "n1")
	for what, want := range map[string]string{"failed": "ERROR 0.4", "canceled": "CANCELED 0.4"} {
		e := b.experiment("")
		b.settle()
		b.claim(b.newest(e))
		b.exec(`UPDATE trials SET progress = 0.4, restarts = 1 WHERE experiment_id = $1`, e)
		b.settle()
		if what == "canceled" {
			b.exec(`UPDATE experiments SET desired = 'canceled' WHERE id = $1`, e)
			b.settle()
		}
		b.exit(b.newest(e), 3)
		b.settle()
		if got := b.text(`SELECT state || ' ' || progress FROM experiments WHERE id = $1`, e); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	e := b.submit("searcher: {name: grid, metric: loss, max_length: {batches: 9}}\nhyperparameters: {x: {type: categorical, vals: [1, 2, 3, 4]}}")
	b.settle()
	b.exec(`UPDATE trials SET progress = 0.5 WHERE experiment_id = $1`, e)
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
	b.settle()
	if got := b.text(`SELECT state || ' ' || progress || ' of ' || (SELECT count(*) FROM trials WHERE experiment_id = $1) FROM experiments WHERE id = $1`, e); got != "CANCELED 0.5 of 4" {
		t.Errorf("a search that was killed: %s", got)
	}
}

func TestFailuresAreRetried(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("") // max_restarts 1
	for run := 1; run <= 2; run++ {
		b.settle()
		id := b.newest(e)
		b.claim(id)
		b.settle()
		b.exit(id, 3)
		b.settle()
	}
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	if n := b.int(`SELECT restarts FROM trials`); n != 1 {
		t.Errorf("%d restarts", n)
	}
	if s := b.text(`SELECT error FROM experiments`); s != "its trial failed: exit code 3" {
		t.Errorf("the experiment's error is %q", s)
	}
}

func TestPauseAndActivate(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.settle()
	b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
	b.settle()
	b.want(e, "PAUSED", "PAUSED", "RUNNING")
	if b.int(`SELECT count(*) FROM allocations WHERE preempt_at IS NOT NULL`) != 1 {
		t.Error("the attempt was not preempted")
	}
	b.ack(id)
	b.exit(id, 0)
	b.settle()
	b.want(e, "PAUSED", "PAUSED", "TERMINATED preempted")
	b.exec(`UPDATE experiments SET desired = 'active' WHERE id = $1`, e)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if b.newest(e) == id {
		t.Error("there is no second attempt")
	}
}

func TestKillAndCancel(t *testing.T) {
	for desired, reports := range map[string]bool{"killed": false, "canceled": true} {
		t.Run(desired, func(t *testing.T) {
			b := newBench(t, "n1")
			e := b.experiment("")
			b.settle()
			id := b.newest(e)
			b.claim(id)
			b.settle()
			b.exec(`UPDATE experiments SET desired = $2 WHERE id = $1`, e, desired)
			b.settle()
			if reports {
				b.want(e, "STOPPING_CANCELED", "STOPPING_CANCELED", "RUNNING")
				b.ack(id)
				b.exit(id, 0)
			} else {
				b.want(e, "STOPPING_KILLED", "STOPPING_KILLED", "TERMINATING")
				if b.nomad.stops[id] != 1 {
					t.Errorf("stopped %d times", b.nomad.stops[id])
				}
				b.exit(id, 143)
			}
			b.settle()
			if got := b.text(`SELECT state FROM experiments`); got != "CANCELED" {
				t.Errorf("the experiment ended in %s", got)
			}
		})
	}
}

func TestALostNodeIsNobodysFailure(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.settle()
	b.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "lost" })
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if next := b.newest(e); next == id {
		t.Error("there is no successor")
	}
	if n := b.int(`SELECT restarts FROM trials`); n != 0 {
		t.Errorf("the lost attempt counts as a failure: %d restarts", n)
	}
	if b.nomad.stops[id] != 1 {
		t.Errorf("the lost attempt was stopped %d times", b.nomad.stops[id])
	}
}

func TestAReplacementNeverRuns(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.settle()
	b.nomad.turn(id, func(f *cluster.TaskFact) { f.NomadAllocID, f.Previous = "another", "nomad-"+id })
	b.settle()
	if got := b.text(`SELECT outcome FROM allocations WHERE id = $1`, id); got != "lost" {
		t.Errorf("the attempt is %s", got)
	}
	if b.nomad.stops[id] != 1 {
		t.Error("the replacement was not stopped")
	}
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}

func TestNothingIsConcludedInDoubt(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.settle()
	b.nomad.alarm = "Nomad's index went back"
	b.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "lost" })
	second := b.experiment("")
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "RUNNING")
	b.want(second, "ACTIVE", "ACTIVE", "PENDING")
	b.exit(id, 0) // the runner's report counts
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	b.nomad.alarm = ""
	b.settle()
	b.want(second, "ACTIVE", "ACTIVE", "STARTING")
}

// TestTrustInARestoredNomad tests that after trust-nomad, facts of a restored Nomad count,
// although their indexes are lower than earlier ones.
func TestTrustInARestoredNomad(t *testing.T) {
	b := newBench(t, "n1")
	b.nomad.index = 100
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.nomad.index, b.nomad.alarm = 10, "Nomad was restored"
	b.settle()
	b.nomad.alarm = ""
	if err := nodes.Trust(t.Context(), b.db); err != nil {
		t.Fatal(err)
	}
	b.settle()
	if n := b.int(`SELECT nomad_index FROM cluster WHERE NOT trust`); n != 10 {
		t.Errorf("the index that Nomad must not fall below is %d, want that of the trusted state", n)
	}
	b.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "lost" })
	b.settle()
	if b.newest(e) == id {
		t.Error("the loss of an attempt after the restoration was not noticed")
	}
}

func TestSubmissionsThatFail(t *testing.T) {
	b := newBench(t, "n1")
	b.nomad.answer = func(string) (cluster.Outcome, error) { return cluster.Refused, fmt.Errorf("no such driver") }
	e := b.experiment("")
	b.settle()
	b.want(e, "ERROR", "ERROR", "TERMINATED refused")

	tries := 0
	b.nomad.answer = func(string) (cluster.Outcome, error) {
		if tries++; tries == 1 {
			return cluster.TryAgain, fmt.Errorf("no leader")
		}
		return cluster.Done, nil
	}
	e = b.experiment("")
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "ASSIGNED")
	b.exec(`UPDATE work SET after = now()`)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}

func TestAQueueHasReasons(t *testing.T) {
	b := newBench(t, "n1") // two slots
	first := b.experiment("resources: {slots_per_trial: 2}")
	b.settle()
	second := b.experiment("resources: {slots_per_trial: 1}")
	b.settle()
	b.want(second, "ACTIVE", "ACTIVE", "PENDING")
	if why := b.text(`SELECT waiting_reason FROM allocations WHERE state = 'PENDING'`); why == "" {
		t.Error("the waiting attempt has no reason")
	}
	id := b.newest(first)
	b.claim(id)
	b.settle()
	b.exit(id, 0)
	b.settle()
	b.want(second, "ACTIVE", "ACTIVE", "STARTING")
}

// TestAStaleLeaderChangesNothing tests that a cycle of an old leader fails and stores nothing
// after a later term has begun.
func TestAStaleLeaderChangesNothing(t *testing.T) {
	b := newBench(t, "n1")
	b.settle()
	if err := b.db.Resign(t.Context(), "test", 1); err != nil {
		t.Fatal(err)
	}
	if n, err := b.db.Elect(t.Context(), "other", "", time.Hour); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	e := b.experiment("")
	if err := b.term.cycle(t.Context()); err == nil {
		t.Error("an old leader finished a cycle that changes something")
	}
	if n := b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, e); n != 0 {
		t.Error("an old leader made a trial")
	}
	if len(b.nomad.submit) != 0 {
		t.Error("an old leader submitted a job")
	}
}

func TestACommandRunsOnce(t *testing.T) {
	b := newBench(t, "n1")
	b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots)
		SELECT 'cmd', 'COMMAND', gen_random_uuid(), u.id, 1, 'echo', '{"description": "echo"}', 'default', 0 FROM users u WHERE username = 'determined'`)
	b.settle()
	b.claim("cmd.1")
	b.settle()
	b.exit("cmd.1", 7)
	b.settle()
	b.settle()
	if n := b.int(`SELECT count(*) FROM allocations`); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if s := b.text(`SELECT exit_status FROM tasks`); s != "failed: exit code 7" {
		t.Errorf("the command's exit status is %q", s)
	}
}

func TestDelete(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
	b.settle()
	b.exit(b.newest(e), 143)
	b.settle()
	b.exec(`UPDATE experiments SET desired = 'deleted' WHERE id = $1`, e)
	b.settle()
	if n := b.int(`SELECT (SELECT count(*) FROM experiments) + (SELECT count(*) FROM tasks) + (SELECT count(*) FROM allocations)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}
