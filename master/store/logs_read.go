package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/regex"
)

// LogRecord is a stored line.
type LogRecord struct {
	Number int64 // position in the task's log, from 1
	LogLine
	LogOrigin
}

// LogFilter chooses lines. Empty fields do not restrict.
type LogFilter struct {
	AllocationIDs []string
	AgentIDs      []string
	ContainerIDs  []string
	RankIDs       []int
	Levels        []int
	Sources       []string
	Stdtypes      []string
	Before        *time.Time // inclusive
	After         *time.Time // exclusive
	Search        string
	Regex         bool // Search is a regular expression; else a text, case-insensitive
	Part          *int // the number of a part of the task
}

// LogReader reads the lines of one task that a filter chooses.
type LogReader struct {
	s        *LogStore
	task     string
	filter   LogFilter
	pattern  *regex.Expression
	needle   string // the filter's Search in lower case
	levels   int
	log      *logTaskRow // nil until the task has a line
	originOf map[int]LogOrigin
	batch    int // chunks to read with the next query

	perCall  int64 // how much work the pattern may do in one call, as counted by regex.Expression.Work
	work     int64 // that the pattern may still do in this call
	part     int64 // the first line of a chunk that an earlier call has not read whole
	partRead int   // lines of it that were read
}

// ErrPause ends a call of a reader whose pattern has done the work of one call. The next call continues.
var ErrPause = errors.New("the work of matching is done for now")

// readWork is the work of the pattern in one call: about a second.
const readWork = 100_000_000

type logTaskRow struct {
	ID        int        `db:"id"`
	Class     int16      `db:"class"`
	Next      int64      `db:"next"`
	Since     time.Time  `db:"since"`
	ExpiredTo int64      `db:"expired_to"`
	ExpiredAt *time.Time `db:"expired_at"`
	logPart
}

// first is the first line that there is and that the reader may want. Those of the attempts of a part come after the part's beginning.
func (l *logTaskRow) first() int64 { return max(l.ExpiredTo, l.FromLine) }

const (
	chunkBatch      = 32       // chunks to read with one query
	firstChunkBatch = 4        // chunks of the first query of a reader, while their size is not known
	chunkBatchBytes = 64 << 10 // bytes of chunks, after which a query ends: they are in memory while the first of them is sent
)

// Reader returns a reader of a task's lines. It fails if the filter is invalid.
func (s *LogStore) Reader(task string, filter LogFilter) (*LogReader, error) {
	r := &LogReader{s: s, task: task, filter: filter, needle: strings.ToLower(filter.Search), originOf: map[int]LogOrigin{}, batch: firstChunkBatch, perCall: readWork}
	if filter.Regex && filter.Search != "" {
		var err error
		if r.pattern, err = regex.Compile(filter.Search); err != nil {
			return nil, fault.New(fault.Invalid, "searchText: %v", err)
		}
	}
	for _, l := range filter.Levels {
		r.levels |= 1 << l
	}
	if r.levels == 0 {
		r.levels = -1
	}
	return r, nil
}

// Forward calls fn with the stored lines from a number on, in order, also with none if no line of a chunk matches.
// It returns the number to continue from later; if fn fails, that of its first line or one before. A limit of 0 means
// none. While fn runs, the reader does not hold its lines. It fails with ErrPause after much work.
func (r *LogReader) Forward(ctx context.Context, from int64, limit int, fn func([]LogRecord) error) (next int64, err error) {
	if err := r.refresh(ctx); err != nil || r.log == nil {
		return from, err
	}
	from, r.work = max(from, r.log.first()), r.perCall
	for from < r.log.Next {
		chunks, more, err := r.chunks(ctx, `first >= $3 AND first < $4 ORDER BY first`, from, r.log.Next)
		if err != nil {
			return from, err
		}
		for i := range chunks {
			list, read, err := r.records(ctx, &chunks[i], false)
			if err != nil {
				return from, err
			}
			if limit > 0 && len(list) >= limit {
				return from, fn(list[:limit])
			}
			limit = max(0, limit-len(list))
			if err := fn(list); err != nil {
				return from, err
			}
			if read < chunks[i].Lines {
				return from, r.pause(chunks[i].First, read)
			}
			from = chunks[i].First + int64(chunks[i].Lines)
		}
		if !more {
			return r.log.Next, nil
		}
	}
	return from, nil
}

