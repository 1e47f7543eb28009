package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/webhook"
)

const (
	maxLogBatches = 200              // batches of lines in one group commit
	maxTold       = 1000             // tasks
	flushTimeout  = 15 * time.Second // for one group commit; shorter than the timeout of the tasks' requests

	maxShipper  = 255     // bytes of a shipper's name
	maxShippers = 100_000 // of a task; a runner has one for each member of each attempt
	maxLabel    = 128     // bytes of a stdtype, a source, or a field of LogOrigin
	maxRank     = 1 << 20 // the highest rank of a line
)

// LogOrigin is the source of lines: attempt, node and container.
type LogOrigin struct {
	AllocationID string
	AgentID      string
	ContainerID  string
}

// LogBatch has the lines of one request.
type LogBatch struct {
	TaskID string
	Origin LogOrigin
	Lines  []LogLine
	// Shipper is the process that sends the lines. It numbers its lines, and First is the
	// number of the first line here; lines that are stored already are dropped. Without a
	// shipper all lines are new.
	Shipper string
	First   int64
	Done    bool // the shipper will send no more lines
	Rank    int  // the member whose log is complete then

	chunks []chunk
	kinds  map[logKind]bool // kinds of its lines
	hits   []LogHit         // lines that webhooks search for
	next   int64
}

// LogStore writes logs by group commit, and reads them. A master has one.
type LogStore struct {
	db    *DB
	bus   *database.Bus
	days  int // for which the lines of tasks are kept that say nothing else
	codec chunkCodec
	group *database.GroupCommit[string, *LogBatch]
	watch *logWatch
	told  *memory.Memory[string, bool] // tasks whose logs cannot be read whole, which the master's log says once

	mu    sync.Mutex // guards the fields below, which only the flush changes
	tasks map[string]*taskLabels
	known int // number of tasks, origins and kinds in tasks
}

// NewLogStore returns a LogStore. days is for how long lines are kept by default (LogsForever). It
// starts no goroutine until the first write; Wait waits for the last write.
func NewLogStore(db *DB, bus *database.Bus, days int) *LogStore {
	s := &LogStore{db: db, bus: bus, days: days, codec: newChunkCodec(), watch: newLogWatch(db), told: memory.New[string, bool](0, maxTold), tasks: map[string]*taskLabels{}}
	s.group = database.NewGroupCommit(maxLogBatches, logTaskOf, s.flush)
	return s
}

// logTaskOf returns the owner of a batch in the group commit.
func logTaskOf(b *LogBatch) string { return b.TaskID }

// check rejects values that no row can hold, before the batch joins a commit with others.
// It does not correct a shipper's name: under another name the shipper's numbers would
// begin again.
func (b *LogBatch) check() error {
	switch {
	case b.First < 0:
		return fault.New(fault.Invalid, "first: %d is negative", b.First)
	case b.First > math.MaxInt64/2:
		return fault.New(fault.Invalid, "first: %d is over %d", b.First, int64(math.MaxInt64/2))
	case len(b.Shipper) > maxShipper:
		return fault.New(fault.Invalid, "shipper: the name has %d bytes; %d are allowed", len(b.Shipper), maxShipper)
	case database.Text(b.Shipper) != b.Shipper:
		return fault.New(fault.Invalid, "shipper: a name with a NUL character or invalid UTF-8 cannot be stored")
	case database.Text(b.TaskID) != b.TaskID:
		return fault.New(fault.NotFound, "task %q not found", b.TaskID)
	}
	b.Origin = LogOrigin{clipLabel(b.Origin.AllocationID), clipLabel(b.Origin.AgentID), clipLabel(b.Origin.ContainerID)}
	return nil
}

