package mlflow

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/mlflow/filter"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/spelling"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// Home is the workspace of experiments whose name has no workspace. The first of them creates it.
const Home = "MLflow"

// An Experiment of MLflow is a project with tags.
type Experiment struct {
	workspaces.Project
	CreatedAt time.Time
	Tags      map[string]string
}

// name is the name of an experiment for MLflow's clients: that of its project, and before it that of its workspace.
func (e Experiment) name() string {
	if e.WorkspaceName == Home || e.ID == workspaces.DefaultProject {
		return e.Name
	}
	return e.WorkspaceName + "/" + e.Name
}

func (e Experiment) wire() v1.MLflowExperiment {
	at := millis(e.CreatedAt)
	return v1.MLflowExperiment{ID: strconv.Itoa(e.ID), Name: e.name(), ArtifactLocation: fmt.Sprintf("mlflow-artifacts:/%d", e.ID),
		LifecycleStage: stage(e.Archived || e.WorkspaceArchived), CreationTime: at, LastUpdateTime: at, Tags: tagsOf(e.Tags)}
}

// experiment finds the experiment with a number that the caller may view. 0 is the default of MLflow's clients.
func (d Deps) experiment(ctx context.Context, c *rest.Call, id string) (Experiment, error) {
	missing := fault.New(fault.NotFound, "No Experiment with id=%s exists", fault.Clip(id))
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 || n > maxID {
		return Experiment{}, missing
	}
	if n == 0 {
		n = workspaces.DefaultProject
	}
	e, err := experimentByID(ctx, d.DB, n)
	if fault.Is(err, fault.NotFound) || err == nil && !auth.Can(c.Who(), auth.View, e.Object()) {
		return e, missing
	}
	return e, err
}

// own is the experiment of the trial whose program calls; nil for other callers.
func (d Deps) own(ctx context.Context, c *rest.Call) (*Experiment, error) {
	if c.Who().TrialID == 0 {
		return nil, nil
	}
	run, err := runByID(ctx, d.DB, c.Who().TrialID)
	if err != nil {
		return nil, err
	}
	e, err := experimentByID(ctx, d.DB, run.ProjectID)
	return &e, err
}

// named finds the experiment with a name that the caller may view: NAME is in the workspace MLflow, or else the only project of
// that name; WORKSPACE/NAME is in that workspace.
func (d Deps) named(ctx context.Context, c *rest.Call, name string) (Experiment, error) {
	list, err := experimentsNamed(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindProject), name)
	if err != nil {
		return Experiment{}, err
	}
	if len(list) > 0 && list[0].WorkspaceName == Home {
		return list[0], nil
	}
	if len(list) == 1 {
		return list[0], nil
	}
	if name == "Default" { // as MLflow's server calls experiment 0
		return experimentByID(ctx, d.DB, workspaces.DefaultProject)
	}
	if len(list) > 1 {
		return Experiment{}, fault.New(fault.NotFound, "%d workspaces have a project %q; name the experiment %s", len(list), fault.Clip(name), fault.Clip(list[0].WorkspaceName+"/"+list[0].Name))
	}
	return Experiment{}, fault.New(fault.NotFound, "Could not find experiment with name '%s'", fault.Clip(name))
}

func (d Deps) getExperiment(ctx context.Context, c *rest.Call, req *v1.MLflowGetExperimentRequest) (*v1.MLflowExperimentAnswer, error) {
	e, err := d.experiment(ctx, c, req.ID)
	return &v1.MLflowExperimentAnswer{Experiment: e.wire()}, err
}

func (d Deps) getExperimentByName(ctx context.Context, c *rest.Call, req *v1.MLflowGetExperimentByNameRequest) (*v1.MLflowExperimentAnswer, error) {
	own, err := d.own(ctx, c)
	if err != nil {
		return nil, err
	}
	if own != nil {
		return &v1.MLflowExperimentAnswer{Experiment: own.wire()}, nil
	}
	e, err := d.named(ctx, c, req.Name)
	return &v1.MLflowExperimentAnswer{Experiment: e.wire()}, err
}

