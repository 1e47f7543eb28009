package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

const (
	batchesAtOnce = 200    // of logs, in one group commit
	knownLogs     = 20_000 // tasks, origins and kinds that are kept in memory
)

// LogOrigin is where lines come from.
type LogOrigin struct {
	AllocationID string
	AgentID      string
	ContainerID  string
}

// LogBatch is lines that arrived together.
type LogBatch struct {
	TaskID string
	Origin LogOrigin
	Lines  []LogLine
	// Shipper numbers its lines, and First is the number of the first one here:
	// what is in already is dropped. Without a shipper all lines are new.
	Shipper string
	First   int64
	Done    bool // no more will come from this shipper
	Rank    int  // of the member whose logs are done then

	chunks []chunk
	kinds  []logKindKey // of its lines, without the task
	next   int64
}

// LogStore writes logs by group commit and reads them back: one per master.
type LogStore struct {
	db    *DB
	bus   *Bus
	codec chunkCodec
	group *group[*LogBatch]

	mu      sync.Mutex
	tasks   map[string]logTask
	origins map[logOriginKey]int
	kinds   map[logKindKey]bool
}

type logTask struct {
	ID    int   `db:"id"`
	Class int16 `db:"class"`
}

type logOriginKey struct {
	task int
	LogOrigin
}

type logKindKey struct {
	task            int
	stdtype, source string
	rank            int
}

// NewLogStore makes one. It needs no start, and Wait is its end.
func NewLogStore(db *DB, bus *Bus) *LogStore {
	s := &LogStore{db: db, bus: bus, codec: newChunkCodec()}
	s.forget()
	s.group = newGroup(batchesAtOnce, s.flush)
	return s
}

func (s *LogStore) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks, s.origins, s.kinds = map[string]logTask{}, map[logOriginKey]int{}, map[logKindKey]bool{}
}

// Append stores a batch and returns once it is committed. next is the number of
// the first line of its shipper that is not in yet. A batch that begins later
// than that says that the shipper has lost the lines between, as a full spool
// does. A batch without lines asks for next.
func (s *LogStore) Append(ctx context.Context, b LogBatch) (next int64, err error) {
	if b.First < 0 {
		return 0, fault.New(fault.Invalid, "first: %d is negative", b.First)
	}
	last := logKindKey{rank: -2}
	for i := range b.Lines { // here and not in the flush, so that many do it at once
		b.Lines[i] = tidy(b.Lines[i])
		l := &b.Lines[i]
		k := logKindKey{stdtype: l.Stdtype, source: l.Source, rank: l.Rank}
		if k != last && !slices.Contains(b.kinds, k) {
			b.kinds = append(b.kinds, k)
		}
		last = k
	}
	b.chunks = s.codec.chunks(b.Lines)
	done, err := s.group.do(ctx, &b)
	if err != nil {
		return 0, err
	}
	return done.next, nil
}

// Wait returns when nothing is being written.
func (s *LogStore) Wait() { s.group.wait() }

// tidy makes a line that can be stored and shown: PostgreSQL takes no NUL, JSON
// no broken UTF-8, and the newline at the end is given back when it is read.
func tidy(l LogLine) LogLine {
	l.Text = strings.ToValidUTF8(strings.TrimSuffix(l.Text, "\n"), "\uFFFD")
	l.Stdtype, l.Source = label(l.Stdtype), label(l.Source)
	l.Level = min(max(l.Level, 0), 6)
	l.Rank = max(l.Rank, -1)
	return l
}

// label makes a word that can be stored in a column.
func label(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD") // itself, when it is valid
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// flush commits a batch of batches; when it fails for something in it, each is
// tried alone. What is remembered of tasks may be what failed: a task may have
// been deleted.
func (s *LogStore) flush(batch []*queued[*LogBatch]) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	err := s.commit(ctx, batch)
	switch {
	case err == nil:
	case fault.Is(err, fault.Unavailable):
		fail(batch, err)
		return
	default:
		s.forget()
		for i := range batch {
			if err := s.commit(ctx, batch[i:i+1]); err != nil {
				batch[i].err = err
			}
		}
	}
	topics := map[string]bool{}
	for _, q := range batch {
		if q.err == nil {
			topics[LogTopic(q.item.TaskID)] = true
		}
	}
	s.bus.Publish(slices.Collect(maps.Keys(topics))...)
}

func (s *LogStore) commit(ctx context.Context, batch []*queued[*LogBatch]) error {
	known, err := s.know(ctx, batch)
	if err != nil {
		return err
	}
	return s.db.Tx(ctx, func(tx *DB) error {
		shippers, err := tx.lockShippers(ctx, batch)
		if err != nil {
			return err
		}
		plan := logPlan{shippers: shippers, next: map[int]int64{}}
		for _, q := range batch {
			q.err = nil
			k, ok := known[q]
			if !ok {
				q.err = fault.New(fault.NotFound, "task %s not found", q.item.TaskID)
				continue
			}
			plan.add(q, k, s.codec)
		}
		return tx.storeLogs(ctx, plan)
	})
}