// Append stores a batch and returns when it is committed. next is the number of the first
// line of its shipper that is not stored. A batch may begin with a higher number: then the
// shipper has lost the lines between, because its spool was full. A batch without lines
// only reads next.
func (s *LogStore) Append(ctx context.Context, b LogBatch) (next int64, err error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	s.sanitizeLines(&b) // here and not in the flush, so that callers do this in parallel
	b.chunks = s.codec.chunks(b.Lines)
	var tell bool
	if b.hits, tell, err = s.watch.hits(ctx, &b); err != nil {
		return 0, err
	}
	done, err := s.group.Do(ctx, &b)
	if err != nil {
		return 0, err
	}
	if len(b.hits) > 0 {
		s.watch.stored(b.TaskID, b.hits)
	}
	if tell {
		line := LogLine{At: b.Lines[0].At, Level: warningLevel, Stdtype: "stderr", Source: "master", Rank: -1, Text: notAllSearched}
		_, _ = s.Append(ctx, LogBatch{TaskID: b.TaskID, Lines: []LogLine{line}}) // the batch is stored, with or without this line
	}
	return done.next, nil
}

// Wait returns when all batches are written.
func (s *LogStore) Wait() { s.group.Wait() }

// sanitize returns a line that can be shown: without broken UTF-8, which JSON rejects, and without the
// newline at its end, which readers add again.
func sanitize(l LogLine) LogLine {
	l.Text = cutLine(strings.ToValidUTF8(strings.TrimSuffix(l.Text, "\n"), "\uFFFD"))
	l.Stdtype, l.Source = clipLabel(l.Stdtype), clipLabel(l.Source)
	l.Level = min(max(l.Level, 0), 6)
	if l.Rank < -1 || l.Rank > maxRank {
		l.Rank = -1
	}
	return l
}

// maxLine is the size of the longest line, in bytes. A chunk with a longer one could be too large to read.
const maxLine = 1 << 20

// cutLine shortens a line that is too long, and says so at its end.
func cutLine(text string) string {
	if len(text) <= maxLine {
		return text
	}
	end := maxLine
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s … (cut: the line had %d bytes)", text[:end], len(text))
}

// clipLabel shortens a label to the size that an index can hold.
func clipLabel(s string) string {
	s = database.Text(s)
	if len(s) <= maxLabel {
		return s
	}
	end := maxLabel
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// flush commits several batches. If the commit fails, it stores all batches but those that
// cause the failure. Cached ids of a deleted task can cause one, so flush reads them again.
func (s *LogStore) flush(batch []*database.Queued[*LogBatch]) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	database.CommitHalving(batch, logTaskOf, func(batch []*database.Queued[*LogBatch]) error {
		err := s.commit(ctx, batch)
		if err != nil && len(batch) == 1 && !fault.Is(err, fault.Unavailable) && s.forget(batch[0].Item.TaskID) {
			err = s.commit(ctx, batch)
		}
		return err
	})
	topics := map[string]bool{}
	for _, q := range batch {
		if q.Err == nil && !q.Again {
			topics[LogTopic(q.Item.TaskID)] = true
			if len(q.Item.hits) > 0 {
				topics[webhook.Topic] = true
			}
		}
	}
	s.bus.Publish(slices.Collect(maps.Keys(topics))...)
}

func (s *LogStore) commit(ctx context.Context, batch []*database.Queued[*LogBatch]) error {
	known, err := s.resolve(ctx, batch)
	if err != nil {
		return err
	}
	return s.db.GroupTx(ctx, func(tx *DB) error {
		shippers, err := tx.lockShippers(ctx, batch)
		if err != nil {
			return err
		}
		plan := logPlan{shippers: shippers, next: map[int]int64{}, bytes: map[int]int64{}, codec: s.codec}
		for _, q := range batch {
			q.Err = nil
			k, ok := known[q]
			if !ok {
				q.Err = fault.New(fault.NotFound, "task %s not found", q.Item.TaskID)
				continue
			}
			plan.add(q, k)
		}
		return tx.storeLogs(ctx, plan)
	})
}

// logPlan has the rows that one commit writes.
type logPlan struct {
	shippers map[shipperKey]*shipperRow
	next     map[int]int64 // log task → number of added lines
	bytes    map[int]int64 // log task → their size as it is stored
	chunks   []plannedChunk
	done     []memberRef
	fires    []logFire
	codec    chunkCodec
}

