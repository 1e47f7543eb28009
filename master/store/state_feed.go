package store

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/sleep"
)

const (
	stateMinPause   = 250 * time.Millisecond // between two reads, at least
	stateMaxPause   = 2 * time.Second        // between two reads when nothing was published
	stateHistory    = 256                    // changes that a reader who reconnects may have missed
	stateBuffer     = 64                     // changes that a slow reader may be behind
	stateRestFactor = 8                      // after a read follows a pause of at least so many times its duration
)

// TopicState wakes those who show states: the loop has changed something.
const TopicState = "state"

// StateFeed tells its readers on this master what changed: experiments, with what lists
// show of them, and whether tasks, the queue or nodes changed. One query serves all
// readers, and none runs while there are no readers. Its cost grows with what is live,
// not with what there ever was.
type StateFeed struct {
	db  *DB
	bus *Bus
	ctx context.Context // ends with the master

	mu      sync.Mutex
	readers map[*stateReader]struct{}
	epoch   string // of this run of the feed; numbers of another one mean nothing here
	seq     int64
	history []StateChange
	seen    *stateView // nil before the first look
	maxID   int        // the highest number of an experiment that was seen
	busy    bool
	wg      sync.WaitGroup
}

type stateReader struct {
	ch   chan StateChange
	gone bool
}

// ListedExperiment is what lists show of an experiment and can change.
type ListedExperiment struct {
	ID          int        `db:"id"`
	WorkspaceID int        `db:"workspace_id"`
	Shown       string     `db:"shown"`
	Name        string     `db:"name"`
	Archived    bool       `db:"archived"`
	Progress    *float64   `db:"progress"`
	Trials      int        `db:"trials"`
	Checkpoints int        `db:"checkpoints"`
	BestTrialID *int       `db:"best_trial_id"`
	BestMetric  *float64   `db:"best_metric"`
	EndedAt     *time.Time `db:"ended_at"`
	Seconds     int        `db:"seconds"`
	Error       string     `db:"error"`
	Inside      string     `db:"inside"` // changes when a trial or an attempt does
}

// A StateChange is what one read found different from the one before.
type StateChange struct {
	Seq         int64
	Experiments []ListedExperiment
	Gone        []ListedExperiment // as they were: rows that were removed, and experiments that left their workspace
	Tasks       bool               // something that is no trial began, moved or ended
	Queue       bool               // attempts, their order, or why they wait
	Nodes       bool
}

// StatePosition is a place among the changes of one run of a feed.
type StatePosition struct {
	Epoch string
	Seq   int64
}

// stateView is the result of one read.
type stateView struct {
	experiments         map[int]ListedExperiment
	tasks, queue, nodes string
	top                 int // the highest number of an experiment that there is
}

// NewStateFeed makes a feed that lives as long as ctx.
func NewStateFeed(ctx context.Context, db *DB, bus *Bus) *StateFeed {
	return &StateFeed{db: db, bus: bus, ctx: ctx, readers: map[*stateReader]struct{}{}}
}

// Watch returns the changes from now on. A reader that comes back says after what:
// it gets the changes in between, or missed true when they are not known any more,
// which is the case for a reader who is here for the first time as well. The
// channel is closed when the reader falls too far behind or the master stops.
func (f *StateFeed) Watch(after *StatePosition) (ch <-chan StateChange, now StatePosition, since []StateChange, missed bool, cancel func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.busy, f.seen, f.history, f.seq, f.maxID = true, nil, nil, 0, 0
		f.epoch = strconv.FormatInt(time.Now().UnixNano(), 36)
		f.wg.Go(f.run)
	}
	since, missed = f.after(after)
	r := &stateReader{ch: make(chan StateChange, stateBuffer)}
	f.readers[r] = struct{}{}
	return r.ch, StatePosition{f.epoch, f.seq}, since, missed, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.drop(r)
	}
}

