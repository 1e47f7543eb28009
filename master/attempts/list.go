package attempts

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

const maxAttempts = 1000 // of one page of a list

// OfExperiment lists the attempts of an experiment that the caller may see.
func (d Deps) OfExperiment(ctx context.Context, experiment int, req *v1.GetAttemptsRequest) (*v1.ListAttemptsResponse, error) {
	if req.Trial < 0 {
		return nil, fault.New(fault.Invalid, "trial: %d is not the id of a trial", req.Trial)
	}
	return d.list(ctx, req.Window, Filter{Experiment: experiment, Trial: req.Trial})
}

// OnNode lists the attempts that ran on a node, as far as the caller may see them.
func (d Deps) OnNode(ctx context.Context, c *rest.Call, node string, req *v1.GetListRequest) (*v1.ListAttemptsResponse, error) {
	return d.list(ctx, req.Window, Filter{Node: node, In: auth.ScopeOf(c.Who(), v1.View, v1.KindTask)})
}

func (d Deps) ofTask(ctx context.Context, _ *rest.Call, k tasks.Task, req *v1.GetListRequest) (*v1.ListAttemptsResponse, error) {
	return d.list(ctx, req.Window, Filter{Task: k.ID, Part: k.Part})
}

func (d Deps) list(ctx context.Context, w v1.Window, f Filter) (*v1.ListAttemptsResponse, error) {
	if w.Limit <= 0 || w.Limit > maxAttempts {
		w.Limit = maxAttempts
	}
	total, err := count(ctx, d.DB, f)
	list, page, err := rest.Paged(w, total, err, func(from, n int) ([]Past, error) { return List(ctx, d.DB, f, from, n) })
	if err != nil {
		return nil, err
	}
	ids := each.Of(list, func(x Past) string { return x.ID })
	members, err := pastMembers(ctx, d.DB, ids)
	return &v1.ListAttemptsResponse{Attempts: each.Of(list, func(x Past) v1.Attempt { return d.wire(x, members[x.ID]) }), Pagination: page}, err
}

func (d Deps) wire(x Past, members []pastMember) v1.Attempt {
	w := v1.Attempt{AllocationID: x.ID, TaskID: trial.PartID(x.TaskID, x.Part), TrialID: optional.Value(x.TrialID), Run: x.Run, Pool: x.Pool, Slots: x.Slots,
		State: tasks.AttemptState(x.State), Outcome: optional.Value(x.Outcome), QueuedTime: x.QueuedAt, AssignedTime: x.AssignedAt, StartTime: x.StartedAt,
		EndTime: x.EndedAt, PreemptTime: x.PreemptAt, PreemptReason: x.PreemptReason, KillTime: x.KillAt, KillReason: x.KillReason,
		ExitCode: x.ExitCode, ExitReason: x.ExitReason, WaitingReason: x.Waiting}
	if x.Submitted {
		w.NomadJob = jobspecs.JobID(x.ID)
		w.NomadURL = d.nomadPage(x.Pool, "jobs", w.NomadJob+"@"+d.namespaceOf(x.Pool))
	}
	for _, m := range members {
		p := v1.AttemptMember{Rank: m.Rank, Node: m.Node, SlotIDs: m.SlotIDs, NomadAllocation: m.NomadAllocID, EndTime: m.EndedAt, ExitCode: m.ExitCode, ExitReason: m.ExitReason}
		if m.NomadAllocID != "" {
			p.NomadURL = d.nomadPage(x.Pool, "allocations", m.NomadAllocID)
		}
		w.Members = append(w.Members, p)
	}
	return w
}

// nomadPage is the address of a page of Nomad's UI in the region of a pool; "" if the configuration does
// not name the UI.
func (d Deps) nomadPage(pool, kind, id string) string {
	ui, query := d.NomadUI, ""
	if p := d.Nodes.Pools.Named(pool); p != nil && p.Region != "" {
		ui, query = d.RegionUIs[p.Region], "?region="+url.QueryEscape(p.Region)
	}
	if ui == "" {
		return ""
	}
	return strings.TrimSuffix(ui, "/") + "/ui/" + kind + "/" + url.PathEscape(id) + query
}

// namespaceOf is the namespace in Nomad of a pool's jobs.
func (d Deps) namespaceOf(pool string) string {
	if p := d.Nodes.Pools.Named(pool); p != nil && p.Namespace != "" {
		return p.Namespace
	}
	return cmp.Or(d.namespaces()[0], "default")
}