type plannedChunk struct {
	chunk
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

func (b *LogBatch) shipperKey() shipperKey { return shipperKey{b.TaskID, b.Shipper} }

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
func (p *logPlan) add(q *database.Queued[*LogBatch], k logRefs) {
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
			chunks = p.codec.chunks(b.Lines[s.Next-b.First:])
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
		p.fires = append(p.fires, logFire{b.TaskID, b.Origin.AgentID, b.hits})
	}
	for _, c := range chunks {
		p.chunks = append(p.chunks, plannedChunk{c, k.task.class, k.task.id, k.origin, p.next[k.task.id]})
		p.next[k.task.id] += int64(c.lines)
		p.bytes[k.task.id] += c.stored()
	}
}

// lockShippers locks the shippers of a batch, in the order of their keys. The numbers of a
// new shipper begin with its first batch and not at 0: after a restore from a backup, the
// database may lack a shipper that has sent lines before.
func (db *DB) lockShippers(ctx context.Context, batch []*database.Queued[*LogBatch]) (map[shipperKey]*shipperRow, error) {
	first := map[shipperKey]int64{}
	for _, q := range batch {
		if b := q.Item; b.Shipper != "" {
			if n, there := first[b.shipperKey()]; !there || b.First < n {
				first[b.shipperKey()] = b.First
			}
		}
	}
	if len(first) == 0 {
		return nil, nil
	}
	var tasks, names []string
	var nexts []int64
	for _, k := range slices.SortedFunc(maps.Keys(first), compareShippers) {
		tasks, names, nexts = append(tasks, k.task), append(names, k.shipper), append(nexts, first[k])
	}
	const lock = `
		SELECT s.shipper, s.task_id, s.next, s.done FROM log_shippers s
		JOIN unnest($1::text[], $2::text[]) AS u(t, n) ON s.task_id = u.t AND s.shipper = u.n
		ORDER BY s.task_id COLLATE "C", s.shipper COLLATE "C" FOR UPDATE OF s`
	list, err := database.Rows[shipperRow](ctx, db.DB, lock, tasks, names)
	if err != nil {
		return nil, err
	}
	if len(list) < len(names) {
		_, err := db.Exec(ctx, `
			INSERT INTO log_shippers (shipper, task_id, next)
			SELECT s, t, n FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u(s, t, n) JOIN tasks ON tasks.id = u.t
			WHERE (SELECT count(*) FROM log_shippers x WHERE x.task_id = u.t) < $4
			ORDER BY t COLLATE "C", s COLLATE "C" ON CONFLICT DO NOTHING`, names, tasks, nexts, maxShippers)
		if err != nil {
			return nil, err
		}
		if list, err = database.Rows[shipperRow](ctx, db.DB, lock, tasks, names); err != nil {
			return nil, err
		}
	}
	found := make(map[shipperKey]*shipperRow, len(list))
	for i := range list {
		found[shipperKey{list[i].TaskID, list[i].Shipper}] = &list[i]
	}
	return found, nil
}

// storeLogs writes a plan.
func (db *DB) storeLogs(ctx context.Context, p logPlan) error {
	if len(p.next) > 0 {
		if err := db.storeLines(ctx, p); err != nil {
			return err
		}
	}
	if err := db.advanceShippers(ctx, p.shippers); err != nil {
		return err
	}
	if err := db.fireLogs(ctx, p.fires); err != nil {
		return err
	}
	slices.SortFunc(p.done, func(a, b memberRef) int {
		return cmp.Or(cmp.Compare(a.allocation, b.allocation), cmp.Compare(a.rank, b.rank))
	})
	for _, m := range p.done {
		_, err := db.Exec(ctx, `UPDATE members SET logs_done = true WHERE allocation_id = $1 AND rank = $2 AND NOT logs_done`,
			m.allocation, m.rank)
		if err != nil {
			return err
		}
	}
	return nil
}

