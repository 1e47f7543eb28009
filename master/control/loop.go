package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/budget"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The loop's rhythm.
const (
	maxIdle        = 5 * time.Second       // at the latest
	minCycleGap    = 20 * time.Millisecond // between the beginnings of two cycles
	afterError     = time.Second
	observeTimeout = 10 * time.Second
)

// Nomad is what the loop asks of the cluster.
type Nomad interface {
	// Observe says what changed since the last call, or everything.
	Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error)
	// Wake fires when there is something to observe.
	Wake() <-chan struct{}
	// Submit registers an attempt's job. It is idempotent.
	Submit(ctx context.Context, task jobspecs.Task) (cluster.Outcome, error)
	// Stop ends an attempt's job. It is idempotent.
	Stop(ctx context.Context, allocationID string) (cluster.Outcome, error)
}

// Config is what the loop needs to know of its master.
type Config struct {
	Pools  pool.Set
	Timing lifecycle.Timing
	// Task describes the job of an attempt: task.Site's Job.
	Task func(a task.Attempt, members []task.Placed, of *pool.Pool) (task.Job, error)
	// Logs is where it is written why an attempt did not start; nil for nowhere.
	Logs *store.LogStore
	// Leftovers is how what attempts have left on their nodes is read; nil for not at all.
	Leftovers LeftoverReader
	// Exit takes the exit of a member that was read there, as if its runner had
	// reported it.
	Exit func(ctx context.Context, from Member, exit v1.MemberExitRequest) error
	// Secrets is where credentials come from; nil where none are given out.
	Secrets Secrets
	// AvoidAfter is after how many failures in a row an experiment avoids a node; 0
	// is never.
	AvoidAfter int
	// Memory is what the searches of all live experiments may take together.
	Memory budget.Budget
}

// Loop is the control loop of a leading master.
type Loop struct {
	cfg   Config
	db    *store.DB
	bus   *store.Bus
	nomad Nomad
	log   *slog.Logger
	stats stats
}

// New makes a loop; Run runs it for one term.
func New(cfg Config, db *store.DB, bus *store.Bus, nomad Nomad, log *slog.Logger) *Loop {
	return &Loop{cfg: cfg, db: db, bus: bus, nomad: nomad, log: log}
}

// term is the loop's memory during one term; it is lost with the term.
type term struct {
	*Loop
	lead          *Leadership
	load          func(ctx context.Context, known store.Known) (*store.Live, error)
	folds         folds
	calls         *calls
	known         cluster.Known // for the next observation
	alarm         string
	swept         time.Time         // when what attempts have left was looked for
	listed        bool              // all of Nomad's jobs were listed since the last sweep
	alive         []string          // the attempts of those that were to run, or ran
	cycleAgain    bool              // something changed: look once more at once
	backoffs      backoffs          // what could not be made as usual
	loggedFaults  map[string]string // the faults that were logged, by key
	lanes         []*lane
	async         bool // Nomad is asked, and the queue worked off, beside the cycle
	watch         watch
	nomadAnswered bool // Nomad has been heard in this term
	began         time.Time
}

// Run cycles until ctx ends.
func (l *Loop) Run(ctx context.Context, lead *Leadership) {
	t, err := newTerm(ctx, l, lead)
	if err != nil {
		l.log.Error("could not begin to lead", "term", lead.Term, "error", err)
		return
	}
	defer l.stats.clear()
	defer t.calls.wait()
	t.async = true
	for _, lane := range t.lanes {
		t.calls.all.Go(func() { lane.run(ctx) })
	}
	intent, cancelIntent := l.bus.Subscribe(store.TopicIntent)
	defer cancelIntent()
	events, cancelEvents := l.bus.Subscribe(store.TopicEvents)
	defer cancelEvents()
	idle := time.NewTimer(0)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-intent:
		case <-events:
		case <-l.nomad.Wake():
			t.startObserving(ctx)
			continue
		case a := <-t.watch.answers:
			t.watch.answer = &a
		case <-t.calls.done:
		case <-idle.C:
		}
		began := time.Now()
		wait := maxIdle
		if err := t.guarded(ctx); err != nil {
			if errors.Is(err, store.ErrNotLeader) || ctx.Err() != nil {
				return
			}
			l.log.Error("the control loop could not finish a cycle", "term", lead.Term, "error", err, "cause", errors.Unwrap(err))
			wait = afterError
		} else if t.cycleAgain {
			wait = 0
		} else if next := t.backoffs.next(began); !next.IsZero() {
			wait = min(maxIdle, max(0, time.Until(next)))
		}
		l.stats.observe(time.Since(began))
		select {
		case <-ctx.Done():
			return
		case <-time.After(minCycleGap - time.Since(began)):
		}
		idle.Reset(wait)
	}
}

