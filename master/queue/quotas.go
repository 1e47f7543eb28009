package queue

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

const (
	shownQuotas = 100       // of an answer, unless the caller wants another number
	maxShown    = 1000      // quotas of an answer
	maxBound    = 1_000_000 // slots, processors, GiB of memory, or slot-hours
)

// object is a quota for auth. The quota belongs to its workspace; the quota of a user in all workspaces belongs to the cluster.
func (q Quota) object() auth.Object {
	o := auth.Object{Kind: v1.KindQuota, OwnerID: q.WorkspaceOwner, WorkspaceID: optional.Value(q.WorkspaceID)}
	if q.ID != 0 {
		o.Name = fmt.Sprintf("%s %d", v1.KindQuota, q.ID)
	}
	return o
}

func onQuota(db *database.DB) rest.Object[Quota] {
	find := func(ctx context.Context, id int) (Quota, error) { return QuotaByID(ctx, db, id) }
	o := rest.On("id", find, Quota.object)
	o.Refusal = func(_ *rest.Call, _ auth.Verb, q Quota) error { return q.refused() }
	return o
}

func (q Quota) refused() error {
	if q.WorkspaceID == nil || q.OfWorkspace() {
		return fault.New(fault.Forbidden, "only administrators of the cluster may change the quota of %s", q.Name())
	}
	return fault.New(fault.Forbidden, "only administrators of workspace %q and of the cluster may change the quota of %s", fault.Clip(q.Workspace), q.Name())
}

// mayChange fails unless the caller may change a quota: administrators of a workspace may change the quotas of its projects and users, and
// administrators of the cluster all quotas. A caller who does not see the workspace gets the answer for a workspace that does not exist.
func (q Quota) mayChange(c *rest.Call) error {
	if q.WorkspaceID != nil && !auth.Sees(c.Who(), q.object()) {
		return c.May(auth.View, q.object())
	}
	if auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindCluster}) {
		return nil
	}
	if q.WorkspaceID == nil || q.OfWorkspace() || !auth.Can(c.Who(), auth.Change, q.object()) {
		return q.refused()
	}
	return nil
}

func (q Quota) wire(now time.Time) v1.Quota {
	out := v1.Quota{ID: q.ID, WorkspaceID: optional.Value(q.WorkspaceID), WorkspaceName: q.Workspace, ProjectID: optional.Value(q.ProjectID), ProjectName: q.Project,
		UserID: optional.Value(q.UserID), Username: q.Username, ResourcePool: q.Pool, Measure: v1.QuotaMeasure(q.Measure), Period: v1.QuotaPeriod(q.Period),
		Soft: q.Soft, Hard: q.Hard, Used: q.Held}
	if q.Measure == MeasureSlotHours {
		seconds, _ := q.Measured(now)
		begin := q.Begin(now)
		out.Used, out.PeriodStart, out.PeriodEnd, out.MeasuredTime = seconds/3600, &begin, q.End(now), q.MeasuredAt
	}
	return out
}

func (d Deps) listQuotas(ctx context.Context, c *rest.Call, req *v1.GetQuotasRequest) (*v1.GetQuotasResponse, error) {
	w := req.Window
	if w.Limit = cmp.Or(w.Limit, shownQuotas); w.Limit > maxShown {
		return nil, fault.New(fault.Invalid, "limit: at most %d quotas are in one answer, found %d", maxShown, w.Limit)
	}
	if w.Limit < 0 {
		w.Limit = maxShown
	}
	f := QuotaFilter{Workspace: req.WorkspaceID, Project: req.ProjectID, User: req.UserID}
	total, err := CountQuotas(ctx, d.DB, c.Scope(), c.Who().UserID, f)
	list, page, err := rest.Paged(w, total, err, func(from, n int) ([]Quota, error) {
		return Quotas(ctx, d.DB, c.Scope(), c.Who().UserID, f, from, n)
	})
	return &v1.GetQuotasResponse{Quotas: each.Of(list, func(q Quota) v1.Quota { return q.wire(time.Now()) }), Pagination: &page}, err
}

func (d Deps) putQuota(ctx context.Context, c *rest.Call, req *v1.PutQuotaRequest) (*v1.PutQuotaResponse, error) {
	q, err := d.namedQuota(ctx, c, req)
	if err != nil {
		return nil, err
	}
	if err := q.mayChange(c); err != nil {
		return nil, err
	}
	if q.UserID != nil {
		u, err := accounts.UserByID(ctx, d.DB, *q.UserID)
		if err != nil {
			return nil, err
		}
		q.Username = u.Username
	}
	if err := q.check(d.Pools); err != nil {
		return nil, err
	}
	set, err := SetQuota(ctx, d.DB, q, func(above Quota) error { return within(q, above) })
	if err != nil {
		return nil, err
	}
	d.Changed()
	return &v1.PutQuotaResponse{Quota: set.wire(time.Now())}, nil
}