// storeLines writes the lines of a plan, as far as their logs have room. It numbers the lines of chunks while
// it holds locks on the rows of their tasks, which it locks in the order of ids until the commit.
func (db *DB) storeLines(ctx context.Context, p logPlan) error {
	tasks := slices.Sorted(maps.Keys(p.next))
	type counter struct {
		ID    int   `db:"id"`
		Next  int64 `db:"next"`
		Bytes int64 `db:"bytes"`
	}
	counters, err := database.Rows[counter](ctx, db.DB, `SELECT id, next, bytes FROM log_tasks WHERE id = ANY($1) ORDER BY id FOR UPDATE`, tasks)
	if err != nil {
		return err
	}
	if len(counters) != len(tasks) {
		return fault.New(fault.NotFound, "received logs of a deleted task")
	}
	base := map[int]int64{}
	var ids []int
	var nexts, bytes []int64
	for _, c := range counters {
		if p.cut(c.ID, c.Bytes, db.limits.Log); p.next[c.ID] == 0 {
			continue
		}
		base[c.ID] = c.Next
		ids, nexts, bytes = append(ids, c.ID), append(nexts, c.Next+p.next[c.ID]), append(bytes, p.bytes[c.ID])
	}
	if len(ids) == 0 {
		return nil
	}
	// emptied_at: the task of a log whose lines are all deleted has been continued.
	_, err = db.Exec(ctx, `UPDATE log_tasks SET next = u.n, bytes = bytes + u.b, emptied_at = NULL
		FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS u(id, n, b) WHERE log_tasks.id = u.id`, ids, nexts, bytes)
	if err != nil {
		return err
	}
	return db.insertChunks(ctx, p.chunks, base)
}

// advanceShippers stores the next line number of each shipper.
func (db *DB) advanceShippers(ctx context.Context, shippers map[shipperKey]*shipperRow) error {
	var tasks, names []string
	var nexts []int64
	var done []bool
	for _, s := range shippers {
		tasks, names, nexts, done = append(tasks, s.TaskID), append(names, s.Shipper), append(nexts, s.Next), append(done, s.Done)
	}
	if len(names) == 0 {
		return nil
	}
	_, err := db.Exec(ctx, `UPDATE log_shippers SET next = u.n, done = u.d
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[]) AS u(t, s, n, d)
		WHERE task_id = u.t AND shipper = u.s AND (next <> u.n OR done <> u.d)`, tasks, names, nexts, done)
	return err
}

func (db *DB) insertChunks(ctx context.Context, chunks []plannedChunk, base map[int]int64) error {
	n := len(chunks)
	classes, tasks, origins := make([]int16, n), make([]int, n), make([]int, n)
	firsts, lines, levels := make([]int64, n), make([]int, n), make([]int, n)
	earliest, latest, bodies := make([]time.Time, n), make([]time.Time, n), make([][]byte, n)
	for i, c := range chunks {
		classes[i], tasks[i], origins[i] = c.class, c.task, c.origin
		firsts[i], lines[i], levels[i] = base[c.task]+c.offset, c.lines, c.levels
		earliest[i], latest[i], bodies[i] = c.earliest, c.latest, c.body
	}
	_, err := db.Exec(ctx, `
		INSERT INTO log_chunks (class, log_task, origin, first, lines, levels, earliest, latest, body)
		SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[], $4::bigint[], $5::int[], $6::int[], $7::timestamptz[], $8::timestamptz[], $9::bytea[])`,
		classes, tasks, origins, firsts, lines, levels, earliest, latest, bodies)
	return err
}

// MemberOrigin returns the origin of a member's lines: its node, and its Nomad allocation
// as the container.
func (db *DB) MemberOrigin(ctx context.Context, allocation string, rank int) (LogOrigin, error) {
	type found struct {
		Node  string `db:"node_name"`
		Nomad string `db:"claimed_by"`
	}
	f, err := database.Row[found](ctx, db.DB, "member", `SELECT node_name, claimed_by FROM members WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
	return LogOrigin{allocation, f.Node, f.Nomad}, err
}
