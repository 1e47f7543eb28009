package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue/recent"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/search/budget"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook"
)

// When cycles run.
const (
	maxIdle        = 5 * time.Second        // maximum time between two cycles
	minCycleGap    = 20 * time.Millisecond  // minimum time between the starts of two cycles
	maxRest        = 250 * time.Millisecond // maximum pause between a cycle and one that only Nomad or the loop itself asked for
	afterError     = time.Second            // time between a failed cycle and the next
	observeTimeout = 10 * time.Second
)

// Nomad is the part of package cluster that the loop calls.
type Nomad interface {
	// Observe returns what changed since the last call, or the whole state.
	Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error)
	// Wake fires when there is something to observe.
	Wake() <-chan struct{}
	// Submit registers an attempt's job. It is idempotent.
	Submit(ctx context.Context, task jobspecs.Task) (cluster.Outcome, error)
	// Stop ends an attempt's job. It is idempotent.
	Stop(ctx context.Context, allocationID string) (cluster.Outcome, error)
	// WhyNotPlaced returns why Nomad did not place a job that it accepted; "" if it gives no reason.
	WhyNotPlaced(ctx context.Context, allocationID string) (string, error)
}

// Config is the master's configuration of the loop, and what the loop calls.
type Config struct {
	Pools  pool.Set
	Timing lifecycle.Timing
	Roles  accounts.Roles // roles decide what users may do
	// Task describes the job of an attempt: task.Site's Job.
	Task func(a task.Attempt, members []task.Placed, of *pool.Pool) (task.Job, error)
	// Logs stores lines about attempts that did not start, in the logs of their tasks; nil: no lines.
	Logs *logs.Store
	// Leftovers reads the files that attempts left on their nodes; nil: the loop reads none.
	Leftovers LeftoverReader
	// Region is the name of the master's own region of Nomad, for messages, and Regions are the others.
	Region  string
	Regions []Region
	// Exit stores the exit of a member that was read from such a file, as if its runner
	// had reported it.
	Exit func(ctx context.Context, from Member, exit v1.MemberExitRequest) error
	// Secrets grants credentials from Vault; nil: the cluster has no Vault.
	Secrets Secrets
	// UserSecrets are those that users may mount.
	UserSecrets task.Secrets
	// LaunchError: a trial ends in error, instead of waiting, if log policies leave no node of its pool that could hold it.
	LaunchError bool
	// AvoidAfter is the number of failures in a row on a node after which an experiment
	// avoids this node; 0: never.
	AvoidAfter int
	// Memory limits the memory of the searches of all live experiments together.
	Memory budget.Budget
	// Retention is that of logs; without a schedule the loop deletes none by itself.
	Retention LogRetention
	// Recording is how much of the recording of the queue is kept; without days nothing is recorded.
	Recording recording.Limits
	// Sweeps are the storages from which files that nobody reported are removed; "": none.
	Sweeps Sweeps
}

// Loop is the control loop of a leading master.
type Loop struct {
	cfg   Config
	db    *database.DB
	bus   *database.Bus
	nomad Nomad
	log   *slog.Logger
	stats stats
}

// New returns a loop; Run runs it for one term.
func New(cfg Config, db *database.DB, bus *database.Bus, nomad Nomad, log *slog.Logger) *Loop {
	return &Loop{cfg: cfg, db: db, bus: bus, nomad: nomad, log: log}
}

// term is the state of the loop during one term.
type term struct {
	*Loop
	lead         *Leadership
	load         func(ctx context.Context, known rows.Known) (*rows.Live, error)
	folds        folds
	calls        *calls
	results      *database.GroupCommit[string, *result]
	views        []*view       // one for each region of Nomad; the first is the master's own
	answered     chan struct{} // wakes the loop when a Nomad has answered
	woken        chan struct{} // … when there is something to observe in a Nomad
	cycled       chan struct{} // wakes wakeLanes when a cycle has ended
	places       places        // in which region the job of an attempt is
	swept        time.Time     // when Vault roles of ended attempts were last swept
	cycleAgain   bool          // something changed: the next cycle follows at once
	together     together
	backoffs     backoffs          // bundles that could not be stored
	loggedFaults map[string]string // the faults that were logged, by key
	lanes        []*lane
	keeper       *recording.Keeper
	used         *recent.Ledger // what was used lately; nil if no pool remembers
	async        bool           // calls to Nomad and queued work run in parallel to the cycle; false in tests
	began        time.Time
	noQueue      bool // the stored forecasts say that no pool has a queue; only foresee uses it
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
	t.calls.all.Go(func() { t.wakeLanes(ctx) })
	for _, lane := range t.lanes {
		t.calls.all.Go(func() { lane.run(ctx) })
	}
	t.calls.all.Go(func() { t.expireLogs(ctx) })
	t.calls.all.Go(func() { t.sweepFiles(ctx) })
	t.calls.all.Go(func() { t.measureQuotas(ctx) })
	t.calls.all.Go(func() { t.foresee(ctx) })
	t.calls.all.Go(func() { t.keepCountingUse(ctx) })
	t.calls.all.Go(func() { t.readSaves(ctx) })
	t.calls.all.Go(func() { t.expireRecording(ctx) })
	intent, cancelIntent := l.bus.Subscribe(lifecycle.TopicIntent)
	defer cancelIntent()
	events, cancelEvents := l.bus.Subscribe(lifecycle.TopicEvents)
	defer cancelEvents()
	for _, v := range t.views {
		t.calls.all.Go(func() { v.followWakes(ctx) })
	}
	idle := time.NewTimer(0)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-intent:
		case <-events:
		case <-t.woken:
			for _, v := range t.views {
				if v.woken.Swap(false) {
					v.startObserving(ctx)
				}
			}
			continue
		case <-t.answered:
			news := false
			for _, v := range t.views {
				news = v.receive(ctx) || news
			}
			if !news {
				continue
			}
		case <-t.calls.done:
		case <-idle.C:
		}
		began := time.Now()
		var wait time.Duration
		if err := t.guarded(ctx); err != nil {
			if errors.Is(err, database.ErrNotLeader) || ctx.Err() != nil {
				return
			}
			l.log.Error("the control loop could not finish a cycle", "term", lead.Term, "error", err, "cause", errors.Unwrap(err))
			wait = afterError
		} else {
			wait = t.untilNext(began)
		}
		took := time.Since(began)
		l.stats.observe(took)
		if sleep.For(ctx, minCycleGap-took) != nil {
			return
		}
		if rest(ctx, min(took, maxRest), intent, events) {
			wait = 0
		}
		idle.Reset(wait)
	}
}

