package runs

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (d Deps) projectColumns(ctx context.Context, c *rest.Call, p workspaces.Project, req *v1.GetProjectColumnsRequest) (*v1.GetProjectColumnsResponse, error) {
	switch req.TableType {
	case "TABLE_TYPE_RUN":
		return d.runColumns(ctx, c.Scope(), p.ID)
	case "", "TABLE_TYPE_UNSPECIFIED", "TABLE_TYPE_EXPERIMENT":
	default:
		return nil, fault.New(fault.Invalid, "tableType: expected TABLE_TYPE_EXPERIMENT or TABLE_TYPE_RUN, found %q", fault.Clip(req.TableType))
	}
	resp := &v1.GetProjectColumnsResponse{Columns: fieldColumns(find.Experiments, find.Experiment)}
	hparams, err := experiments.HParamsUsed(ctx, d.DB, c.Scope(), p.ID)
	if err != nil {
		return nil, err
	}
	for _, h := range hparams {
		kind := find.Any
		if h.Numbers {
			kind = find.Number
		}
		resp.Columns = append(resp.Columns, v1.ProjectColumn{Column: "hp." + h.Name, Location: string(find.Hyperparameters), Type: string(kind)})
	}
	metrics, err := experiments.MetricsUsed(ctx, d.DB, c.Scope(), p.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range metrics {
		resp.Columns = append(resp.Columns, metricColumns(m)...)
	}
	return resp, nil
}

// fieldColumns are the columns that every row of a table has.
func fieldColumns(table find.Table, location find.Location) (out []v1.ProjectColumn) {
	for _, f := range table.Fields() {
		kind := f.Type
		if f.Flag {
			kind = find.Any
		}
		out = append(out, v1.ProjectColumn{Column: f.Name, Location: string(location), Type: string(kind), DisplayName: f.Title})
	}
	return out
}

// metricColumns are the columns of one metric: one that is no number has a last
// value only.
func metricColumns(m metrics.Named) []v1.ProjectColumn {
	group, kind, summaries := summary.GroupOf(m.Group), find.Any, []string{find.Last}
	switch m.Type {
	case "number":
		kind, summaries = find.Number, []string{find.Last, find.Max, find.Mean, find.Min}
	case "string":
		kind = find.Text
	}
	var out []v1.ProjectColumn
	for _, s := range summaries {
		name := group + "." + m.Name + "." + s
		column, ok := find.Experiments.ColumnOf(name)
		if !ok { // a query cannot name a metric without a name
			continue
		}
		out = append(out, v1.ProjectColumn{Column: name, Location: string(column.Location), Type: string(kind)})
	}
	return slices.Clip(out)
}
