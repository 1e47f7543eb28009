package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/risks"
	"github.com/detent-ml/detent/master/store"
)

// healthTimeout limits the query of the database, because callers of /health wait only for a
// short time.
const healthTimeout = 2 * time.Second

// health is the response for load balancers and Nomad's check. A moment without a leader is no
// reason to use another master, so it is reported, but does not make the master unhealthy.
type health struct {
	Status   string `json:"status"`   // up or down
	Database string `json:"database"` // up, or why not
	Leader   string `json:"leader"`   // the leader; "": none
	Alarm    string `json:"alarm"`    // a problem for operators; "": none

	// Warnings name the settings that weaken security. They tell an attacker where to begin, so only
	// administrators receive them.
	Warnings []risks.Risk `json:"warnings,omitempty"`
}

func (a *API) health(ctx context.Context, c *rest.Call) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	h := a.healthNow(ctx)
	if h.Status != "up" {
		c.Status(http.StatusServiceUnavailable)
		c.Set("Retry-After", "1")
	}
	if who, err := c.Identify(ctx); err == nil && who.IsAdmin() {
		h.Warnings = a.cfg.Risks
	}
	return c.Send(h)
}

// healthNow asks the database. Anybody may ask for the health, as often as they like, so callers share one question at a time.
func (a *API) healthNow(ctx context.Context) health {
	answer := a.healthAsked.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(a.stopping, healthTimeout)
		defer cancel()
		h := health{Status: "up", Database: "up"}
		holder, _, _, err := a.db.Leader(ctx)
		if err == nil {
			h.Leader = holder
			h.Alarm, err = nodes.Alarm(ctx, a.db.DB)
		}
		return h, err
	})
	var err error
	select {
	case r := <-answer:
		if r.Err == nil {
			return r.Val.(health)
		}
		err = r.Err
	case <-ctx.Done():
		err = ctx.Err()
	}
	return health{Status: "down", Database: err.Error()}
}

// mayScrape fails if the caller is on another machine and not signed in.
func (a *API) mayScrape(ctx context.Context, c *rest.Call) error {
	if c.RemoteIP().IsLoopback() && !c.Proxied() {
		return nil
	}
	_, err := c.Identify(ctx)
	return err
}

// prometheus needs no sign-in from this machine, where the agents of Nomad and Consul scrape,
// and a sign-in from other machines.
func (a *API) prometheus(ctx context.Context, c *rest.Call) error {
	if err := a.mayScrape(ctx, c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var b bytes.Buffer
	a.router.WriteMetrics(&b)
	total, used, allowed := a.db.Conns()
	rest.Gauge(&b, "det_database_connections", "", float64(total))
	rest.Gauge(&b, "det_database_connections_used", "", float64(used))
	rest.Gauge(&b, "det_database_connections_allowed", "", float64(allowed))
	if a.cfg.Loop != nil {
		cycles, last, leads := a.cfg.Loop()
		rest.Gauge(&b, "det_loop_cycles_total", "", float64(cycles))
		rest.Gauge(&b, "det_loop_last_cycle_seconds", "", last.Seconds())
		rest.Gauge(&b, "det_this_master_leads", "", map[bool]float64{true: 1}[leads])
	}
	if a.cfg.Connections != nil {
		open, refused := a.cfg.Connections()
		rest.Gauge(&b, "det_connections", "", float64(open))
		rest.Gauge(&b, "det_connections_refused_total", "", float64(refused))
	}
	rest.Gauge(&b, "det_untrusted_forwarders", "", float64(a.forwarders.Count()))
	if a.cfg.Proxy != nil {
		rest.Gauge(&b, "det_visits_open", "", float64(a.cfg.Proxy.Open()))
	}
	b.Write(a.scraped.read(time.Now(), func(b *bytes.Buffer) { a.clusterGauges(ctx, b) }))
	if a.cfg.Demand != nil {
		nodes.WriteDemand(&b, a.cfg.Demand())
	}
	c.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	return c.SendBody(b.Bytes())
}

// A scrape is what was read from the database for /metrics. All who ask within a second get the same, so that nobody can make each
// request a handful of queries.
type scrape struct {
	mu sync.Mutex
	at time.Time
	b  bytes.Buffer
}

func (s *scrape) read(now time.Time, read func(*bytes.Buffer)) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.at) >= time.Second || now.Before(s.at) {
		s.b.Reset()
		read(&s.b)
		s.at = time.Now()
	}
	return slices.Clone(s.b.Bytes())
}

// clusterGauges are read from the database. If the database does not answer, a scrape reports
// that.
func (a *API) clusterGauges(ctx context.Context, b *bytes.Buffer) {
	holder, _, term, err := a.db.Leader(ctx)
	if err != nil {
		rest.Gauge(b, "det_database_up", "", 0)
		return
	}
	use, err := nodes.PoolUses(ctx, a.db.DB)
	if err != nil {
		rest.Gauge(b, "det_database_up", "", 0)
		return
	}
	rest.Gauge(b, "det_database_up", "", 1)
	rest.Gauge(b, "det_leader_term", "", float64(term))
	rest.Gauge(b, "det_leader", fmt.Sprintf("{holder=%q}", holder), 1)
	if orphans, err := nodes.Orphans(ctx, a.db.DB, 0, nodes.MaxOrphans); err == nil {
		rest.Gauge(b, "det_orphans", "", float64(len(orphans)))
	}
	a.quotaGauges(ctx, b)
	for _, u := range use {
		rest.Gauge(b, "det_attempts", fmt.Sprintf("{pool=%q,state=%q}", u.Pool, u.State), float64(u.Attempts))
		rest.Gauge(b, "det_attempt_slots", fmt.Sprintf("{pool=%q,state=%q}", u.Pool, u.State), float64(u.Slots))
	}
}

// quotaGauges are what is held or used under each quota, and its bounds. The labels name it by numbers
// only, because everybody who reaches the master's address reads them.
func (a *API) quotaGauges(ctx context.Context, b *bytes.Buffer) {
	list, err := a.db.Quotas(ctx, auth.Everywhere(), 0, store.QuotaFilter{}, 0, maxShown)
	if err != nil {
		return
	}
	now := time.Now()
	for _, q := range list {
		w := wireQuota(q, now)
		labels := fmt.Sprintf("{quota=%q,workspace=%q,project=%q,user=%q,pool=%q,measure=%q,period=%q", fmt.Sprint(q.ID), fmt.Sprint(w.WorkspaceID), fmt.Sprint(w.ProjectID), fmt.Sprint(w.UserID), q.Pool, q.Measure, q.Period)
		rest.Gauge(b, "det_quota_used", labels+"}", w.Used)
		for bound, n := range map[string]*int{"soft": q.Soft, "hard": q.Hard} {
			if n != nil {
				rest.Gauge(b, "det_quota_bound", labels+fmt.Sprintf(",bound=%q}", bound), float64(*n))
			}
		}
	}
}