// after needs the lock.
func (f *StateFeed) after(p *StatePosition) (since []StateChange, missed bool) {
	if p == nil || p.Epoch != f.epoch || p.Seq > f.seq || p.Seq < f.seq-int64(len(f.history)) {
		return nil, true
	}
	return slices.Clone(f.history[len(f.history)-int(f.seq-p.Seq):]), false
}

// drop needs the lock.
func (f *StateFeed) drop(r *stateReader) {
	if !r.gone {
		r.gone = true
		close(r.ch)
		delete(f.readers, r)
	}
}

// Wait returns when the feed has ended.
func (f *StateFeed) Wait() { f.wg.Wait() }

// run reads until there are no readers. While the database is away there is nothing to
// tell; the first read that succeeds is compared with the last one that did.
func (f *StateFeed) run() {
	wake := make(chan struct{}, 1)
	var waiting sync.WaitGroup
	done := make(chan struct{})
	for _, topic := range []string{TopicState, TopicIntent, TopicEvents} {
		ch, cancel := f.bus.Subscribe(topic)
		defer cancel()
		waiting.Go(func() { forwardWakes(ch, wake, done) })
	}
	defer waiting.Wait()
	defer close(done)
	for f.watched() {
		begin := time.Now()
		if s, err := f.read(); err == nil {
			f.compare(s)
		}
		if f.ctx.Err() != nil {
			f.dropAll()
			continue
		}
		_ = sleep.For(f.ctx, max(stateMinPause, stateRestFactor*time.Since(begin)))
		wait(f.ctx, wake, stateMaxPause)
	}
}

// forwardWakes forwards wake-ups until done.
func forwardWakes(from <-chan struct{}, to chan<- struct{}, done <-chan struct{}) {
	for {
		select {
		case <-from:
			select {
			case to <- struct{}{}:
			default:
			}
		case <-done:
			return
		}
	}
}

func (f *StateFeed) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		f.drop(r)
	}
}

func (f *StateFeed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = len(f.readers) > 0
	return f.busy
}

// read reads the states of what is live, of what was live at the last read, and of what
// came and went in between.
func (f *StateFeed) read() (*stateView, error) {
	f.mu.Lock()
	known, top := []int{}, f.maxID
	if f.seen != nil {
		known = append(known, slices.Sorted(maps.Keys(f.seen.experiments))...)
	} else {
		top = math.MaxInt32
	}
	f.mu.Unlock()
	return f.db.stateView(f.ctx, known, top)
}

// compare tells what has changed. Experiments that ended are told once more and then
// forgotten. The first read has nothing to compare with and tells everything: a reader
// may have read lists before it.
func (f *StateFeed) compare(s *stateView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.seen
	f.seen = &stateView{experiments: map[int]ListedExperiment{}, tasks: s.tasks, queue: s.queue, nodes: s.nodes}
	f.maxID = max(f.maxID, s.top)
	for id, e := range s.experiments {
		if !ended(e.Shown) {
			f.seen.experiments[id] = e
		}
	}
	c := StateChange{Seq: f.seq + 1}
	if last == nil {
		last, c.Tasks, c.Queue, c.Nodes = &stateView{}, true, true, true
	} else {
		c.Tasks, c.Queue, c.Nodes = s.tasks != last.tasks, s.queue != last.queue, s.nodes != last.nodes
	}
	for _, id := range slices.Sorted(maps.Keys(s.experiments)) {
		e := s.experiments[id]
		old, ok := last.experiments[id]
		if !ok || !old.same(e) {
			c.Experiments = append(c.Experiments, e)
		}
		if ok && old.WorkspaceID != e.WorkspaceID {
			c.Gone = append(c.Gone, old)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last.experiments)) {
		if _, ok := s.experiments[id]; !ok {
			c.Gone = append(c.Gone, last.experiments[id])
		}
	}
	if len(c.Experiments)+len(c.Gone) == 0 && !c.Tasks && !c.Queue && !c.Nodes {
		return
	}
	f.seq = c.Seq
	if f.history = append(f.history, c); len(f.history) > stateHistory {
		f.history = slices.Clone(f.history[1:])
	}
	for r := range f.readers {
		select {
		case r.ch <- c:
		default:
			f.drop(r)
		}
	}
}

