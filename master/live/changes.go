package live

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	stateMinPause   = 250 * time.Millisecond // minimum time between two reads
	stateMaxPause   = 2 * time.Second        // time between two reads without a wake-up
	stateHistory    = 256                    // changes that are kept for readers that reconnect
	historyBytes    = 8 << 20                // and bytes of these changes
	stateBuffer     = 64                     // changes that may wait for a slow reader
	changeBytes     = 512 << 10              // of a larger change readers are told only that experiments changed
	listedBytes     = 250                    // of an experiment in a change, without its texts
	stateRestFactor = 8                      // the pause after a read is at least this many times as long as the read
)

// StateFeed sends changes to the streams of pages on this master: changed experiments, with
// the fields that lists show, and whether tasks, the queue or nodes changed. One query
// serves all readers, and none runs without readers. Its cost depends on the number of live
// experiments and tasks, not on all that exist.
type StateFeed struct {
	db  *database.DB
	bus *database.Bus
	ctx context.Context // ends with the master
	log *slog.Logger

	mu      sync.Mutex
	readers map[*stateReader]struct{}
	epoch   string // identifies this run of the feed; positions of another run are not valid
	seq     int64
	history []StateChange
	kept    int        // bytes of history
	seen    *stateView // result of the last read; nil before the first
	maxID   int        // the highest id of an experiment so far
	busy    bool
	wg      sync.WaitGroup
}

type stateReader struct {
	ch   chan StateChange
	gone bool
}

// ListedExperiment has the fields of an experiment that lists show and that can change.
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
	Inside      string     `db:"inside"` // a value that changes when a trial or an attempt changes
}

// A StateChange has the differences between two reads.
type StateChange struct {
	Seq         int64
	Experiments []ListedExperiment
	Gone        []ListedExperiment // deleted experiments, and the old state of those that moved to another workspace
	Many        bool               // so many experiments changed that Experiments and Gone are empty
	Tasks       bool               // a task that is not a trial was created, changed or ended
	Queue       bool               // attempts, their order, or why they wait, changed
	Nodes       bool

	size int // estimated bytes
}

// StatePosition is a position in the changes of one run of a feed.
type StatePosition struct {
	Epoch string
	Seq   int64
}

// stateView is the result of one read.
type stateView struct {
	experiments         map[int]ListedExperiment
	tasks, queue, nodes string
	top                 int // the highest id of an experiment
}

// NewStateFeed returns a feed that runs until ctx ends.
func NewStateFeed(ctx context.Context, db *database.DB, bus *database.Bus, log *slog.Logger) *StateFeed {
	return &StateFeed{db: db, bus: bus, ctx: ctx, log: log, readers: map[*stateReader]struct{}{}}
}