func newTerm(ctx context.Context, l *Loop, lead *Leadership) (*term, error) {
	index, err := l.db.NomadIndex(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.db.Fenced(ctx, lead.Term, func(tx *store.DB) error { return tx.TakeOver(ctx) }); err != nil {
		return nil, fmt.Errorf("take over the work of the earlier leader: %w", err)
	}
	t := &term{Loop: l, lead: lead, load: l.db.NewLiveCache().Load, backoffs: backoffs{}, loggedFaults: map[string]string{}, folds: folds{byID: map[int]*fold{}, budget: l.cfg.Memory}, began: time.Now(), known: cluster.Known{Term: lead.Term, Index: uint64(index), Full: true}}
	t.calls = newCalls(t)
	t.lanes = t.newLanes()
	t.watch.answers = make(chan answer, 1)
	return t, nil
}

// guarded is a cycle of which a defect is an error.
func (t *term) guarded(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return t.cycle(ctx)
}

// cycle is observe, load, decide, apply, act.
func (t *term) cycle(ctx context.Context) error {
	t.cycleAgain = false
	if err := t.observe(ctx); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	live, err := t.load(ctx, store.Known{Seen: t.folds.seen(), Choose: t.folds.choose})
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	snapshot := t.folds.snapshot(live)
	t.cycleAgain = t.cycleAgain || t.folds.pending
	snapshot.Pools, snapshot.Timing, snapshot.Frozen = t.cfg.Pools, t.cfg.Timing, live.Alarm != "" || !t.nomadAnswered
	snapshot.AvoidAfter = t.cfg.AvoidAfter
	if s := t.cfg.Secrets; s != nil {
		snapshot.Secrets, snapshot.Away = s, s.Away()
	}
	t.forget(snapshot)
	snapshot.Handling = t.backoffs.handling(time.Now())
	plan := Decide(snapshot)
	t.faults(plan)
	t.remember(live)
	changes, err := t.apply(ctx, plan)
	if changes != nil && !changes.Empty() {
		t.cycleAgain = true
		t.publish(changes)
		t.explain(ctx, changes)
	}
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return t.act(ctx, changes)
}

// act has done what the rows now say is to be done.
func (t *term) act(ctx context.Context, changes *store.Changes) error {
	t.release(ctx, changes)
	if err := t.sweep(ctx); err != nil {
		return fmt.Errorf("act: %w", err)
	}
	for _, l := range t.lanes {
		if t.async {
			notify(l.kick)
		} else {
			l.pass(ctx)
		}
	}
	return nil
}

// publish wakes who waits for what has just changed, and says it in the log.
func (t *term) publish(c *store.Changes) {
	topics := []string{store.TopicState}
	for _, a := range c.Allocations {
		topics = append(topics, store.AllocationTopic(a.ID))
		if a.Ended {
			t.log.Info("attempt ended", "term", t.lead.Term, "allocation_id", a.ID, "outcome", a.Outcome, "reason", a.ExitReason)
		}
	}
	for _, k := range c.Tasks {
		if k.Ended { // who follows its log looks whether that was all
			topics = append(topics, store.LogTopic(k.ID))
		}
	}
	for _, e := range c.Experiments {
		if e.State != e.Saw {
			t.log.Info("experiment moved", "term", t.lead.Term, "experiment_id", e.ID, "from", e.Saw, "to", e.State, "reason", e.Error)
		}
	}
	for _, p := range c.Placements {
		t.log.Info("attempt placed", "term", t.lead.Term, "allocation_id", p.AllocationID, "members", len(p.Members))
	}
	t.bus.Publish(topics...)
}

// remember keeps what the next observation needs to know of the rows.
func (t *term) remember(live *store.Live) {
	if live.Trust && !t.known.Trust { // somebody waits for what comes of it
		t.known.Full, t.cycleAgain = true, true
	}
	t.known.Live, t.known.Trust = nil, live.Trust
	for _, a := range live.Allocations {
		if a.SubmittedAt != nil {
			t.known.Live = append(t.known.Live, a.ID)
		}
	}
}
