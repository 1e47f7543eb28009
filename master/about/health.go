package about

import (
	"context"
	"net/http"
	"time"

	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/risks"
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