// Watch returns a channel with the changes from now on. A reader that reconnects passes its
// last position, and gets the changes since then. missed is true if these are not kept any
// more, and for a new reader. The feed closes the channel if the reader is too slow or the
// master stops.
func (f *StateFeed) Watch(after *StatePosition) (ch <-chan StateChange, now StatePosition, since []StateChange, missed bool, cancel func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.busy, f.seen, f.history, f.kept, f.seq, f.maxID = true, nil, nil, 0, 0, 0
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

// after returns the changes after a position. The caller holds the lock.
func (f *StateFeed) after(p *StatePosition) (since []StateChange, missed bool) {
	if p == nil || p.Epoch != f.epoch || p.Seq > f.seq || p.Seq < f.seq-int64(len(f.history)) {
		return nil, true
	}
	return slices.Clone(f.history[len(f.history)-int(f.seq-p.Seq):]), false
}

// drop removes a reader. The caller holds the lock.
func (f *StateFeed) drop(r *stateReader) {
	if !r.gone {
		r.gone = true
		close(r.ch)
		delete(f.readers, r)
	}
}

// Wait returns when the feed has ended.
func (f *StateFeed) Wait() { f.wg.Wait() }

// run reads until there are no readers. If reads fail, it compares the next successful read
// with the last successful one.
func (f *StateFeed) run() {
	wake := make(chan struct{}, 1)
	var waiting sync.WaitGroup
	done := make(chan struct{})
	for _, topic := range []string{lifecycle.TopicState, lifecycle.TopicIntent, lifecycle.TopicEvents} {
		ch, cancel := f.bus.Subscribe(topic)
		defer cancel()
		waiting.Go(func() { forwardWakes(ch, wake, done) })
	}
	defer waiting.Wait()
	defer close(done)
	failing := false
	for f.watched() {
		begin := time.Now()
		s, err := f.read()
		if err == nil {
			f.compare(s)
		} else if !failing && f.ctx.Err() == nil {
			f.log.Error("pages are not told of changes, because they could not be read; the master tries again", "error", err)
		}
		failing = err != nil
		if f.ctx.Err() != nil {
			f.dropAll()
			continue
		}
		_ = sleep.For(f.ctx, max(stateMinPause, stateRestFactor*time.Since(begin)))
		sleep.UntilWoken(f.ctx, wake, stateMaxPause)
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

// read reads the experiments that are live, that were live at the last read, and that were
// created since.
func (f *StateFeed) read() (*stateView, error) {
	f.mu.Lock()
	known, top := []int{}, f.maxID
	if f.seen != nil {
		known = append(known, slices.Sorted(maps.Keys(f.seen.experiments))...)
	} else {
		top = math.MaxInt32
	}
	f.mu.Unlock()
	return readState(f.ctx, f.db, known, top)
}

// compare sends the differences to the last read. An ended experiment is sent once more and
// then dropped. After the first read everything counts as changed, because readers may
// have loaded their lists before it.
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
	c.limit()
	f.seq = c.Seq
	f.keep(c)
	for r := range f.readers {
		select {
		case r.ch <- c:
		default:
			f.drop(r)
		}
	}
}

// limit drops the experiments of a change that has too many.
func (c *StateChange) limit() {
	for _, list := range [][]ListedExperiment{c.Experiments, c.Gone} {
		for _, e := range list {
			c.size += listedBytes + len(e.Name) + len(e.Error) + len(e.Inside)
		}
	}
	if c.size > changeBytes {
		c.Experiments, c.Gone, c.Many, c.size = nil, nil, true, 0
	}
}

// keep adds a change to the history, and drops the oldest ones beyond its limits. The caller holds the lock.
func (f *StateFeed) keep(c StateChange) {
	f.history, f.kept = append(f.history, c), f.kept+c.size
	drop := 0
	for ; len(f.history)-drop > stateHistory || f.kept > historyBytes; drop++ {
		f.kept -= f.history[drop].size
	}
	if drop > 0 {
		f.history = slices.Clone(f.history[drop:])
	}
}

// same compares two states of an experiment, without fields that change by time alone.
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

// readState reads the live experiments, those in known, and those with higher ids than above.
func readState(ctx context.Context, db *database.DB, known []int, above int) (*stateView, error) {
	type sums struct {
		Tasks string `db:"tasks"`
		Queue string `db:"queue"`
		Nodes string `db:"nodes"`
		Top   int    `db:"top"`
	}
	// Read the sums first: a change during the next query then shows at the next read.
	s, err := database.Row[sums](ctx, db, "sums", `
		SELECT coalesce((SELECT md5(string_agg(concat_ws(' ', k.id, k.desired, a.state, a.is_ready, a.waiting_reason), ',' ORDER BY k.id))
				FROM tasks k LEFT JOIN allocations a ON a.task_id = k.id AND a.state <> 'TERMINATED'
				WHERE k.ended_at IS NULL AND k.type <> 'TRIAL'), '') AS tasks,
			coalesce((SELECT md5(string_agg(concat_ws(' ', a.id, a.state, a.priority, a.pool, e.queue_time, k.queue_time, a.waiting_reason), ',' ORDER BY a.id))
				FROM allocations a JOIN tasks k ON k.id = a.task_id LEFT JOIN experiments e ON e.id = k.experiment_id
				WHERE a.state <> 'TERMINATED'), '') AS queue,
			coalesce((SELECT md5(string_agg(concat_ws(' ', n.id, n.status, n.eligible, n.draining, n.enabled, n.drain_wanted, n.disabled_slots, n.inventory), ',' ORDER BY n.id))
				FROM nodes n), '') AS nodes,
			coalesce((SELECT max(id) FROM experiments), 0) AS top`)
	if err != nil {
		return nil, err
	}
	list, err := database.Rows[ListedExperiment](ctx, db, `
		SELECT e.id, p.workspace_id, `+experiments.ShownState+` AS shown, left(e.name, 1000) AS name, e.archived, CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE e.progress END AS progress,
			`+experiments.TrialCount+` AS trials, c.checkpoints, e.best_trial_id, e.best_metric, e.ended_at,
			extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at)::int AS seconds, left(e.error, 1000) AS error,
			coalesce((SELECT md5(string_agg(concat_ws(' ', t.id, t.state, t.restarts, t.kill_wanted, t.error, a.id, a.state, a.is_ready, a.waiting_reason), ',' ORDER BY t.id))
				FROM trials t LEFT JOIN allocations a ON a.task_id = t.task_id AND a.state <> 'TERMINATED' WHERE t.experiment_id = e.id), '') AS inside
		FROM experiments e JOIN projects p ON p.id = e.project_id CROSS JOIN LATERAL (`+experiments.CheckpointSums+`) c
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
