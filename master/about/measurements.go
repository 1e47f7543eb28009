package about

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
)

// MayScrape fails if the caller is on another machine and not signed in.
func MayScrape(ctx context.Context, c *rest.Call) error {
	if c.RemoteIP().IsLoopback() && !c.Proxied() {
		return nil
	}
	_, err := c.Identify(ctx)
	return err
}

// measurements needs no sign-in from this machine, where the agents of Nomad and Consul scrape,
// and a sign-in from other machines.
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
func (m *master) clusterGauges(ctx context.Context, b *bytes.Buffer) {
	holder, _, term, err := m.DB.Leader(ctx)
	if err != nil {
		rest.Gauge(b, "det_database_up", "", 0)
		return
	}
	use, err := nodes.PoolUses(ctx, m.DB)
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
	for _, u := range use {
		rest.Gauge(b, "det_attempts", fmt.Sprintf("{pool=%q,state=%q}", u.Pool, u.State), float64(u.Attempts))
		rest.Gauge(b, "det_attempt_slots", fmt.Sprintf("{pool=%q,state=%q}", u.Pool, u.State), float64(u.Slots))
	}
}