// Backward is Forward for the lines before a number, newest first; 0 stands for the end of the log.
func (r *LogReader) Backward(ctx context.Context, before int64, limit int, fn func([]LogRecord) error) (next int64, err error) {
	if err := r.refresh(ctx); err != nil || r.log == nil {
		return before, err
	}
	if before == 0 {
		before = r.log.Next
	}
	r.work = r.perCall
	for {
		chunks, more, err := r.chunks(ctx, `first >= $3 AND first < $4 ORDER BY first DESC`, r.log.first(), before)
		if err != nil {
			return before, err
		}
		for i := range chunks {
			list, read, err := r.records(ctx, &chunks[i], true)
			if err != nil {
				return before, err
			}
			if limit > 0 && len(list) >= limit {
				return before, fn(list[:limit])
			}
			limit = max(0, limit-len(list))
			if err := fn(list); err != nil {
				return before, err
			}
			if read < chunks[i].Lines {
				return before, r.pause(chunks[i].First, read)
			}
			before = chunks[i].First
		}
		if !more {
			return before, nil
		}
	}
}

// pause notes which lines of a chunk were read and passed on.
func (r *LogReader) pause(first int64, read int) error {
	r.part, r.partRead = first, read
	return ErrPause
}

// refresh reads how many lines the task has.
func (r *LogReader) refresh(ctx context.Context) error {
	list, err := database.Rows[logTaskRow](ctx, r.s.db.DB, `SELECT l.id, l.class, l.next, l.since, l.expired_to, l.expired_at, `+logPartColumns+`
		FROM log_tasks l `+logPartOf("l.task_id", "$2")+` WHERE l.task_id = $1`, r.task, r.filter.Part)
	if err == nil && len(list) > 0 {
		r.log = &list[0]
	}
	return err
}

// Deleted returns how many lines of the log were deleted because their retention had ended, and when
// the last of them were.
func (r *LogReader) Deleted(ctx context.Context) (lines int64, at time.Time, err error) {
	if err := r.refresh(ctx); err != nil || r.log == nil || r.log.ExpiredAt == nil {
		return 0, at, err
	}
	to := r.log.ExpiredTo
	if r.log.ToLine > 0 {
		to = min(to, r.log.ToLine)
	}
	return max(0, to-max(1, r.log.FromLine)), *r.log.ExpiredAt, nil
}

type chunkRow struct {
	First  int64  `db:"first"`
	Lines  int    `db:"lines"`
	Origin int    `db:"origin"`
	Body   []byte `db:"body"`
}