// namedQuota reads what a request names. A caller who may not see the workspace does not learn about its projects.
func (d Deps) namedQuota(ctx context.Context, c *rest.Call, req *v1.PutQuotaRequest) (q Quota, err error) {
	q = Quota{Pool: req.ResourcePool, Measure: string(cmp.Or(req.Measure, v1.QuotaMeasureSlots)), Period: string(req.Period), Soft: req.Soft, Hard: req.Hard}
	switch {
	case req.ProjectID != 0 && req.UserID != 0:
		return q, fault.New(fault.Invalid, "a quota is of a project or of a user; projectId and userId are both set")
	case req.ProjectID == 0 && req.UserID == 0 && req.WorkspaceID == 0:
		return q, fault.New(fault.Invalid, "set workspaceId, projectId or userId: a quota is of a workspace, a project or a user")
	}
	workspace := req.WorkspaceID
	if req.ProjectID != 0 {
		p, err := workspaces.ProjectByID(ctx, d.DB, req.ProjectID)
		if err == nil {
			err = c.May(auth.View, p.Object())
		}
		if err == nil && workspace != 0 && workspace != p.WorkspaceID {
			err = fault.New(fault.Invalid, "workspaceId: project %d is in workspace %d, not in %d", p.ID, p.WorkspaceID, workspace)
		}
		if err != nil {
			return q, err
		}
		q.ProjectID, q.Project, workspace = &p.ID, p.Name, p.WorkspaceID
	}
	if workspace != 0 {
		ws, err := workspaces.Get(ctx, d.DB, workspace)
		if err == nil {
			err = c.May(auth.View, ws.Object())
		}
		if err != nil {
			return q, err
		}
		q.WorkspaceID, q.Workspace, q.WorkspaceOwner = &ws.ID, ws.Name, ws.OwnerID
	}
	if req.UserID != 0 {
		q.UserID = &req.UserID
	}
	return q, nil
}

// check returns why a request does not describe a quota.
func (q Quota) check(pools pool.Set) error {
	if q.Pool != "" && pools.Named(q.Pool) == nil {
		return fault.New(fault.NotFound, "resource pool %q not found", fault.Clip(q.Pool))
	}
	switch q.Measure {
	case MeasureSlots, MeasureCPUs, MeasureMemory:
		if q.Period != "" {
			return fault.New(fault.Invalid, "period: only quotas of slot_hours have one, found %q", fault.Clip(q.Period))
		}
	case MeasureSlotHours:
		switch q.Period {
		case PeriodDay, PeriodWeek, PeriodMonth, PeriodTotal:
		default:
			return fault.New(fault.Invalid, "period: expected day, week, month or total, found %q", fault.Clip(q.Period))
		}
	default:
		return fault.New(fault.Invalid, "measure: expected slots, cpus, memory or slot_hours, found %q", fault.Clip(q.Measure))
	}
	for name, bound := range map[string]*int{"soft": q.Soft, "hard": q.Hard} {
		if bound != nil && (*bound < 0 || *bound > maxBound) {
			return fault.New(fault.Invalid, "%s: expected a number from 0 to %d, found %d", name, maxBound, *bound)
		}
	}
	switch {
	case q.Soft == nil && q.Hard == nil:
		return fault.New(fault.Invalid, "set soft, hard, or both; to remove a quota, delete it")
	case q.Soft != nil && q.Hard != nil && *q.Soft > *q.Hard:
		return fault.New(fault.Invalid, "soft: %d is over the hard bound of %d", *q.Soft, *q.Hard)
	}
	return nil
}

// within fails if a quota of a project or a user is over the hard bound of its workspace, where it
// would have no effect.
func within(q, above Quota) error {
	if above.Hard == nil {
		return nil
	}
	for _, b := range []struct {
		name  string
		bound *int
	}{{"hard", q.Hard}, {"soft", q.Soft}} {
		if b.bound != nil && *b.bound > *above.Hard {
			return fault.New(fault.Invalid, "%s: %d is over the %d that workspace %q itself may have in %s; administrators of the cluster can raise it", b.name, *b.bound, *above.Hard, fault.Clip(above.Workspace), above.Pools())
		}
	}
	return nil
}

func (d Deps) deleteQuota(ctx context.Context, c *rest.Call, q Quota, _ *v1.None) (*v1.Empty, error) {
	if err := q.mayChange(c); err != nil { // the quota of the workspace itself needs more than its endpoint asks for
		return nil, err
	}
	return rest.Done[v1.Empty](DeleteQuota(ctx, d.DB, q.ID), d.Changed)
}

// WriteQuotas writes what is held or used under each quota, and its bounds. The labels name a quota by numbers
// only, because everybody who reaches the master's address reads them.
func WriteQuotas(ctx context.Context, db *database.DB, b *bytes.Buffer) {
	list, err := Quotas(ctx, db, auth.Everywhere(), 0, QuotaFilter{}, 0, maxShown)
	if err != nil {
		return
	}
	now := time.Now()
	for _, q := range list {
		w := q.wire(now)
		labels := fmt.Sprintf("{quota=%q,workspace=%q,project=%q,user=%q,pool=%q,measure=%q,period=%q", fmt.Sprint(q.ID), fmt.Sprint(w.WorkspaceID), fmt.Sprint(w.ProjectID), fmt.Sprint(w.UserID), q.Pool, q.Measure, q.Period)
		rest.Gauge(b, "det_quota_used", labels+"}", w.Used)
		for bound, n := range map[string]*int{"soft": q.Soft, "hard": q.Hard} {
			if n != nil {
				rest.Gauge(b, "det_quota_bound", labels+fmt.Sprintf(",bound=%q}", bound), float64(*n))
			}
		}
	}
}
