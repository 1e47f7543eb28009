package api

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// heartbeat is how often a quiet stream of events says that it is there, which
// also finds out who has gone.
const heartbeat = 10 * time.Second

// liveMetrics sends each report of a trial as an event whose id is its position,
// with which a browser comes back after an interruption and misses nothing. A
// first event, "position", says where the stream begins: what a client reads by
// other routes after it has come has no gap before what comes here.
func (a *API) liveMetrics(ctx context.Context, c *call, t store.Trial) error {
	id := t.ID
	var after *store.Position
	last := c.Get("Last-Event-ID")
	if last == "" {
		last, _ = c.query("after")
	}
	if last != "" {
		var err error
		if after, err = parsePosition(last); err != nil {
			return err
		}
	}
	ch, now, cancel, err := a.inside.feed.Watch(ctx, id)
	if err != nil {
		return err
	}
	c.Set("Content-Type", "text/event-stream")
	c.Set("Cache-Control", "no-store")
	c.Set("X-Accel-Buffering", "no")
	c.Context().Response.ImmediateHeaderFlush = true
	following, done := a.followings.follow(a.stopping, c)
	a.streamTo(c, func(w *bufio.Writer) {
		defer done()
		defer cancel()
		e := events{w: w}
		if err := a.catchUp(following, &e, id, after, now); err != nil {
			return // the client comes back with its last id
		}
		beat := time.NewTicker(heartbeat)
		defer beat.Stop()
		for {
			select {
			case list, ok := <-ch:
				if !ok || e.reports(list) != nil {
					return
				}
			case <-beat.C:
				if _, err := w.WriteString(":\n\n"); err != nil || w.Flush() != nil {
					return
				}
			case <-following.Done():
				return // who comes back is told why
			}
		}
	})
	return nil
}

// catchUp sends what a client missed, or tells a new one where it begins.
func (a *API) catchUp(ctx context.Context, e *events, trial int, after *store.Position, now store.Position) error {
	if after == nil {
		return e.position(now)
	}
	at := *after
	for {
		list, err := a.db.MetricsBetween(ctx, []int{trial}, at, now)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return e.position(now)
		}
		if err := e.reports(list); err != nil {
			return err
		}
		at = store.Position{XID: list[len(list)-1].XID, ID: list[len(list)-1].ID}
	}
}

// events writes server-sent events.
type events struct {
	w   *bufio.Writer
	buf []byte
}

func (e *events) position(p store.Position) error {
	if _, err := fmt.Fprintf(e.w, "retry: 1000\nevent: position\nid: %d-%d\ndata: {}\n\n", p.XID, p.ID); err != nil {
		return err
	}
	return e.w.Flush()
}

func (e *events) reports(list []store.MetricRow) error {
	for _, m := range list {
		body, err := v1.Append(e.buf[:0], wireReport(m))
		if err != nil {
			return err
		}
		e.buf = body
		if _, err := fmt.Fprintf(e.w, "id: %d-%d\ndata: %s\n\n", m.XID, m.ID, body); err != nil {
			return err
		}
	}
	return e.w.Flush()
}

func parsePosition(s string) (*store.Position, error) {
	x, i, ok := strings.Cut(s, "-")
	xid, err1 := strconv.ParseUint(x, 10, 64)
	id, err2 := strconv.ParseInt(i, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return nil, fault.New(fault.Invalid, "Last-Event-ID: %q is not a position that this stream gave out", s)
	}
	return &store.Position{XID: xid, ID: id}, nil
}
