package masterlog

import (
	"cmp"
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	page  = 1000        // lines in one query
	every = time.Second // how often a follower looks for new lines
)

// Deps is what the endpoint uses of others.
type Deps struct {
	DB *database.DB
	// SignedIn fails if a credential is no longer valid.
	SignedIn func(ctx context.Context, who rest.Credential) error
}

// Routes adds the endpoint.
func Routes(r *rest.Router, d Deps) {
	rest.RawQuery(r, v1.StreamMasterLogs, d.read)
}

// read streams the lines of all masters.
func (d Deps) read(ctx context.Context, c *rest.Call, req *v1.GetMasterLogsRequest) error {
	if req.Follow && req.Limit > 0 {
		return fault.New(fault.Invalid, "limit and follow cannot be combined: a stream that follows a log has no end")
	}
	after, err := Start(ctx, d.DB, req.Offset)
	if err != nil {
		return err
	}
	limit := req.Limit
	if !req.Follow && req.Offset < 0 { // the last lines of this moment, without those that are written meanwhile
		limit = min(cmp.Or(limit, -req.Offset), -req.Offset)
	}
	who := c.Credential()
	return c.Stream(func(ctx context.Context, r *rest.Records) error {
		return d.send(ctx, r, who, after, limit, req.Follow)
	})
}

func (d Deps) send(ctx context.Context, r *rest.Records, who rest.Credential, after int64, limit int, follow bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for sent := 0; ; {
		n := page
		if limit > 0 {
			n = min(n, limit-sent)
		}
		lines, err := Lines(ctx, d.DB, after, n)
		if err != nil && (!follow || !fault.Is(err, fault.Unavailable)) {
			return err
		}
		for _, l := range lines {
			if err := r.Add(v1.MasterLogsResponse{LogEntry: entry(l)}); err != nil {
				return err
			}
			after = l.ID
		}
		if err := r.Flush(); err != nil {
			return err
		}
		sent += len(lines)
		if len(lines) == n && (limit <= 0 || sent < limit) {
			continue
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := d.SignedIn(ctx, who); fault.Is(err, fault.Unauthenticated) { // signed out in the meantime
			return err
		}
	}
}

func entry(l Line) v1.LogEntry {
	levels := map[string]v1.LogLevel{"DEBUG": v1.LogLevelDebug, "INFO": v1.LogLevelInfo, "WARN": v1.LogLevelWarning, "ERROR": v1.LogLevelError}
	level, ok := levels[l.Level]
	if !ok {
		level = v1.LogLevelCritical
	}
	return v1.LogEntry{ID: int(l.ID), Level: level, Message: l.Message, Timestamp: l.At}
}
