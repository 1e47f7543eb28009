package experiments

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Object is an experiment as auth sees it.
func (h Head) Object() auth.Object {
	return auth.Object{Kind: v1.KindExperiment, Name: called(v1.KindExperiment, h.ID), OwnerID: h.OwnerID, WorkspaceID: h.WorkspaceID}
}

// Object is a trial as auth sees it.
func (t Trial) Object() auth.Object {
	return auth.Object{Kind: v1.KindTrial, Name: called(v1.KindTrial, t.ID), OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID, TrialID: t.ID}
}

// RunObject is a trial as auth sees it where the interface names it as a run.
func (t Trial) RunObject() auth.Object {
	o := t.Object()
	o.Kind = v1.KindRun
	return o
}

// called names a thing as the errors of rows do.
func called(kind auth.Kind, id int) string { return fmt.Sprintf("%s %d", kind, id) }

// On loads an experiment with all fields that users see.
func On(db *database.DB) rest.Object[Experiment] {
	return rest.On("id", func(ctx context.Context, id int) (Experiment, error) { return Get(ctx, db, id) },
		func(e Experiment) auth.Object { return e.Object() })
}

// OnHead loads only the fields of an experiment that auth needs.
func OnHead(db *database.DB) rest.Object[Head] {
	return rest.On("id", func(ctx context.Context, id int) (Head, error) { return GetHead(ctx, db, id) }, Head.Object)
}

// OnTrial loads the trial of a path.
func OnTrial(db *database.DB) rest.Object[Trial] { return onTrial(db, "id", Trial.Object) }

// OnRun loads the trial that a path names as a run.
func OnRun(db *database.DB) rest.Object[Trial] { return onTrial(db, "run", Trial.RunObject) }

func onTrial(db *database.DB, param string, of func(Trial) auth.Object) rest.Object[Trial] {
	return rest.On(param, func(ctx context.Context, id int) (Trial, error) { return GetTrial(ctx, db, id) }, of)
}

// VisibleTrial is a trial that a query names and the caller may look at.
func VisibleTrial(ctx context.Context, db *database.DB, c *rest.Call, id int) (Trial, error) {
	t, err := GetTrial(ctx, db, id)
	if err == nil {
		err = OnTrial(db).Allow(c, auth.View, t)
	}
	return t, err
}

// StillVisible fails if one of the trials was moved to where the caller may not look at it. Deleted ones do not count.
func StillVisible(ctx context.Context, db *database.DB, who auth.Who, trials []int) error {
	type at struct {
		ID        int `db:"id"`
		Workspace int `db:"workspace_id"`
	}
	list, err := database.Rows[at](ctx, db, `SELECT t.id, p.workspace_id FROM trials t JOIN experiments e ON e.id = t.experiment_id
		JOIN projects p ON p.id = e.project_id WHERE t.id = ANY($1) ORDER BY t.id`, trials)
	if err != nil {
		return nil //nolint:nilerr // while the database does not answer, no stream ends
	}
	scope := auth.ScopeOf(who, auth.View, v1.KindTrial)
	for _, t := range list {
		if !scope.Has(auth.Object{Kind: v1.KindTrial, WorkspaceID: t.Workspace}) {
			return fault.New(fault.NotFound, "trial %d not found", t.ID)
		}
	}
	return nil
}

// OnReportingTrial loads the trial of a path for reports.
func OnReportingTrial(db *database.DB) rest.Object[metrics.Trial] {
	return reporters(db, "id", Trial.Object)
}

// OnReportingRun loads the trial that a path names as a run for reports.
func OnReportingRun(db *database.DB) rest.Object[metrics.Trial] {
	return reporters(db, "run", Trial.RunObject)
}

// reporters loads the trial of a path for reports. For an attempt it reads nothing from the
// database: auth compares the number with the trial in the attempt's token. Reports are the
// most frequent calls.
func reporters(db *database.DB, param string, of func(Trial) auth.Object) rest.Object[metrics.Trial] {
	return rest.Object[metrics.Trial]{
		Load: func(ctx context.Context, c *rest.Call) (metrics.Trial, error) {
			id, err := c.ID(param)
			if err != nil {
				return metrics.Trial{}, err
			}
			return reporter(ctx, db, c, id, of)
		},
		Of: func(r metrics.Trial) auth.Object { return r.Is },
		Refusal: func(c *rest.Call, verb auth.Verb, r metrics.Trial) error {
			if c.Who().IsTask() {
				return fault.New(fault.Forbidden, "attempt %s does not belong to %s %d", c.Who().AllocationID, r.Is.Kind, r.ID)
			}
			return auth.May(c.Who(), verb, r.Is) // c.May would record the refusal twice
		},
	}
}

// ReportingRun is the run with this number, if the caller may report for it.
func ReportingRun(ctx context.Context, db *database.DB, c *rest.Call, id int) (metrics.Trial, error) {
	run, err := reporter(ctx, db, c, id, Trial.RunObject)
	if err == nil {
		err = OnReportingRun(db).Allow(c, auth.Report, run)
	}
	return run, err
}

// reporter is the trial with this number, for reports.
func reporter(ctx context.Context, db *database.DB, c *rest.Call, id int, of func(Trial) auth.Object) (metrics.Trial, error) {
	if c.Who().IsTask() {
		return metrics.Trial{ID: id, Is: of(Trial{ID: id})}, nil
	}
	t, err := GetTrial(ctx, db, id)
	return metrics.Trial{ID: id, Task: t.TaskID, Is: of(t)}, err
}

// MayReport fails if a caller may not report for an experiment, or for one of its trials.
func (d Deps) MayReport(ctx context.Context, c *rest.Call, experiment int, trial *int) error {
	if trial == nil {
		e, err := GetHead(ctx, d.DB, experiment)
		if err != nil {
			return err
		}
		return c.May(auth.Report, e.Object())
	}
	r, err := GetTrial(ctx, d.DB, *trial)
	if err == nil {
		err = c.May(auth.Report, r.Object())
	}
	if err == nil && r.ExperimentID != experiment {
		err = fault.New(fault.Invalid, "trialId: trial %d belongs to experiment %d, and not to %d", r.ID, r.ExperimentID, experiment)
	}
	return err
}
