package logs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// request is a request for the lines of a log.
type request struct {
	Log
	follow bool
	desc   bool
	limit  int
	text   bool // filter by a text or an expression
	reader *Reader
}

// read checks the parameters and begins to stream.
func (d Deps) read(ctx context.Context, c *rest.Call, l Log, req *v1.GetLogsRequest) error {
	q := request{Log: l, follow: req.Follow, limit: req.Limit}
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
	filter, err := filterOf(req)
	if err != nil {
		return err
	}
	filter.Part = l.Part
	if q.reader, err = d.Store.Reader(l.TaskID, filter); err != nil {
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
	leave, err := d.Limits.Streams.Join(c.Who().Username)
	if err != nil {
		return err
	}
	owner := c.Owner()
	return c.Stream(func(ctx context.Context, out *rest.Records) error {
		defer leave()
		return d.newSender(q, out, owner).stream(ctx)
	})
}

// filterOf translates the filter for lines.
func filterOf(req *v1.GetLogsRequest) (Filter, error) {
	f := Filter{AllocationIDs: req.AllocationIDs, AgentIDs: req.AgentIDs, ContainerIDs: req.ContainerIDs, Sources: req.Sources, Stdtypes: req.Stdtypes,
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
func (q request) wire(r Record) any {
	id, at, level := wireNumber(r.Number), r.At, levels[r.Level]
	text := r.Text + "\n"
	message := message(r)
	agent, container, allocation := orNone(r.AgentID), orNone(r.ContainerID), orNone(r.AllocationID)
	source, stdtype := orNone(r.Source), orNone(r.Stdtype)
	var rank *int
	if r.Rank >= 0 {
		rank = &r.Rank
	}
	if q.Trial != 0 {
		return v1.TrialLogsResponse{ID: id, Level: level, Message: message, Timestamp: at, TrialID: q.Trial, AgentID: agent,
			ContainerID: container, Log: &text, RankID: rank, Source: source, Stdtype: stdtype}
	}
	return v1.TaskLogsResponse{ID: id, Level: level, Log: text, Message: message, TaskID: q.Called, Timestamp: at, AgentID: agent,
		AllocationID: allocation, ContainerID: container, RankID: rank, Source: source, Stdtype: stdtype}
}

func orNone(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// message is a line in Determined's form for users: time, container, rank, level, text, as
// far as they are known.
func message(r Record) string {
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
