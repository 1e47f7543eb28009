package about

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/about/risks"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
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

func (m *master) health(ctx context.Context, c *rest.Call) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	h := m.healthNow(ctx)
	if h.Status != "up" {
		c.Status(http.StatusServiceUnavailable)
		c.Set("Retry-After", "1")
	}
	if who, err := c.Identify(ctx); err == nil && who.IsAdmin() {
		h.Warnings = m.Risks
	}
	return c.Send(h)
}

// healthNow asks the database. Anybody may ask for the health, as often as they like, so callers share one question at a time.
func (m *master) healthNow(ctx context.Context) health {
	answer := m.asked.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(m.stopping, healthTimeout)
		defer cancel()
		h := health{Status: "up", Database: "up"}
		holder, _, _, err := m.DB.Leader(ctx)
		if err == nil {
			h.Leader = holder
			h.Alarm, err = nodes.Alarm(ctx, m.DB)
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

// MayScrape fails if the caller is on another machine and not signed in.
func MayScrape(ctx context.Context, c *rest.Call) error {
	if c.RemoteIP().IsLoopback() && !c.Proxied() {
		return nil
	}
	_, err := c.Identify(ctx)
	return err
}

// measurements asks for no sign-in from this machine, where the agents of Nomad and Consul scrape, and for a sign-in from other
// machines.
func (m *master) measurements(ctx context.Context, c *rest.Call) error {
	if err := MayScrape(ctx, c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var b bytes.Buffer
	m.router.WriteMetrics(&b)
	total, used, allowed := m.DB.Conns()
	rest.Gauge(&b, "det_database_connections", "", float64(total))
	rest.Gauge(&b, "det_database_connections_used", "", float64(used))
	rest.Gauge(&b, "det_database_connections_allowed", "", float64(allowed))
	if m.Loop != nil {
		cycles, last, leads := m.Loop()
		rest.Gauge(&b, "det_loop_cycles_total", "", float64(cycles))
		rest.Gauge(&b, "det_loop_last_cycle_seconds", "", last.Seconds())
		rest.Gauge(&b, "det_this_master_leads", "", map[bool]float64{true: 1}[leads])
	}
	if m.Connections != nil {
		open, refused := m.Connections()
		rest.Gauge(&b, "det_connections", "", float64(open))
		rest.Gauge(&b, "det_connections_refused_total", "", float64(refused))
	}
	rest.Gauge(&b, "det_untrusted_forwarders", "", float64(m.Forwarders()))
	if m.Visits != nil {
		rest.Gauge(&b, "det_visits_open", "", float64(m.Visits()))
	}
	b.Write(m.scraped.read(time.Now(), func(b *bytes.Buffer) { m.clusterGauges(ctx, b) }))
	if m.Demand != nil {
		nodes.WriteDemand(&b, m.Demand())
	}
	c.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	return c.SendBody(b.Bytes())
}

// A scrape is what was read from the database for /metrics. All callers within a second get the same, so that no caller can make each
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

// clusterGauges writes what the database knows of the cluster, or that the database does not answer.
func (m *master) clusterGauges(ctx context.Context, b *bytes.Buffer) {
	holder, _, term, err := m.DB.Leader(ctx)
	var use []nodes.PoolUse
	if err == nil {
		use, err = nodes.PoolUses(ctx, m.DB)
	}
	if err != nil {
		rest.Gauge(b, "det_database_up", "", 0)
		return
	}
	rest.Gauge(b, "det_database_up", "", 1)
	rest.Gauge(b, "det_leader_term", "", float64(term))
	rest.Gauge(b, "det_leader", fmt.Sprintf("{holder=%q}", holder), 1)
	if orphans, err := nodes.Orphans(ctx, m.DB, 0, nodes.MaxOrphans); err == nil {
		rest.Gauge(b, "det_orphans", "", float64(len(orphans)))
	}
	queue.WriteQuotas(ctx, m.DB, b)
	if sinks, err := logSinks(ctx, m.DB); err == nil {
		for _, s := range sinks {
			of := fmt.Sprintf("{log_sink=%q}", s.Name)
			rest.Gauge(b, "det_log_sink_lines_sent_total", of, float64(s.Sent))
			rest.Gauge(b, "det_log_sink_lines_lost_total", of, float64(s.Lost))
			rest.Gauge(b, "det_log_sink_lines_rejected_total", of, float64(s.Rejected))
			rest.Gauge(b, "det_log_sink_lines_waiting", of, float64(s.Waiting))
			rest.Gauge(b, "det_log_sink_failing_seconds", of, s.Failing)
		}
	}
	for _, u := range use {
		rest.Gauge(b, "det_attempts", fmt.Sprintf("{pool=%q,state=%q}", u.Pool, u.State), float64(u.Attempts))
		rest.Gauge(b, "det_attempt_slots", fmt.Sprintf("{pool=%q,state=%q}", u.Pool, u.State), float64(u.Slots))
	}
}