func (d Deps) createExperiment(ctx context.Context, c *rest.Call, req *v1.MLflowCreateExperimentRequest) (*v1.MLflowExperimentID, error) {
	own, err := d.own(ctx, c)
	if err != nil {
		return nil, err
	}
	if own != nil {
		return &v1.MLflowExperimentID{ID: strconv.Itoa(own.ID)}, nil
	}
	if strings.TrimSpace(req.Name) == "" {
		return nil, fault.New(fault.Invalid, "name: an experiment needs a name")
	}
	tags, err := newTags(req.Tags)
	if err != nil {
		return nil, err
	}
	workspace, name, err := d.placeOf(ctx, c, req.Name)
	if err != nil {
		return nil, err
	}
	if workspace.Archived { // a conflict would tell the client that the experiment exists, and its runs would go to another one
		return nil, fault.New(fault.Invalid, "workspace %q is archived; unarchive it first", fault.Clip(workspace.Name))
	}
	p, err := d.NewProject(ctx, c, workspace, &v1.PostProjectRequest{Name: name})
	if fault.Is(err, fault.Conflict) {
		return nil, fault.New(fault.Conflict, "Experiment '%s' already exists.", fault.Clip(req.Name))
	}
	if err == nil && len(tags) > 0 {
		err = changeTags(ctx, d.DB, p.ID, tags, nil)
	}
	return &v1.MLflowExperimentID{ID: strconv.Itoa(p.ID)}, err
}

// placeOf is the workspace of a new experiment, and the name of its project.
func (d Deps) placeOf(ctx context.Context, c *rest.Call, name string) (workspaces.Workspace, string, error) {
	scope := auth.ScopeOf(c.Who(), auth.View, v1.KindWorkspace)
	for i := strings.IndexByte(name, '/'); i > 0 && i < len(name)-1; {
		w, err := workspaceNamed(ctx, d.DB, scope, name[:i])
		if err == nil || !fault.Is(err, fault.NotFound) {
			return w, name[i+1:], err
		}
		further := strings.IndexByte(name[i+1:], '/')
		if further < 0 {
			break
		}
		i += 1 + further
	}
	first, rest, below := strings.Cut(name, "/")
	if below && first == Home && rest != "" { // the first experiment of this workspace, by its whole name
		name = rest
	} else if below {
		if err := d.misspelled(ctx, scope, first, name); err != nil {
			return workspaces.Workspace{}, "", err
		}
	}
	w, err := workspaceNamed(ctx, d.DB, scope, Home)
	if fault.Is(err, fault.NotFound) {
		if w, err = d.NewWorkspace(ctx, c, Home); fault.Is(err, fault.Conflict) {
			if there, missing := workspaceNamed(ctx, d.DB, scope, Home); missing == nil { // another program was faster
				return there, name, nil
			}
		}
		if err != nil {
			err = fault.Wrap(fault.Forbidden, err, "there is no workspace %s, and you may not create it (%v): name the experiment WORKSPACE/%s", Home, err, fault.Clip(name))
		}
	}
	return w, name, err
}

const (
	usualExperiments = 1000
	maxExperiments   = 50_000
)

func (d Deps) searchExperiments(ctx context.Context, c *rest.Call, req *v1.MLflowSearchExperimentsRequest) (*v1.MLflowExperiments, error) {
	p, err := pageOf(req.PageToken, req.MaxResults, usualExperiments, maxExperiments)
	if err != nil {
		return nil, err
	}
	s := experimentSearch{page: p}
	if s.archived, err = viewOf("view_type", req.ViewType); err != nil {
		return nil, err
	}
	if s.filter, err = filter.Parse(req.Filter); err != nil {
		return nil, err
	}
	if s.order, err = orders(req.OrderBy); err != nil {
		return nil, err
	}
	list, more, err := searchExperiments(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindProject), s)
	if err != nil {
		return nil, err
	}
	return &v1.MLflowExperiments{Experiments: each.Of(list, Experiment.wire), Next: p.next(len(list), more)}, nil
}