// chunks reads rows whose lines may match the filter, until they have chunkBatchBytes. The condition on the time of
// arrival excludes partitions that are older than the task's first line.
func (r *LogReader) chunks(ctx context.Context, which string, from, to int64) (found []chunkRow, more bool, err error) {
	var origins []int
	if f := r.filter; len(f.AllocationIDs)+len(f.AgentIDs)+len(f.ContainerIDs) > 0 {
		origins, err = database.Scalars[int](ctx, r.s.db.DB, `
			SELECT id FROM log_origins WHERE log_task = $1 AND (cardinality($2::text[]) = 0 OR allocation_id = ANY($2))
				AND (cardinality($3::text[]) = 0 OR agent_id = ANY($3)) AND (cardinality($4::text[]) = 0 OR container_id = ANY($4))`,
			r.log.ID, list(f.AllocationIDs), list(f.AgentIDs), list(f.ContainerIDs))
		if err != nil || len(origins) == 0 {
			return nil, false, err
		}
	}
	part, inside, outside := r.filter.Part, []int(nil), []int(nil)
	if !r.log.narrow() {
		part = nil
	} else if inside, outside, err = r.s.db.originsOf(ctx, r.task, r.log.ID, r.log.logPart); err != nil {
		return nil, false, err
	}
	limit := r.batch
	found, full, err := database.RowsUpTo[chunkRow](ctx, r.s.db.DB, chunkBatchBytes, `
		SELECT first, lines, origin, body FROM log_chunks
		WHERE class = $10 AND log_task = $1 AND arrived_at >= $2 AND ($5::int[] IS NULL OR origin = ANY($5)) AND levels & $6 <> 0
			AND ($7::timestamptz IS NULL OR earliest <= $7) AND ($8::timestamptz IS NULL OR latest > $8)
			AND ($11::int IS NULL OR origin = ANY($12::int[]) OR origin <> ALL($13::int[]) AND first >= $14 AND (first < $15 OR $15 = 0)) AND `+which+` LIMIT $9`,
		r.log.ID, r.log.Since, from, to, origins, r.levels, r.filter.Before, r.filter.After, limit, r.log.Class,
		part, inside, outside, r.log.FromLine, r.log.ToLine)
	if full {
		r.batch = max(1, len(found)) // PostgreSQL sends all that a query selects
	} else {
		r.batch = min(2*limit, chunkBatch)
	}
	return found, full || len(found) == limit, err
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// records unpacks a chunk, which it empties, and returns the lines that match the filter, with desc the
// last one first. read is the number of lines up to where the work for one call was done.
func (r *LogReader) records(ctx context.Context, c *chunkRow, desc bool) (out []LogRecord, read int, err error) {
	origin, ok := r.originOf[c.Origin]
	if !ok {
		type found struct {
			AllocationID string `db:"allocation_id"`
			AgentID      string `db:"agent_id"`
			ContainerID  string `db:"container_id"`
		}
		f, err := database.Row[found](ctx, r.s.db.DB, "origin of logs", `
			SELECT allocation_id, agent_id, container_id FROM log_origins WHERE id = $1`, c.Origin)
		if err != nil {
			return nil, 0, err
		}
		origin = LogOrigin(f)
		r.originOf[c.Origin] = origin
	}
	lines, err := r.s.codec.lines(c.Body)
	if c.Body = nil; err != nil {
		return r.unreadable(c, origin, err), c.Lines, nil
	}
	if c.First == r.part {
		read = r.partRead
	}
	out = make([]LogRecord, 0, len(lines)-read)
	for ; read < len(lines); read++ {
		i := read
		if desc {
			i = len(lines) - 1 - read
		}
		l := lines[i]
		if !r.matches(l) {
			continue
		}
		if r.pattern != nil {
			if !r.mayMatch(l.Text) {
				return out, read, nil
			}
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			if !r.pattern.MatchString(l.Text) {
				continue
			}
		}
		out = append(out, LogRecord{c.First + int64(i), l, origin})
	}
	return out, read, nil
}

// unreadable returns a line in the place of a chunk that cannot be read. The rest of the log, and the logs of others, can be.
func (r *LogReader) unreadable(c *chunkRow, origin LogOrigin, err error) []LogRecord {
	if r.s.firstOf(r.task, time.Now()) {
		r.s.bus.Log().Error("lines of a log cannot be read, and are left out", "task_id", r.task, "first", c.First, "lines", c.Lines, "error", err)
	}
	l := LogLine{At: r.log.Since, Level: warningLevel, Source: "master", Rank: -1, Text: fmt.Sprintf("lines that cannot be read: %d", c.Lines)}
	if r.pattern != nil || !r.matches(l) {
		return nil
	}
	return []LogRecord{{c.First, l, origin}}
}

// firstOf reports whether this is the first chunk of a task that cannot be read.
func (s *LogStore) firstOf(task string, now time.Time) bool {
	_, _, told := s.told.Get(task, now)
	s.told.Put(task, true, now)
	return !told
}

// mayMatch takes the work of a match from that of the call, which has room for several: so each call continues.
func (r *LogReader) mayMatch(text string) bool {
	work := r.pattern.Work(text)
	if work > r.work {
		return false
	}
	r.work -= work
	return true
}

// matches checks the filters that differ between the lines of a chunk, without the pattern.
func (r *LogReader) matches(l LogLine) bool {
	f := &r.filter
	switch {
	case r.levels&(1<<l.Level) == 0,
		len(f.RankIDs) > 0 && !slices.Contains(f.RankIDs, l.Rank),
		len(f.Sources) > 0 && !slices.Contains(f.Sources, l.Source),
		len(f.Stdtypes) > 0 && !slices.Contains(f.Stdtypes, l.Stdtype),
		f.Before != nil && l.At.After(*f.Before),
		f.After != nil && !l.At.After(*f.After):
		return false
	case r.pattern == nil && r.needle != "":
		return strings.Contains(strings.ToLower(l.Text), r.needle)
	}
	return true
}

// LogFields has the values that a client can filter a task's lines by.
type LogFields struct {
	AllocationIDs, AgentIDs, ContainerIDs, Sources, Stdtypes []string
	RankIDs                                                  []int
}

// LogFields reads the fields of a task's log. With a part, these are the attempts, nodes and containers of that part, and the kinds of
// lines of the whole log.
func (db *DB) LogFields(ctx context.Context, task string, part *int) (LogFields, error) {
	var f LogFields
	type kind struct {
		Stdtype string `db:"stdtype"`
		Source  string `db:"source"`
		Rank    int    `db:"rank"`
	}
	kinds, err := database.Rows[kind](ctx, db.DB, `
		SELECT stdtype, source, rank FROM log_kinds k JOIN log_tasks t ON t.id = k.log_task WHERE t.task_id = $1`, task)
	if err != nil {
		return f, err
	}
	type origin struct {
		AllocationID string `db:"allocation_id"`
		AgentID      string `db:"agent_id"`
		ContainerID  string `db:"container_id"`
	}
	origins, err := database.Rows[origin](ctx, db.DB, `
		SELECT o.allocation_id, o.agent_id, o.container_id FROM log_origins o JOIN log_tasks l ON l.id = o.log_task `+logPartOf("l.task_id", "$2")+`
		LEFT JOIN allocations a ON a.id = o.allocation_id AND a.task_id = l.task_id
		WHERE l.task_id = $1 AND (a.id IS NULL OR `+holdsRun("coalesce(p.first_run, 0)", "coalesce(q.first_run, 0)")+`)`, task, part)
	if err != nil {
		return f, err
	}
	for _, k := range kinds {
		f.Stdtypes, f.Sources = append(f.Stdtypes, k.Stdtype), append(f.Sources, k.Source)
		if k.Rank >= 0 {
			f.RankIDs = append(f.RankIDs, k.Rank)
		}
	}
	for _, o := range origins {
		f.AllocationIDs, f.AgentIDs = append(f.AllocationIDs, o.AllocationID), append(f.AgentIDs, o.AgentID)
		f.ContainerIDs = append(f.ContainerIDs, o.ContainerID)
	}
	for _, l := range []*[]string{&f.AllocationIDs, &f.AgentIDs, &f.ContainerIDs, &f.Sources, &f.Stdtypes} {
		slices.Sort(*l)
		*l = slices.DeleteFunc(slices.Compact(*l), func(s string) bool { return s == "" })
	}
	slices.Sort(f.RankIDs)
	f.RankIDs = slices.Compact(f.RankIDs)
	return f, nil
}

// logsGrace is how long a log stays open after the end of its task if a shipper has not
// reported its end, because its node was lost or the shipper was killed.
const logsGrace = 30 * time.Second

// LogsEnded reports whether the log of a task, or of a part of it, is complete: it has ended, and each shipper
// has reported its end or exceeded logsGrace.
func (db *DB) LogsEnded(ctx context.Context, task string, part *int) (bool, error) {
	type state struct {
		Ended bool `db:"ended"`
	}
	s, err := database.Row[state](ctx, db.DB, "task "+task, `
		SELECT (t.ended_at IS NOT NULL OR q.n IS NOT NULL) AND NOT EXISTS (
			SELECT 1 FROM allocations a JOIN members m ON m.allocation_id = a.id
			WHERE a.task_id = t.id AND `+holdsRun("coalesce(p.first_run, 0)", "coalesce(q.first_run, 0)")+`
				AND m.claimed_at IS NOT NULL AND NOT m.logs_done AND coalesce(a.ended_at, now()) > now() - $2::interval) AS ended
		FROM tasks t `+logPartOf("t.id", "$3")+` WHERE t.id = $1`, task, logsGrace, part)
	return s.Ended, err
}
