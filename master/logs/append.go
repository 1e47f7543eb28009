package logs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs/chunk"
	"github.com/detent-ml/detent/master/webhook"
)

const (
	maxBatches   = 200              // batches of lines in one group commit
	maxTold      = 1000             // tasks
	flushTimeout = 15 * time.Second // for one group commit; shorter than the timeout of the tasks' requests
)

// Store writes logs by group commit, and reads them. A master has one.
type Store struct {
	db    *database.DB
	bus   *database.Bus
	set   Settings
	codec chunk.Codec
	group *database.GroupCommit[string, *Batch]
	watch *watch
	told  *cache.Cache[string, bool] // tasks whose logs cannot be read whole, which the master's log says once

	mu    sync.Mutex // guards the fields below, which only the flush changes
	tasks map[string]*taskLabels
	known int // number of tasks, origins and kinds in tasks
}

// NewStore returns a Store. It starts no goroutine until the first write; Wait waits for the last write.
func NewStore(db *database.DB, bus *database.Bus, set Settings) *Store {
	s := &Store{db: db, bus: bus, set: set, codec: chunk.New(), watch: newWatch(db), told: cache.New[string, bool](0, maxTold), tasks: map[string]*taskLabels{}}
	s.group = database.NewGroupCommit(maxBatches, taskOf, s.flush)
	return s
}

// taskOf returns the owner of a batch in the group commit.
func taskOf(b *Batch) string { return b.TaskID }

// Append stores a batch and returns when it is committed. next is the number of the first
// line of its shipper that is not stored. A batch may begin with a higher number: then the
// shipper has lost the lines between, because its backlog was full. A batch without lines
// only reads next.
func (s *Store) Append(ctx context.Context, b Batch) (next int64, err error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	s.sanitizeLines(&b) // here and not in the flush, so that callers do this in parallel
	b.chunks = s.codec.Pack(b.Lines)
	var tell bool
	if !b.Past {
		if b.hits, tell, err = s.watch.hits(ctx, &b); err != nil {
			return 0, err
		}
	}
	done, err := s.group.Do(ctx, &b)
	if err != nil {
		return 0, err
	}
	if len(b.hits) > 0 {
		s.watch.stored(b.TaskID, b.hits)
	}
	if tell {
		line := Line{At: b.Lines[0].At, Level: warningLevel, Stdtype: "stderr", Source: "master", Rank: -1, Text: notAllSearched}
		_, _ = s.Append(ctx, Batch{TaskID: b.TaskID, Lines: []Line{line}}) // the batch is stored, with or without this line
	}
	return done.next, nil
}

// Wait returns when all batches are written.
func (s *Store) Wait() { s.group.Wait() }

// flush commits several batches. If the commit fails, it stores all batches but those that
// cause the failure. Cached ids of a deleted task can cause one, so flush reads them again.
func (s *Store) flush(batch []*database.Queued[*Batch]) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	database.CommitHalving(batch, taskOf, func(batch []*database.Queued[*Batch]) error {
		err := s.commit(ctx, batch)
		if err != nil && len(batch) == 1 && !fault.Is(err, fault.Unavailable) && s.forget(batch[0].Item.TaskID) {
			err = s.commit(ctx, batch)
		}
		return err
	})
	topics := map[string]bool{}
	for _, q := range batch {
		if q.Err == nil && !q.Again {
			topics[Topic(q.Item.TaskID)] = true
			if len(q.Item.hits) > 0 {
				topics[webhook.Topic] = true
			}
		}
	}
	s.bus.Publish(slices.Collect(maps.Keys(topics))...)
}

func (s *Store) commit(ctx context.Context, batch []*database.Queued[*Batch]) error {
	known, err := s.resolve(ctx, batch)
	if err != nil {
		return err
	}
	return s.db.GroupTx(ctx, func(tx *database.DB) error {
		shippers, err := lockShippers(ctx, tx, batch)
		if err != nil {
			return err
		}
		p := plan{shippers: shippers, next: map[int]int64{}, bytes: map[int]int64{}, codec: s.codec, limit: s.set.MaxBytes}
		for _, q := range batch {
			q.Err = nil
			k, ok := known[q]
			if !ok {
				q.Err = fault.New(fault.NotFound, "task %s not found", q.Item.TaskID)
				continue
			}
			p.add(q, k)
		}
		return storePlan(ctx, tx, p)
	})
}

// plan has the rows that one commit writes.
type plan struct {
	shippers map[shipperKey]*shipperRow
	next     map[int]int64 // log task → number of added lines
	bytes    map[int]int64 // log task → their size as it is stored
	chunks   []plannedChunk
	done     []memberRef
	fires    []fire
	codec    chunk.Codec
	limit    int64 // bytes of a log; 0: none
}

type plannedChunk struct {
	chunk.Chunk
	class        int16
	task, origin int
	offset       int64 // of its first line, from the task's next number
}

type memberRef struct {
	allocation string
	rank       int
}

// shipperKey identifies a shipper: its name is unique within its task only.
type shipperKey struct{ task, shipper string }

func (b *Batch) shipperKey() shipperKey { return shipperKey{b.TaskID, b.Shipper} }

func compareShippers(a, b shipperKey) int {
	return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.shipper, b.shipper))
}

type shipperRow struct {
	Shipper string `db:"shipper"`
	TaskID  string `db:"task_id"`
	Next    int64  `db:"next"`
	Done    bool   `db:"done"`
}

// add adds one batch to the plan, without the lines that its shipper has delivered before.
func (p *plan) add(q *database.Queued[*Batch], k refs) {
	b := q.Item
	chunks := b.chunks
	if b.Shipper != "" {
		s := p.shippers[b.shipperKey()]
		if s == nil { // the task was deleted a moment ago
			q.Err = fault.New(fault.NotFound, "task %s not found, or more than %d shippers have sent lines of its log", b.TaskID, maxShippers)
			return
		}
		switch end := b.First + int64(len(b.Lines)); {
		case end <= s.Next:
			chunks = nil
		case b.First < s.Next:
			chunks = p.codec.Pack(b.Lines[s.Next-b.First:])
			s.Next = end
		case len(b.Lines) > 0: // the shipper has lost the lines between the stored ones and these
			s.Next = end
		}
		b.next = s.Next
		if b.Done {
			s.Done = true
			p.done = append(p.done, memberRef{b.Origin.AllocationID, b.Rank})
		}
	}
	if len(b.hits) > 0 {
		p.fires = append(p.fires, fire{b.TaskID, b.Origin.AgentID, b.hits})
	}
	for _, c := range chunks {
		p.chunks = append(p.chunks, plannedChunk{c, k.task.class, k.task.id, k.origin, p.next[k.task.id]})
		p.next[k.task.id] += int64(c.Lines)
		p.bytes[k.task.id] += sizeOf(c)
	}
}
