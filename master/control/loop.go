package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/store"
)

// The loop's rhythm.
const (
	every      = 5 * time.Second       // at the latest
	atMost     = 20 * time.Millisecond // between the beginnings of two cycles
	afterError = time.Second
	observeFor = 10 * time.Second
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
	Pools  []Pool
	Timing lifecycle.Timing
	// Task makes the job's description of an attempt: pool, runner, masters.
	Task func(store.ToSubmit, *Pool) (jobspecs.Task, error)
	// Logs is where it is written why an attempt did not start; nil for nowhere.
	Logs *store.LogStore
	// Secrets is where credentials come from; nil where none are given out.
	Secrets Secrets
	// CollectIn names the pool in which files of an experiment are removed; nil for
	// its own.
	CollectIn func(store.Stored) (string, error)
	// AvoidAfter is after how many failures in a row an experiment avoids a node; 0
	// is never.
	AvoidAfter int
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
	lead   *Leadership
	folds  folds
	hands  *hands
	known  cluster.Known // for the next observation
	alarm  string
	balked balk              // experiments of which it could not be decided what goes
	swept  time.Time         // when what attempts have left was looked for
	listed bool              // all of Nomad's jobs were listed since the last sweep
	again  bool              // something changed: look once more at once
	aside  aside             // what could not be made as usual
	told   map[string]string // the faults that were logged, by key
}

// Run cycles until ctx ends.
func (l *Loop) Run(ctx context.Context, lead *Leadership) {
	t, err := newTerm(ctx, l, lead)
	if err != nil {
		l.log.Error("cannot begin to lead", "term", lead.Term, "error", err)
		return
	}
	defer l.stats.clear()
	defer t.hands.wait()
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
		case <-t.hands.done:
		case <-idle.C:
		}
		began := time.Now()
		wait := every
		if err := t.guarded(ctx); err != nil {
			if errors.Is(err, store.ErrNotLeader) || ctx.Err() != nil {
				return
			}
			l.log.Error("the control loop could not finish a cycle", "term", lead.Term, "error", err, "cause", errors.Unwrap(err))
			wait = afterError
		} else if t.again {
			wait = 0
		} else if next := t.aside.next(began); !next.IsZero() {
			wait = min(every, max(0, time.Until(next)))
		}
		l.stats.observe(time.Since(began))
		if rest := atMost - time.Since(began); rest > 0 && !sleep(ctx, rest) {
			return
		}
		idle.Reset(wait)
	}
}

func newTerm(ctx context.Context, l *Loop, lead *Leadership) (*term, error) {
	index, err := l.db.NomadIndex(ctx)
	if err != nil {
		return nil, err
	}
	t := &term{Loop: l, lead: lead, aside: aside{}, told: map[string]string{}, folds: folds{byID: map[int]*fold{}}, known: cluster.Known{Term: lead.Term, Index: uint64(index), Full: true}}
	t.hands = newHands(t)
	return t, nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
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
	t.again = false
	if err := t.observe(ctx); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	live, err := t.db.LoadLive(ctx, t.folds.seen())
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	picture := t.folds.picture(live)
	picture.Pools, picture.Timing, picture.Frozen = t.cfg.Pools, t.cfg.Timing, live.Alarm != ""
	picture.AvoidAfter = t.cfg.AvoidAfter
	if s := t.cfg.Secrets; s != nil {
		picture.Secrets, picture.Away = s, s.Away()
	}
	t.forget(picture)
	picture.Handling = t.aside.handling(time.Now())
	plan := Decide(picture)
	t.faults(plan)
	t.remember(live)
	changes, err := t.apply(ctx, plan)
	if changes != nil && !changes.Empty() {
		t.again = true
		t.tell(changes)
		t.explain(ctx, changes)
	}
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return t.act(ctx, live, changes)
}

// tell wakes who waits for what has just changed, and says it in the log.
func (t *term) tell(c *store.Changes) {
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

// observe writes down what Nomad says. A Nomad that does not answer stops
// nothing: what is wanted is still decided and stored.
func (t *term) observe(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, observeFor)
	defer cancel()
	o, err := t.nomad.Observe(call, t.known)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		o = cluster.Observation{Alarm: fmt.Sprintf("Nomad does not answer: %v", err)}
	}
	t.known.Full = err != nil // what is not stored must be told again
	if len(o.Tasks) == 0 && len(o.Gone) == 0 && o.Nodes == nil && o.Alarm == t.alarm && o.Index <= t.known.Index {
		return nil
	}
	if err := t.record(ctx, o); err != nil {
		t.known.Full = true
		return err
	}
	t.listed = t.listed || o.Full
	if t.alarm = o.Alarm; o.Alarm == "" {
		t.known.Index = t.reached(o)
	}
	return nil
}

