package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	masterLogPage  = 1000
	masterLogEvery = time.Second // how often a follower looks for new lines
)

func (a *API) registerMaster() {
	rest.Serve(a.router, v1.GetMasterConfig, a.masterConfig)
	rest.Serve(a.router, v1.PatchMasterConfig, a.patchMasterConfig)
	rest.RawQuery(a.router, v1.StreamMasterLogs, a.masterLogs)
}

func (a *API) masterConfig(context.Context, *rest.Call, *v1.None) (*v1.GetMasterConfigResponse, error) {
	return &v1.GetMasterConfigResponse{Config: v1.StructOf(a.cfg.Redacted())}, nil
}

func (a *API) masterLogs(ctx context.Context, c *rest.Call, req *v1.GetMasterLogsRequest) error {
	if req.Follow && req.Limit > 0 {
		return fault.New(fault.Invalid, "limit and follow cannot be combined: a stream that follows a log has no end")
	}
	after, err := a.db.MasterLogStart(ctx, req.Offset)
	if err != nil {
		return err
	}
	who := c.Credential()
	return c.Stream(func(ctx context.Context, r *rest.Records) error {
		return a.sendMasterLogs(ctx, r, who, after, req.Limit, req.Follow)
	})
}

func (a *API) sendMasterLogs(ctx context.Context, r *rest.Records, who rest.Credential, after int64, limit int, follow bool) error {
	tick := time.NewTicker(masterLogEvery)
	defer tick.Stop()
	for sent := 0; ; {
		n := masterLogPage
		if limit > 0 {
			n = min(n, limit-sent)
		}
		lines, err := a.db.MasterLogs(ctx, after, n)
		if err != nil && (!follow || !fault.Is(err, fault.Unavailable)) {
			return err
		}
		for _, l := range lines {
			if err := r.Add(v1.MasterLogsResponse{LogEntry: masterLogEntry(l)}); err != nil {
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
		if _, err := a.auth.byToken(ctx, who); fault.Is(err, fault.Unauthenticated) { // signed out in the meantime
			return err
		}
	}
}

func masterLogEntry(l store.MasterLogLine) v1.LogEntry {
	levels := map[string]v1.LogLevel{"DEBUG": v1.LogLevelDebug, "INFO": v1.LogLevelInfo, "WARN": v1.LogLevelWarning, "ERROR": v1.LogLevelError}
	level, ok := levels[l.Level]
	if !ok {
		level = v1.LogLevelCritical
	}
	return v1.LogEntry{ID: int(l.ID), Level: level, Message: l.Message, Timestamp: l.At}
}
