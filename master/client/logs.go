package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// LogQuery filters a log. Zero fields have no effect.
type LogQuery struct {
	Follow      bool // read until the task has ended and its last line was read
	Limit       int
	Descending  bool // newest first
	Agents      []string
	Allocations []string // only for the log of a task
	Containers  []string
	Ranks       []int
	Levels      []v1.LogLevel
	Sources     []string
	Stdtypes    []string
	Before      time.Time
	After       time.Time
	Search      string
	Regex       bool

	// Deleted is called before the first line if lines of the log were deleted because their
	// retention had ended.
	Deleted func(lines int64, at time.Time)
}

func (l LogQuery) request() *v1.GetLogsRequest {
	r := &v1.GetLogsRequest{Follow: l.Follow, Limit: l.Limit, AgentIDs: l.Agents, AllocationIDs: l.Allocations, ContainerIDs: l.Containers,
		RankIDs: l.Ranks, Sources: l.Sources, Stdtypes: l.Stdtypes, SearchText: l.Search, EnableRegex: l.Regex}
	if l.Descending {
		r.OrderBy = "ORDER_BY_DESC"
	}
	r.Levels = each.Of(l.Levels, func(level v1.LogLevel) string { return string(level) })
	if !l.Before.IsZero() {
		r.TimestampBefore = &l.Before
	}
	if !l.After.IsZero() {
		r.TimestampAfter = &l.After
	}
	return r
}

// A LogRecord is a line of a log. Most callers only print Message, so the rest is not decoded.
type LogRecord struct {
	ID        string
	Timestamp time.Time
	Message   string          // with its newline
	Raw       json.RawMessage // the whole record: a v1.TrialLogsResponse or v1.TaskLogsResponse
}

// TrialLogs reads the log of a trial.
func (c *Client) TrialLogs(ctx context.Context, id int, query LogQuery) iter.Seq2[LogRecord, error] {
	return c.logs(ctx, callOf(v1.StreamTrialLogs, id), query)
}

// TaskLogs reads the log of any task.
func (c *Client) TaskLogs(ctx context.Context, id string, query LogQuery) iter.Seq2[LogRecord, error] {
	return c.logs(ctx, callOf(v1.StreamTaskLogs, id), query)
}

func (c *Client) logs(ctx context.Context, k call, query LogQuery) iter.Seq2[LogRecord, error] {
	if query.Follow && c.opts.Patience > 0 {
		return c.follow(ctx, k, query)
	}
	return c.readLogs(ctx, k, query)
}

func (c *Client) readLogs(ctx context.Context, k call, query LogQuery) iter.Seq2[LogRecord, error] {
	k.query = queryOf(query.request())
	if query.Deleted != nil {
		k.answered = func(h http.Header) {
			lines, err := strconv.ParseInt(h.Get(v1.LogsDeletedHeader), 10, 64)
			at, timeErr := time.Parse(time.RFC3339, h.Get(v1.LogsDeletedAtHeader))
			if err == nil && timeErr == nil && lines > 0 {
				query.Deleted(lines, at)
			}
		}
	}
	return func(yield func(LogRecord, error) bool) {
		for raw, err := range c.lines(ctx, k) {
			var record LogRecord
			if err == nil {
				record, err = parseRecord(raw)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// parseRecord decodes only the fields of LogRecord. encoding/json is correct for these fields,
// and takes a third of the time of v1's codec.
func parseRecord(raw json.RawMessage) (LogRecord, error) {
	var r struct {
		ID        string    `json:"id"`
		Timestamp time.Time `json:"timestamp"`
		Message   string    `json:"message"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return LogRecord{}, fault.New(fault.Internal, "the master sent an invalid log line: %w", err)
	}
	return LogRecord{ID: r.ID, Timestamp: r.Timestamp, Message: r.Message, Raw: raw}, nil
}

// rewind is how much of a followed log is read again after its connection broke. Lines have the
// time of their task, so an earlier line of another rank may arrive after a later one; lines
// that were already read are recognised by their id.
const rewind = time.Minute

// follow reads a log to its end across broken connections and restarts of the master, each line
// once.
func (c *Client) follow(ctx context.Context, k call, query LogQuery) iter.Seq2[LogRecord, error] {
	return func(yield func(LogRecord, error) bool) {
		seen := &recent{ids: map[string]time.Time{}}
		for {
			wait := newBackoff(c.opts.Patience)
			lost := error(nil)
			for record, err := range c.readLogs(ctx, k, query) {
				if err != nil {
					lost = err
					break
				}
				if seen.again(record) {
					continue
				}
				if !yield(record, nil) {
					return
				}
			}
			if lost == nil {
				return
			}
			if !fault.Is(lost, fault.Unavailable) || !wait.pause(ctx, 0, c.tell(lost)) {
				if ctx.Err() != nil {
					lost = context.Cause(ctx)
				}
				yield(LogRecord{}, lost)
				return
			}
			query = seen.resume(query)
		}
	}
}

// recent stores the ids of recent lines.
type recent struct {
	ids    map[string]time.Time
	newest time.Time
	next   int // size at which old lines are removed
}

func (r *recent) again(record LogRecord) bool {
	key := record.ID
	if key == "" {
		key = fmt.Sprint(record.Timestamp.UnixNano(), record.Message)
	}
	if _, ok := r.ids[key]; ok {
		return true
	}
	r.ids[key] = record.Timestamp
	if record.Timestamp.After(r.newest) {
		r.newest = record.Timestamp
	}
	if len(r.ids) >= max(r.next, 10_000) {
		for k, t := range r.ids {
			if r.newest.Sub(t) > 2*rewind {
				delete(r.ids, k)
			}
		}
		r.next = 2 * len(r.ids)
	}
	return false
}

func (r *recent) resume(q LogQuery) LogQuery {
	if after := r.newest.Add(-rewind); !r.newest.IsZero() && after.After(q.After) {
		q.After = after
	}
	return q
}