// untilNext is the longest time until the next cycle, after one that began at a time.
func (t *term) untilNext(began time.Time) time.Duration {
	if t.cycleAgain {
		return 0
	}
	wait := maxIdle
	if next := t.backoffs.next(began); !next.IsZero() {
		wait = min(wait, max(0, time.Until(next)))
	}
	for _, v := range t.views {
		wait = min(wait, v.untilObserving())
	}
	return wait
}

// rest pauses after a cycle for as long as the cycle took: while thousands of jobs start, cycles would otherwise
// follow each other, and the calls that start the jobs would wait for a processor. A request of a user or an event
// of a search ends the pause, and rest returns true.
func rest(ctx context.Context, d time.Duration, intent, events <-chan struct{}) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	case <-intent:
		return true
	case <-events:
		return true
	}
	return false
}

func newTerm(ctx context.Context, l *Loop, lead *Leadership) (*term, error) {
	if err := l.db.Fenced(ctx, lead.Term, func(tx *database.DB) error { return rows.KeepRegions(ctx, tx, l.cfg.furtherRegions()) }); err != nil {
		return nil, fmt.Errorf("store the regions of the configuration: %w", err)
	}
	t := &term{Loop: l, lead: lead, load: rows.NewLiveCache(l.db).Load, backoffs: backoffs{}, loggedFaults: map[string]string{}, folds: folds{byID: map[int]*fold{}, budget: l.cfg.Memory}, began: time.Now(),
		answered: make(chan struct{}, 1), woken: make(chan struct{}, 1), cycled: make(chan struct{}, 1)}
	t.calls, t.results = newCalls(t), newResults(ctx, t)
	t.lanes = t.newLanes()
	t.used, t.keeper = recent.NewLedger(l.cfg.Pools), recording.NewKeeper(l.cfg.Recording.Days)
	first, cancel := context.WithTimeout(ctx, firstUse)
	defer cancel()
	t.countUse(first)
	return t, t.openViews(ctx)
}

// guarded runs a cycle and turns a panic into an error.
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
	for _, v := range t.views {
		if err := v.observe(ctx); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
	}
	live, err := t.load(ctx, rows.Known{Seen: t.folds.seen(), Choose: t.folds.choose})
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	snapshot := t.folds.snapshot(live)
	t.cycleAgain = t.cycleAgain || t.folds.pending
	snapshot.Pools, snapshot.Timing, snapshot.Frozen, snapshot.Regions = t.cfg.Pools, t.cfg.Timing, t.frozen(live), len(t.views)
	snapshot.used, snapshot.keeper = t.used.Use(), t.keeper
	snapshot.AvoidAfter, snapshot.LaunchError = t.cfg.AvoidAfter, t.cfg.LaunchError
	if s := t.cfg.Secrets; s != nil {
		snapshot.Secrets, snapshot.Away = s, s.Away()
	}
	t.forget(snapshot)
	snapshot.Handling = t.backoffs.handling(time.Now())
	plan := Decide(snapshot)
	t.stats.setDemand(plan.demand)
	t.faults(plan)
	t.remember(live)
	t.addRecording(plan, live.Now)
	changes, err := t.apply(ctx, plan)
	if changes != nil {
		t.keeper.Stored(len(changes.Recorded))
	}
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

// act starts the queued work, such as submissions and stops in Nomad.
func (t *term) act(ctx context.Context, changes *rows.Changes) error {
	t.release(ctx, changes)
	for _, v := range t.views {
		if err := v.sweep(ctx); err != nil {
			return fmt.Errorf("act: %w", err)
		}
	}
	if t.async {
		sleep.Wake(t.cycled)
		return nil
	}
	for _, l := range t.lanes {
		l.pass(ctx)
	}
	return nil
}

// publish wakes the subscribers to what has changed, and logs the changes.
func (t *term) publish(c *rows.Changes) {
	topics := []string{lifecycle.TopicState}
	for _, a := range c.Allocations {
		topics = append(topics, attempts.Topic(a.ID))
		if a.Ended {
			t.log.Info("attempt ended", "term", t.lead.Term, "allocation_id", a.ID, "outcome", a.Outcome, "reason", a.ExitReason)
		}
	}
	for _, k := range c.Tasks {
		if k.Ended { // clients that follow the task's log check whether it is complete
			topics = append(topics, logs.Topic(k.ID))
		}
	}
	for _, e := range c.Experiments {
		if e.State != e.Saw {
			topics = append(topics, webhook.Topic)
			t.log.Info("experiment moved", "term", t.lead.Term, "experiment_id", e.ID, "from", e.Saw, "to", e.State, "reason", e.Error)
		}
	}
	for _, p := range c.Placements {
		t.log.Info("attempt placed", "term", t.lead.Term, "allocation_id", p.AllocationID, "members", len(p.Members))
	}
	t.bus.Publish(topics...)
}
