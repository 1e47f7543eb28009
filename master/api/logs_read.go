package api

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// logRequest is a request for a log.
type logRequest struct {
	task   string
	called string // the task, or a part of it, in answers
	trial  int    // 0: the request names a task
	part   *int   // of the task; nil: all lines
	follow bool
	desc   bool
	limit  int
	text   bool // filter by a text or an expression
	reader *store.LogReader
}

func (a *API) trialLogs(ctx context.Context, c *rest.Call, t store.Trial, req *v1.GetLogsRequest) error {
	return a.logs(ctx, c, req, logRequest{task: t.TaskID, trial: t.ID})
}

func (a *API) logsOfTask(ctx context.Context, c *rest.Call, k store.Task, req *v1.GetLogsRequest) error {
	return a.logs(ctx, c, req, logRequest{task: k.ID, called: k.Called(), part: &k.Part.N})
}

// logs checks the parameters and begins to stream.
func (a *API) logs(ctx context.Context, c *rest.Call, req *v1.GetLogsRequest, q logRequest) error {
	q.follow, q.limit = req.Follow, req.Limit
	var err error
	if q.desc, err = rest.Descending(req.OrderBy); err != nil {
		return err
	}
	switch {
	case q.limit < 0:
		return fault.New(fault.Invalid, "limit: %d is negative", q.limit)
	case q.follow && q.limit > 0:
		return fault.New(fault.Invalid, "limit and follow cannot be combined: a stream that follows a log has no end")
	case q.follow && q.desc:
		return fault.New(fault.Invalid, "follow and orderBy=ORDER_BY_DESC cannot be combined: future lines cannot be sent first")
	}
	filter, err := logFilter(req)
	if err != nil {
		return err
	}
	filter.Part = q.part
	if q.reader, err = a.taskIO.logs.Reader(q.task, filter); err != nil {
		return err
	}
	deleted, at, err := q.reader.Deleted(ctx)
	if err != nil {
		return err
	}
	if deleted > 0 {
		c.Set(v1.LogsDeletedHeader, strconv.FormatInt(deleted, 10))
		c.Set(v1.LogsDeletedAtHeader, at.UTC().Format(time.RFC3339))
	}
	q.text = req.SearchText != ""
	leave, err := a.webSockets.logs.Join(c.Who().Username)
	if err != nil {
		return err
	}
	owner := c.Owner()
	return c.Stream(func(ctx context.Context, out *rest.Records) error {
		defer leave()
		return a.streamLogs(ctx, a.newLogSender(q, out, owner))
	})
}

// logFilter translates the filter for lines.
func logFilter(req *v1.GetLogsRequest) (store.LogFilter, error) {
	f := store.LogFilter{AllocationIDs: req.AllocationIDs, AgentIDs: req.AgentIDs, ContainerIDs: req.ContainerIDs, Sources: req.Sources, Stdtypes: req.Stdtypes,
		RankIDs: req.RankIDs, Before: req.TimestampBefore, After: req.TimestampAfter, Regex: req.EnableRegex, Search: req.SearchText}
	for _, name := range req.Levels {
		if !strings.HasPrefix(name, "LOG_LEVEL_") {
			name = "LOG_LEVEL_" + strings.ToUpper(name)
		}
		n := slices.Index(levels[:], v1.LogLevel(name))
		if n < 0 {
			return f, fault.New(fault.Invalid, "levels: %q is not a level, such as LOG_LEVEL_WARNING", fault.Clip(name))
		}
		f.Levels = append(f.Levels, n)
	}
	return f, nil
}

// wire is a line in the form of the API.
func (q logRequest) wire(r store.LogRecord) any {
	id, at, level := wireNumber(r.Number), r.At, levels[r.Level]
	text := r.Text + "\n"
	message := logMessage(r)
	agent, container, allocation := orNone(r.AgentID), orNone(r.ContainerID), orNone(r.AllocationID)
	source, stdtype := orNone(r.Source), orNone(r.Stdtype)
	var rank *int
	if r.Rank >= 0 {
		rank = &r.Rank
	}
	if q.trial != 0 {
		return v1.TrialLogsResponse{ID: id, Level: level, Message: message, Timestamp: at, TrialID: q.trial, AgentID: agent,
			ContainerID: container, Log: &text, RankID: rank, Source: source, Stdtype: stdtype}
	}
	return v1.TaskLogsResponse{ID: id, Level: level, Log: text, Message: message, TaskID: q.called, Timestamp: at, AgentID: agent,
		AllocationID: allocation, ContainerID: container, RankID: rank, Source: source, Stdtype: stdtype}
}

func orNone(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// logMessage is a line in Determined's form for users: time, container, rank, level, text, as
// far as they are known.
func logMessage(r store.LogRecord) string {
	b := make([]byte, 0, 64+len(r.Text))
	b = append(b, '[')
	b = r.At.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, "] "...)
	const shown = 8 // displayed characters of a container's id
	container := r.ContainerID[:min(shown, len(r.ContainerID))]
	b = append(b, container...)
	b = append(b, "        "[len(container):]...)
	if r.Rank >= 0 {
		b = append(b, " [rank="...)
		b = append(b, wireNumber(int64(r.Rank))...)
		b = append(b, ']')
	}
	b = append(b, " || "...)
	if r.Level > 0 {
		b = append(b, strings.TrimPrefix(string(levels[r.Level]), "LOG_LEVEL_")...)
		b = append(b, ": "...)
	}
	b = append(b, r.Text...)
	return string(append(b, '\n'))
}
