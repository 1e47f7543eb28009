package logs

import (
	"cmp"
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

// Record is a stored line.
type Record struct {
	Number int64 // position in the task's log, from 1
	Line
	Origin
}

// Filter chooses lines. Empty fields do not restrict.
type Filter struct {
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

// Reader reads the lines of one task that a filter chooses.
type Reader struct {
	s        *Store
	task     string
	filter   Filter
	pattern  *regex.Expression
	needle   string // the filter's Search in lower case
	levels   int
	log      *taskRow // nil until the task has a line
	originOf map[int]Origin
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

type taskRow struct {
	ID        int        `db:"id"`
	Class     int16      `db:"class"`
	Next      int64      `db:"next"`
	Since     time.Time  `db:"since"`
	ExpiredTo int64      `db:"expired_to"`
	ExpiredAt *time.Time `db:"expired_at"`
	part
}

// first is the first line that there is and that the reader may want. Those of the attempts of a part come after the part's beginning.
func (l *taskRow) first() int64 { return max(l.ExpiredTo, l.FromLine) }

const (
	chunkBatch      = 32       // chunks to read with one query
	firstChunkBatch = 4        // chunks of the first query of a reader, while their size is not known
	chunkBatchBytes = 64 << 10 // bytes of chunks, after which a query ends: they are in memory while the first of them is sent
)

// Reader returns a reader of a task's lines. It fails if the filter is invalid.
func (s *Store) Reader(task string, filter Filter) (*Reader, error) {
	r := &Reader{s: s, task: task, filter: filter, needle: strings.ToLower(filter.Search), originOf: map[int]Origin{}, batch: firstChunkBatch, perCall: readWork}
	if filter.Regex && filter.Search != "" {
		var err error
		if r.pattern, err = regex.Compile(filter.Search); err != nil {
			return nil, fault.New(fault.Invalid, "searchText: %v", err)
		}
	}
	for _, l := range filter.Levels {
		r.levels |= 1 << l
	}
	r.levels = cmp.Or(r.levels, -1)
	return r, nil
}

// Forward calls fn with the stored lines from a number on, in order, also with none if no line of a chunk matches.
// It returns the number to continue from later; if fn fails, that of its first line or one before. A limit of 0 means
// none. While fn runs, the reader does not hold its lines. It fails with ErrPause after much work.
func (r *Reader) Forward(ctx context.Context, from int64, limit int, fn func([]Record) error) (next int64, err error) {
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
func (r *Reader) Backward(ctx context.Context, before int64, limit int, fn func([]Record) error) (next int64, err error) {
	if err := r.refresh(ctx); err != nil || r.log == nil {
		return before, err
	}
	before = cmp.Or(before, r.log.Next)
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
func (r *Reader) pause(first int64, read int) error {
	r.part, r.partRead = first, read
	return ErrPause
}

// refresh reads how many lines the task has.
func (r *Reader) refresh(ctx context.Context) error {
	list, err := database.Rows[taskRow](ctx, r.s.db, `SELECT l.id, l.class, l.next, l.since, l.expired_to, l.expired_at, `+partColumns+`
		FROM log_tasks l `+partOf("l.task_id", "$2")+` WHERE l.task_id = $1`, r.task, r.filter.Part)
	if err == nil && len(list) > 0 {
		r.log = &list[0]
	}
	return err
}

// Deleted returns how many lines of the log were deleted because their retention had ended, and when
// the last of them were.
func (r *Reader) Deleted(ctx context.Context) (lines int64, at time.Time, err error) {
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
func (r *Reader) chunks(ctx context.Context, which string, from, to int64) (found []chunkRow, more bool, err error) {
	var origins []int // the texts below are never NULL, because those that are empty choose all
	if f := r.filter; len(f.AllocationIDs)+len(f.AgentIDs)+len(f.ContainerIDs) > 0 {
		origins, err = database.Scalars[int](ctx, r.s.db, `
			SELECT id FROM log_origins WHERE log_task = $1 AND (cardinality($2::text[]) = 0 OR allocation_id = ANY($2))
				AND (cardinality($3::text[]) = 0 OR agent_id = ANY($3)) AND (cardinality($4::text[]) = 0 OR container_id = ANY($4))`,
			r.log.ID, append([]string{}, f.AllocationIDs...), append([]string{}, f.AgentIDs...), append([]string{}, f.ContainerIDs...))
		if err != nil || len(origins) == 0 {
			return nil, false, err
		}
	}
	part, inside, outside := r.filter.Part, []int(nil), []int(nil)
	if !r.log.narrow() {
		part = nil
	} else if inside, outside, err = originsOf(ctx, r.s.db, r.task, r.log.ID, r.log.part); err != nil {
		return nil, false, err
	}
	limit := r.batch
	found, full, err := database.RowsUpTo[chunkRow](ctx, r.s.db, chunkBatchBytes, `
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

// records unpacks a chunk and returns its lines that match the filter, with desc in reverse order. It releases the
// packed bytes. read is the number of lines that it has read when one call has done its part of the work.
func (r *Reader) records(ctx context.Context, c *chunkRow, desc bool) (out []Record, read int, err error) {
	origin, ok := r.originOf[c.Origin]
	if !ok {
		origin, err = database.Row[Origin](ctx, r.s.db, "origin of logs", `
			SELECT allocation_id, agent_id, container_id FROM log_origins WHERE id = $1`, c.Origin)
		if err != nil {
			return nil, 0, err
		}
		r.originOf[c.Origin] = origin
	}
	lines, err := r.s.codec.Lines(c.Body)
	if c.Body = nil; err != nil {
		return r.unreadable(c, origin, err), c.Lines, nil
	}
	if c.First == r.part {
		read = r.partRead
	}
	out = make([]Record, 0, len(lines)-read)
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
		out = append(out, Record{c.First + int64(i), l, origin})
	}
	return out, read, nil
}

// unreadable returns a line in the place of a chunk that cannot be read. The rest of the log, and the logs of others, can be.
func (r *Reader) unreadable(c *chunkRow, origin Origin, err error) []Record {
	if r.s.firstOf(r.task, time.Now()) {
		r.s.bus.Log().Error("lines of a log cannot be read, and are left out", "task_id", r.task, "first", c.First, "lines", c.Lines, "error", err)
	}
	l := Line{At: r.log.Since, Level: warningLevel, Source: "master", Rank: -1, Text: fmt.Sprintf("lines that cannot be read: %d", c.Lines)}
	if r.pattern != nil || !r.matches(l) {
		return nil
	}
	return []Record{{c.First, l, origin}}
}

// firstOf reports whether this is the first chunk of a task that cannot be read.
func (s *Store) firstOf(task string, now time.Time) bool {
	_, _, told := s.told.Get(task, now)
	s.told.Put(task, true, now)
	return !told
}

// mayMatch takes the work of a match from that of the call, which has room for several: so each call continues.
func (r *Reader) mayMatch(text string) bool {
	work := r.pattern.Work(text)
	if work > r.work {
		return false
	}
	r.work -= work
	return true
}

// matches checks the filters that differ between the lines of a chunk, without the pattern.
func (r *Reader) matches(l Line) bool {
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
