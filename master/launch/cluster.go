package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// A Cluster has what requests are checked against.
type Cluster struct {
	Site    task.Site
	Pools   pool.Set
	Storage expconf.CheckpointStorage // default checkpoint storage of experiments
	Idle    IdleTimeouts
	// CheckStorage returns an error about a storage for which Vault cannot grant credentials;
	// nil if the cluster grants none.
	CheckStorage func(storage expconf.CheckpointStorage) error
	// Slots returns what slots a pool has: now, or a moment ago if that is enough for the caller.
	Slots func(ctx context.Context, pool string, enough func(PoolSlots) bool) (PoolSlots, error)
	// LaunchError: an experiment or a generic task that requests more slots than its pool has
	// is rejected; else it waits.
	LaunchError bool
}

// PoolSlots counts the slots of a pool.
type PoolSlots struct {
	PerNode int // of the node with the most slots
	Total   int // that can be used now
}

// A Submitter is the user who makes a request, with the request's key and code.
type Submitter struct {
	Who   auth.Who
	Share string // the user or task whose share of limited resources the request uses
	Key   string // idempotency key of the request; "" for none
	Code  *Code  // nil for none
	// External is the name of a program for its unmanaged experiment; nil for none.
	External *string
	// Also creates, in the transaction that creates an experiment, what belongs to it; nil: nothing does.
	Also func(ctx context.Context, tx *database.DB, id int) error
}

// mayStartIn returns an error unless the submitter may start something new in a workspace. If the request does not name the workspace, the
// error tells the user to name one.
func (s *Submitter) mayStartIn(kind auth.Kind, workspace int, named bool) error {
	object := auth.Object{Kind: kind, WorkspaceID: workspace}
	if named || auth.Can(s.Who, auth.Create, object) {
		return auth.May(s.Who, auth.Create, object)
	}
	return fault.New(fault.Forbidden, "%s may not %s a %s in the workspace Uncategorized, which is used if the request names no other; name a workspace in which you may",
		s.Who.Username, auth.Create, kind)
}

// poolFor returns the named pool, else the workspace's default, else the cluster's, for tasks
// with or without slots.
func (c *Cluster) poolFor(named string, slots int, ws workspaces.Settings) (*pool.Pool, error) {
	if named == "" {
		if named = ws.DefaultComputePool; slots == 0 {
			named = ws.DefaultAuxPool
		}
	}
	if named != "" {
		p, err := c.Pools.Find(named)
		if err != nil {
			return nil, fault.New(fault.Invalid, "resources.resource_pool: %w", err)
		}
		if slots == 0 && p.Spot && !p.AuxOnSpot {
			return nil, fault.New(fault.Invalid, "resources.resource_pool: the machines of pool %s can go away at any time, so it runs no tasks without slots; "+
				"name another pool, or ask an operator to set aux_on_spot for it", p.Name)
		}
		return p, nil
	}
	if p := c.Pools.Default(slots); p != nil { // a negative number is rejected later
		return p, nil
	}
	return nil, fault.New(fault.Invalid, "resources.resource_pool: the cluster has no default pool; name one")
}

// checkSlots compares a request with the slots that its pool has. A request that no node of the
// pool can fulfil is rejected if it is for one node, and one for more slots than the pool has
// if LaunchError is set. Everything else is a warning, because nodes may join; so is every
// request to a pool without nodes.
func (c *Cluster) checkSlots(ctx context.Context, pool string, slots int, oneNode bool) (warnings []v1.LaunchWarning, remarks []string, err error) {
	enough := func(has PoolSlots) bool { return slots <= has.Total && (!oneNode || slots <= has.PerNode) }
	has, err := c.Slots(ctx, pool, enough)
	if err != nil || enough(has) {
		return nil, nil, err
	}
	switch could := c.grown(pool, has); {
	case has.Total == 0: // it has no nodes, or none that may be used now
	case oneNode && slots > could.PerNode:
		return nil, nil, fault.New(fault.Invalid, "request unfulfillable, please try requesting less slots: %d slots are asked for on one node, and no node of pool %s has more than %d",
			slots, pool, could.PerNode)
	case c.LaunchError && slots > could.Total:
		return nil, nil, fault.New(fault.Invalid, "slots requested exceeds cluster capacity: %d slots are asked for and pool %s has %d at the moment", slots, pool, has.Total)
	}
	return []v1.LaunchWarning{v1.LaunchWarningCurrentSlotsExceeded},
		[]string{fmt.Sprintf("%d slots are asked for and pool %s has %d at the moment: it waits until more join", slots, pool, has.Total)}, nil
}

// CheckPool returns why an experiment or a task that exists cannot move to another pool: the pool could never give it its slots.
func (l *Experiments) CheckPool(ctx context.Context, pool string, slots int, oneNode bool) error {
	_, _, err := l.Cluster.checkSlots(ctx, pool, slots, oneNode)
	return err
}

// grown returns what a pool has with all nodes that an autoscaler can add.
func (c *Cluster) grown(name string, has PoolSlots) PoolSlots {
	p := c.Pools.Named(name)
	if p == nil {
		return has
	}
	for _, class := range p.Classes {
		slots := p.Slots.AtMost(class.Slots)
		has.PerNode = max(has.PerNode, slots)
		has.Total += slots * cmp.Or(class.Max, maxGrowth)
	}
	return has
}

// maxGrowth is how many nodes of a class can be added if its configuration does not say.
const maxGrowth = 1_000

func settingsOf(ctx context.Context, db *database.DB, workspace int) (workspaces.Workspace, workspaces.Settings, error) {
	var s workspaces.Settings
	w, err := workspaces.Get(ctx, db, workspace)
	if err != nil {
		return w, s, err
	}
	return w, s, json.Unmarshal(w.Settings, &s)
}