// same leaves out what only time changes.
func (e ListedExperiment) same(o ListedExperiment) bool {
	return e.Shown == o.Shown && e.Name == o.Name && e.Archived == o.Archived && equal(e.Progress, o.Progress) && e.Trials == o.Trials &&
		e.Checkpoints == o.Checkpoints && equal(e.BestTrialID, o.BestTrialID) && equal(e.BestMetric, o.BestMetric) &&
		e.Error == o.Error && e.Inside == o.Inside && e.WorkspaceID == o.WorkspaceID
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func ended(shown string) bool {
	switch shown {
	case "COMPLETED", "CANCELED", "ERROR", "DELETE_FAILED":
		return true
	}
	return false
}

// stateView reads what is live, and what has become of those that were.
func (db *DB) stateView(ctx context.Context, known []int, above int) (*stateView, error) {
	type sums struct {
		Tasks string `db:"tasks"`
		Queue string `db:"queue"`
		Nodes string `db:"nodes"`
		Top   int    `db:"top"`
	}
	// First: what begins while the list is read is then looked for again.
	s, err := row[sums](ctx, db, "sums", `
		SELECT coalesce((SELECT md5(string_agg(concat_ws(' ', k.id, k.desired, a.state, a.is_ready, a.waiting_reason), ',' ORDER BY k.id))
				FROM tasks k LEFT JOIN allocations a ON a.task_id = k.id AND a.state <> 'TERMINATED'
				WHERE k.ended_at IS NULL AND k.type <> 'TRIAL'), '') AS tasks,
			coalesce((SELECT md5(string_agg(concat_ws(' ', a.id, a.state, a.priority, a.pool, e.place, k.place, a.waiting_reason), ',' ORDER BY a.id))
				FROM allocations a JOIN tasks k ON k.id = a.task_id LEFT JOIN experiments e ON e.id = k.experiment_id
				WHERE a.state <> 'TERMINATED'), '') AS queue,
			coalesce((SELECT md5(string_agg(concat_ws(' ', n.id, n.status, n.eligible, n.draining, n.enabled, n.drain_wanted, n.slots_off, n.inventory), ',' ORDER BY n.id))
				FROM nodes n), '') AS nodes,
			coalesce((SELECT max(id) FROM experiments), 0) AS top`)
	if err != nil {
		return nil, err
	}
	list, err := rows[ListedExperiment](ctx, db, `
		SELECT e.id, p.workspace_id, `+shownState+` AS shown, e.name, e.archived, CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE e.progress END AS progress,
			`+trialCount+` AS trials, c.checkpoints, e.best_trial_id, e.best_metric, e.ended_at,
			extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at)::int AS seconds, e.error,
			coalesce((SELECT md5(string_agg(concat_ws(' ', t.id, t.state, t.restarts, t.kill_wanted, t.error, a.id, a.state, a.is_ready, a.waiting_reason), ',' ORDER BY t.id))
				FROM trials t LEFT JOIN allocations a ON a.task_id = t.task_id AND a.state <> 'TERMINATED' WHERE t.experiment_id = e.id), '') AS inside
		FROM experiments e JOIN projects p ON p.id = e.project_id CROSS JOIN LATERAL (`+checkpointSums+`) c
		WHERE e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED') OR e.id = ANY($1) OR e.id > $2`, known, above)
	if err != nil {
		return nil, err
	}
	out := &stateView{experiments: make(map[int]ListedExperiment, len(list)), tasks: s.Tasks, queue: s.Queue, nodes: s.Nodes, top: s.Top}
	for _, e := range list {
		out.experiments[e.ID] = e
	}
	return out, nil
}