// changing is the experiment that a request changes.
func (d Deps) changing(ctx context.Context, c *rest.Call, verb auth.Verb, id string) (Experiment, error) {
	e, err := d.experiment(ctx, c, id)
	if err == nil {
		err = c.May(verb, e.Object())
	}
	return e, err
}

func (d Deps) renameExperiment(ctx context.Context, c *rest.Call, req *v1.MLflowUpdateExperimentRequest) (*v1.Empty, error) {
	e, err := d.changing(ctx, c, auth.Change, req.ID)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, workspaces.Rename(ctx, d.DB, e.Project, strings.TrimPrefix(req.Name, e.WorkspaceName+"/"))
}

func (d Deps) archiveExperiment(archived bool) rest.Handler[v1.MLflowExperimentID, v1.Empty] {
	return func(ctx context.Context, c *rest.Call, req *v1.MLflowExperimentID) (*v1.Empty, error) {
		e, err := d.changing(ctx, c, auth.Change, req.ID)
		if err == nil && e.WorkspaceArchived {
			err = e.Unarchived()
		}
		if err != nil {
			return nil, err
		}
		return &v1.Empty{}, workspaces.ArchiveProject(ctx, d.DB, e.ID, archived)
	}
}

func (d Deps) setExperimentTag(ctx context.Context, c *rest.Call, req *v1.MLflowExperimentTagRequest) (*v1.Empty, error) {
	e, err := d.changing(ctx, c, auth.Edit, req.ID)
	if err != nil {
		return nil, err
	}
	tags, err := newTags([]v1.MLflowTag{{Key: req.Key, Value: req.Value}})
	if err == nil {
		err = d.Admit(ctx, e.OwnerID, int64(len(req.Value)))
	}
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, changeTags(ctx, d.DB, e.ID, tags, nil)
}

func (d Deps) deleteExperimentTag(ctx context.Context, c *rest.Call, req *v1.MLflowExperimentTagRequest) (*v1.Empty, error) {
	e, err := d.changing(ctx, c, auth.Edit, req.ID)
	if err != nil {
		return nil, err
	}
	if _, there := e.Tags[req.Key]; !there {
		return nil, fault.New(fault.NotFound, "No tag with name: %s in experiment with id %d", fault.Clip(req.Key), e.ID)
	}
	return &v1.Empty{}, changeTags(ctx, d.DB, e.ID, nil, []string{req.Key})
}

// maxSpelled is the number of workspaces with which the first part of a name is compared.
const maxSpelled = 1000

// misspelled is an error if the first part of a name is the name of a workspace with a mistake: a new project in another workspace is hardly what was meant.
func (d Deps) misspelled(ctx context.Context, scope auth.Scope, first, name string) error {
	list, err := workspaces.List(ctx, d.DB, scope, workspaces.Filter{}, 0, maxSpelled)
	if err != nil {
		return err
	}
	for _, w := range list {
		if mistyped(first, w.Name) {
			return fault.New(fault.Invalid, "there is no workspace %q; did you mean %q? If not, name the experiment %s", fault.Clip(first), fault.Clip(w.Name), fault.Clip(Home+"/"+name))
		}
	}
	return nil
}

// mistyped reports whether a name differs from a known one by its case or by one character. Two names with other numbers are different names.
func mistyped(name, known string) bool {
	name, known = strings.ToLower(name), strings.ToLower(known)
	if name == known {
		return true
	}
	return min(len(name), len(known)) >= 4 && max(len(name), len(known)) <= 100 && spelling.Distance(name, known) == 1 && letters(name) != letters(known)
}

// letters is a text without its digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}