// knownLog is what the rows of a batch refer to.
type knownLog struct {
	task   logTask
	origin int
}

// know finds, and where needed makes, the numbers of tasks and origins. Batches
// of tasks that do not exist are not in the answer.
func (s *LogStore) know(ctx context.Context, batch []*queued[*LogBatch]) (map[*queued[*LogBatch]]knownLog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tasks)+len(s.origins)+len(s.kinds) > knownLogs {
		clear(s.tasks)
		clear(s.origins)
		clear(s.kinds)
	}
	if err := s.knowTasks(ctx, batch); err != nil {
		return nil, err
	}
	known := make(map[*queued[*LogBatch]]knownLog, len(batch))
	for _, q := range batch {
		task, ok := s.tasks[q.item.TaskID]
		if !ok {
			continue
		}
		key := logOriginKey{task.ID, q.item.Origin}
		if _, ok := s.origins[key]; !ok {
			id, err := s.db.logOrigin(ctx, key)
			if err != nil {
				return nil, err
			}
			s.origins[key] = id
		}
		if err := s.knowKinds(ctx, task.ID, q.item.kinds); err != nil {
			return nil, err
		}
		known[q] = knownLog{task, s.origins[key]}
	}
	return known, nil
}

func (s *LogStore) knowTasks(ctx context.Context, batch []*queued[*LogBatch]) error {
	missing := map[string]bool{}
	for _, q := range batch {
		if _, ok := s.tasks[q.item.TaskID]; !ok {
			missing[q.item.TaskID] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(missing))
	_, err := s.db.exec(ctx, `
		INSERT INTO log_tasks (task_id, class)
		SELECT t.id, coalesce((SELECT c.days FROM log_classes c
			WHERE c.days >= (e.config->'retention_policy'->>'log_retention_days')::int
				AND (e.config->'retention_policy'->>'log_retention_days')::int >= 0 AND c.days > 0
			ORDER BY c.days LIMIT 1), 0)
		FROM tasks t LEFT JOIN experiments e ON e.id = t.experiment_id
		WHERE t.id = ANY($1) ORDER BY t.id ON CONFLICT DO NOTHING`, ids)
	if err != nil {
		return err
	}
	type found struct {
		TaskID string `db:"task_id"`
		logTask
	}
	list, err := rows[found](ctx, s.db, `SELECT task_id, id, class FROM log_tasks WHERE task_id = ANY($1)`, ids)
	for _, f := range list {
		s.tasks[f.TaskID] = f.logTask
	}
	return err
}

func (db *DB) logOrigin(ctx context.Context, k logOriginKey) (int, error) {
	return scalar[int](ctx, db, `
		INSERT INTO log_origins (log_task, allocation_id, agent_id, container_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (log_task, allocation_id, agent_id, container_id) DO UPDATE SET agent_id = excluded.agent_id
		RETURNING id`, k.task, k.AllocationID, k.AgentID, k.ContainerID)
}

func (s *LogStore) knowKinds(ctx context.Context, task int, kinds []logKindKey) error {
	for _, k := range kinds {
		k.task = task
		if s.kinds[k] {
			continue
		}
		_, err := s.db.exec(ctx, `INSERT INTO log_kinds (log_task, stdtype, source, rank) VALUES ($1, $2, $3, $4)
			ON CONFLICT DO NOTHING`, k.task, k.stdtype, k.source, k.rank)
		if err != nil {
			return err
		}
		s.kinds[k] = true
	}
	return nil
}

// logPlan is what one commit writes.
type logPlan struct {
	shippers map[string]*shipperRow
	next     map[int]int64 // lines added, by log task
	chunks   []plannedChunk
	done     []memberRef
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

type shipperRow struct {
	Shipper string `db:"shipper"`
	TaskID  string `db:"task_id"`
	Next    int64  `db:"next"`
	Done    bool   `db:"done"`
}

// add plans one batch: it drops what its shipper has delivered before.
func (p *logPlan) add(q *queued[*LogBatch], k knownLog, codec chunkCodec) {
	b := q.item
	chunks := b.chunks
	if b.Shipper != "" {
		s := p.shippers[b.Shipper]
		if s == nil || s.TaskID != b.TaskID {
			q.err = fault.New(fault.Conflict, "shipper %s belongs to another task than %s", b.Shipper, b.TaskID)
			return
		}
		switch end := b.First + int64(len(b.Lines)); {
		case end <= s.Next:
			chunks = nil
		case b.First < s.Next:
			chunks = codec.chunks(b.Lines[s.Next-b.First:])
			s.Next = end
		case len(b.Lines) > 0: // what may be missing in between, the shipper has lost
			s.Next = end
		}
		b.next = s.Next
		if b.Done {
			s.Done = true
			p.done = append(p.done, memberRef{b.Origin.AllocationID, b.Rank})
		}
	}
	for _, c := range chunks {
		p.chunks = append(p.chunks, plannedChunk{c, k.task.Class, k.task.ID, k.origin, p.next[k.task.ID]})
		p.next[k.task.ID] += int64(c.lines)
	}
}

// lockShippers locks the shippers of a batch in the order of their names. One
// that is new begins where its first batch does: after a restored backup it
// may know of lines that we have lost.
func (db *DB) lockShippers(ctx context.Context, batch []*queued[*LogBatch]) (map[string]*shipperRow, error) {
	first := map[string]*LogBatch{}
	for _, q := range batch {
		if b := q.item; b.Shipper != "" && (first[b.Shipper] == nil || b.First < first[b.Shipper].First) {
			first[b.Shipper] = b
		}
	}
	if len(first) == 0 {
		return nil, nil
	}
	names := slices.Sorted(maps.Keys(first))
	list, err := rows[shipperRow](ctx, db, `
		SELECT shipper, task_id, next, done FROM log_shippers WHERE shipper = ANY($1) ORDER BY shipper FOR UPDATE`, names)
	if err != nil {
		return nil, err
	}
	if len(list) < len(names) {
		var tasks []string
		var nexts []int64
		for _, n := range names {
			tasks, nexts = append(tasks, first[n].TaskID), append(nexts, first[n].First)
		}
		_, err := db.exec(ctx, `
			INSERT INTO log_shippers (shipper, task_id, next)
			SELECT s, t, n FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u(s, t, n) JOIN tasks ON tasks.id = u.t
			ORDER BY s ON CONFLICT DO NOTHING`, names, tasks, nexts)
		if err != nil {
			return nil, err
		}
		list, err = rows[shipperRow](ctx, db, `
			SELECT shipper, task_id, next, done FROM log_shippers WHERE shipper = ANY($1) ORDER BY shipper FOR UPDATE`, names)
		if err != nil {
			return nil, err
		}
	}
	found := make(map[string]*shipperRow, len(list))
	for i := range list {
		found[list[i].Shipper] = &list[i]
	}
	return found, nil
}

// storeLogs writes a plan. Chunks get their numbers here, under the locks of
// their tasks' rows, which are taken in the order of ids and held to the end.
func (db *DB) storeLogs(ctx context.Context, p logPlan) error {
	tasks := slices.Sorted(maps.Keys(p.next))
	type counter struct {
		ID   int   `db:"id"`
		Next int64 `db:"next"`
	}
	if len(tasks) > 0 {
		counters, err := rows[counter](ctx, db, `SELECT id, next FROM log_tasks WHERE id = ANY($1) ORDER BY id FOR UPDATE`, tasks)
		if err != nil {
			return err
		}
		if len(counters) != len(tasks) {
			return fault.New(fault.NotFound, "a task whose logs came was deleted")
		}
		base := map[int]int64{}
		var ids []int
		var nexts []int64
		for _, c := range counters {
			base[c.ID] = c.Next
			ids, nexts = append(ids, c.ID), append(nexts, c.Next+p.next[c.ID])
		}
		_, err = db.exec(ctx, `UPDATE log_tasks SET next = u.n FROM unnest($1::int[], $2::bigint[]) AS u(id, n)
			WHERE log_tasks.id = u.id`, ids, nexts)
		if err != nil {
			return err
		}
		if err := db.insertChunks(ctx, p.chunks, base); err != nil {
			return err
		}
	}
	var names []string
	var nexts []int64
	var done []bool
	for _, s := range p.shippers {
		names, nexts, done = append(names, s.Shipper), append(nexts, s.Next), append(done, s.Done)
	}
	if len(names) > 0 {
		_, err := db.exec(ctx, `UPDATE log_shippers SET next = u.n, done = u.d
			FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS u(s, n, d)
			WHERE shipper = u.s AND (next <> u.n OR done <> u.d)`, names, nexts, done)
		if err != nil {
			return err
		}
	}
	slices.SortFunc(p.done, func(a, b memberRef) int {
		return cmp.Or(cmp.Compare(a.allocation, b.allocation), cmp.Compare(a.rank, b.rank))
	})
	for _, m := range p.done {
		_, err := db.exec(ctx, `UPDATE members SET logs_done = true WHERE allocation_id = $1 AND rank = $2 AND NOT logs_done`,
			m.allocation, m.rank)
		if err != nil {
			return err
		}
	}
	return nil
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
	_, err := db.exec(ctx, `
		INSERT INTO log_chunks (class, log_task, origin, first, lines, levels, earliest, latest, body)
		SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[], $4::bigint[], $5::int[], $6::int[], $7::timestamptz[], $8::timestamptz[], $9::bytea[])`,
		classes, tasks, origins, firsts, lines, levels, earliest, latest, bodies)
	return err
}

// MemberOrigin is where the lines of a member come from: its node, and its Nomad
// allocation, which stands for the container.
func (db *DB) MemberOrigin(ctx context.Context, allocation string, rank int) (LogOrigin, error) {
	type found struct {
		Node  string `db:"node_name"`
		Nomad string `db:"claimed_by"`
	}
	f, err := row[found](ctx, db, "member", `SELECT node_name, claimed_by FROM members WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
	return LogOrigin{allocation, f.Node, f.Nomad}, err
}
