//go:build linux

package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// idleEvery is the maximum time between two checks for use.
const idleEvery = 30 * time.Second

// Idle calls report whenever the task was unused for its timeout, until report returns true or
// ctx ends. If the program does not answer the check, the task counts as used, so that an
// unknown state ends nothing.
func (s *Server) Idle(ctx context.Context, report func(ctx context.Context, since time.Time) bool) {
	b := s.backend.Load()
	if b == nil || b.spec.Idle.TimeoutSecs <= 0 {
		return
	}
	timeout := time.Duration(b.spec.Idle.TimeoutSecs) * time.Second
	every := min(idleEvery, max(timeout/4, 100*time.Millisecond))
	last := time.Now()
	for range sleep.Every(ctx, every) {
		used, err := b.used(ctx, last)
		if err != nil {
			used = time.Now()
		}
		if used.After(last) {
			last = used
		}
		if time.Since(last) >= timeout && report(ctx, last) {
			return
		}
	}
}

// used is the time of the last use, not before from.
func (b *backend) used(ctx context.Context, from time.Time) (time.Time, error) {
	now := time.Now()
	if b.spec.Idle.By == v1.IdleByRequests || b.spec.Kind == v1.GatewayOfSSH {
		return b.use.since(now), nil
	}
	kernels, terminals, err := b.jupyter(ctx)
	if err != nil {
		return now, err
	}
	return jupyterUsed(b.spec.Idle.By, kernels, terminals, from, now), nil
}

// A kernel and a terminal in Jupyter's API.
type (
	kernel struct {
		State       string    `json:"execution_state"`
		Connections int       `json:"connections"`
		Activity    time.Time `json:"last_activity"`
	}
	terminal struct {
		Activity time.Time `json:"last_activity"`
	}
)

func (b *backend) jupyter(ctx context.Context) (kernels []kernel, terminals []terminal, err error) {
	if err := b.list(ctx, "api/kernels", &kernels); err != nil {
		return nil, nil, err
	}
	return kernels, terminals, b.list(ctx, "api/terminals", &terminals)
}

// list reads one of Jupyter's lists. If terminals are disabled, their list is empty.
func (b *backend) list(ctx context.Context, what string, out any) error {
	status, body, err := get(ctx, b.dial, b.spec.BasePath+what)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound && what == "api/terminals":
		return nil
	case status != http.StatusOK:
		return fmt.Errorf("%s answered %d", what, status)
	}
	return json.Unmarshal(body, out)
}

// jupyterUsed is the time of the last use of a notebook, by the measure in its configuration.
func jupyterUsed(by v1.IdleBy, kernels []kernel, terminals []terminal, from, now time.Time) time.Time {
	last := from
	note := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	switch by {
	case v1.IdleByKernelConnections:
		for _, k := range kernels {
			if k.Connections > 0 {
				note(now)
			}
		}
		if len(terminals) > 0 {
			note(now)
		}
	case v1.IdleByActivity:
		for _, k := range kernels {
			note(k.Activity)
			if k.State == "busy" {
				note(now)
			}
		}
		for _, t := range terminals {
			note(t.Activity)
		}
	default:
		if len(kernels)+len(terminals) > 0 {
			note(now)
		}
	}
	if last.After(now) { // the clock was set back
		return now
	}
	return last
}