// reached is the index below which Nomad must not fall from now on. An operator
// who trusts a restored Nomad trusts where it counts from as well.
func (t *term) reached(o cluster.Observation) uint64 {
	if t.known.Trust && o.Full {
		return o.Index
	}
	return max(t.known.Index, o.Index)
}

// record stores an observation.
func (t *term) record(ctx context.Context, o cluster.Observation) error {
	facts := memberFacts(o.Tasks)
	nodes, err := nodeRows(o.Nodes)
	if err != nil {
		return err
	}
	return t.db.Fenced(ctx, t.lead.Term, func(tx *store.DB) error {
		if err := tx.RecordFacts(ctx, facts); err != nil {
			return err
		}
		if err := tx.RecordGone(ctx, o.Gone); err != nil {
			return err
		}
		if o.Nodes != nil {
			if err := tx.RecordNodes(ctx, nodes); err != nil {
				return err
			}
		}
		if err := t.recordOrphans(ctx, tx, o); err != nil {
			return err
		}
		if o.Alarm == "" && o.Full {
			if err := tx.SetNomadIndex(ctx, int64(t.reached(o)), t.known.Trust); err != nil {
				return err
			}
		}
		changed, err := tx.SetAlarm(ctx, o.Alarm)
		if changed && o.Alarm != "" {
			t.log.Error("nothing is concluded from Nomad for now", "term", t.lead.Term, "reason", o.Alarm)
		} else if changed {
			t.log.Info("Nomad can be believed again", "term", t.lead.Term)
		}
		return err
	})
}

// remember keeps what the next observation needs to know of the rows.
func (t *term) remember(live *store.Live) {
	if live.Trust && !t.known.Trust { // somebody waits for what comes of it
		t.known.Full, t.again = true, true
	}
	t.known.Live, t.known.Trust = nil, live.Trust
	for _, a := range live.Allocations {
		if a.SubmittedAt != nil {
			t.known.Live = append(t.known.Live, a.ID)
		}
	}
}

// memberFacts turns Nomad's allocations into facts about members. A member has
// one Nomad allocation; a second one, or one that replaces another, says that
// Nomad lost the first.
func memberFacts(tasks []cluster.TaskFact) []store.MemberFact {
	type key struct {
		id   string
		rank int
	}
	first := map[key]int{}
	var facts []store.MemberFact
	for _, f := range tasks {
		k := key{f.AllocationID, f.Rank}
		fact := store.MemberFact{AllocationID: f.AllocationID, Rank: f.Rank, NomadAllocID: f.NomadAllocID, Status: f.Status,
			Detail: f.Detail, Index: int64(f.Index), Exit: f.ExitCode, Pulling: f.Pulling, Started: f.Started,
			Replaced: f.Previous != "", Over: f.Over()}
		i, ok := first[k]
		switch {
		case !ok:
			first[k] = len(facts)
			facts = append(facts, fact)
		case facts[i].NomadAllocID == f.NomadAllocID: // an older word about the same
			if facts[i].Index < fact.Index {
				facts[i] = fact
			}
		case f.Previous == "":
			fact.Replaced = true
			facts[i] = fact
		default:
			facts[i].Replaced = true
			facts[i].Index = max(facts[i].Index, fact.Index)
		}
	}
	return facts
}

func nodeRows(nodes []cluster.Node) ([]store.NodeRow, error) {
	var list []store.NodeRow
	for _, n := range nodes {
		inventory, err := json.Marshal(n)
		if err != nil {
			return nil, err
		}
		row := store.NodeRow{ID: n.ID, Name: n.Name, Address: n.Address, NodePool: n.NodePool, Datacenter: n.Datacenter,
			Version: n.Version, Status: n.Status, Eligible: n.Eligible, Draining: n.Draining, Inventory: inventory}
		if !n.DrainDeadline.IsZero() {
			row.DrainDeadline = &n.DrainDeadline
		}
		list = append(list, row)
	}
	return list, nil
}
