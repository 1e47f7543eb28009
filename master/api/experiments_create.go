package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	longestConfig = 1 << 20
	// defaultProject is the one that the schema comes with.
	defaultProject = 1
)

// submission is an experiment that was checked and not yet stored.
type submission struct {
	store.NewExperiment
	config   expconf.Config
	project  store.Project
	parent   *store.Experiment // that it forks; nil for none
	warnings []v1.LaunchWarning
	remarks  []string
}

func (a *API) createExperiment(ctx context.Context, c *call, req *v1.CreateExperimentRequest) (*v1.CreateExperimentResponse, error) {
	if err := c.may(auth.Create, auth.Object{Kind: "experiment"}); err != nil {
		return nil, err
	}
	s, err := a.submission(ctx, c, req)
	if err != nil {
		return nil, err
	}
	resp := &v1.CreateExperimentResponse{Warnings: s.warnings, Remarks: s.remarks}
	if req.ValidateOnly != nil && *req.ValidateOnly {
		shown, err := s.config.Redacted().JSON()
		resp.Config, resp.Experiment = shown, s.preview(c.who, shown)
		return resp, err
	}
	id, err := a.db.CreateExperiment(ctx, s.NewExperiment)
	if err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	e, err := a.db.Experiment(ctx, id)
	if err != nil {
		return nil, err
	}
	resp.Experiment, err = a.fullExperiment(ctx, e, c.who)
	resp.Config = resp.Experiment.Config
	return resp, err
}

// preview is the experiment that a submission would become.
func (s *submission) preview(who auth.Who, shown v1.Struct) v1.Experiment {
	return v1.Experiment{Name: s.Name, Description: s.Description, Labels: s.Labels, Config: shown, OriginalConfig: s.OriginalConfig,
		State: v1.ExperimentStatePaused, UserID: who.UserID, Username: who.Username, ProjectID: s.project.ID, ProjectName: s.project.Name,
		ProjectOwnerID: s.project.OwnerID, WorkspaceID: s.project.WorkspaceID, WorkspaceName: s.project.WorkspaceName,
		ForkedFrom: s.ParentID, ResourcePool: s.Pool, SearcherType: s.config.Searcher.Name, SearcherMetric: s.config.Searcher.Metric}
}

// submission checks a request from its form to what the cluster can do.
func (a *API) submission(ctx context.Context, c *call, req *v1.CreateExperimentRequest) (*submission, error) {
	if req.Unmanaged != nil && *req.Unmanaged {
		return nil, fault.New(fault.Unimplemented, "unmanaged: experiments that run elsewhere cannot be recorded yet")
	}
	s := &submission{}
	s.OwnerID, s.SessionEpoch, s.ParentID = c.who.UserID, c.who.SessionEpoch, req.ParentID
	s.Active = req.Activate != nil && *req.Activate
	var err error
	if s.CreationKey, err = c.creationKey(); err != nil {
		return nil, err
	}
	parent, err := a.parentOf(ctx, req)
	if err != nil {
		return nil, err
	}
	switch {
	case req.Config != nil && *req.Config != "":
		s.OriginalConfig = *req.Config
	case parent != nil && auth.Can(c.who, auth.Change, auth.Object{Kind: "experiment", OwnerID: parent.OwnerID}):
		s.OriginalConfig = parent.OriginalConfig
	default:
		return nil, fault.New(fault.Invalid, "config: it is missing")
	}
	if len(s.OriginalConfig) > longestConfig {
		return nil, fault.New(fault.TooLarge, "config: %d bytes are over the limit of %d", len(s.OriginalConfig), longestConfig)
	}
	s.parent = parent
	if s.Template, err = a.templateUnder(ctx, req, parent); err != nil {
		return nil, err
	}
	if err := a.configure(ctx, s, req.ProjectID); err != nil {
		return nil, err
	}
	if s.WarmStart, err = a.source(ctx, c, s.config); err != nil {
		return nil, err
	}
	if s.Context, err = a.keepFiles(ctx, c, req.ValidateOnly != nil && *req.ValidateOnly); err != nil {
		return nil, err
	}
	if c.files.none() && parent != nil {
		s.Context = parent.ContextHash
	}
	return s, nil
}

// parentOf is the experiment that a request forks; nil for none.
func (a *API) parentOf(ctx context.Context, req *v1.CreateExperimentRequest) (*store.Experiment, error) {
	if req.ParentID == nil {
		return nil, nil
	}
	e, err := a.db.Experiment(ctx, *req.ParentID)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "parentId: experiment %d not found", *req.ParentID)
	}
	return &e, err
}

// configure turns the submitted text into a complete configuration that the
// cluster can run.
func (a *API) configure(ctx context.Context, s *submission, projectID *int) error {
	raw, warnings, err := expconf.Parse("config", []byte(s.OriginalConfig))
	if err != nil {
		return wrongConfig(err)
	}
	if raw, warnings, err = overTemplate(raw, warnings, s.Template); err != nil {
		return err
	}
	if s.project, err = a.projectOf(ctx, raw, projectID); err != nil {
		return err
	}
	s.ProjectID = s.project.ID
	ws, settings, err := a.settingsOf(ctx, s.project.WorkspaceID)
	if err != nil {
		return err
	}
	named, slots := "", 1
	if r := raw.Resources; r != nil {
		named = text(r.ResourcePool)
		if r.SlotsPerTrial != nil {
			slots = *r.SlotsPerTrial
		}
	}
	pool, err := a.poolFor(named, slots, settings)
	if err != nil {
		return err
	}
	storage, err := a.storageUnder(settings)
	if err != nil {
		return fault.New(fault.Invalid, "the checkpoint storage of workspace %q: %w", ws.Name, err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{TaskContainer: a.cfg.Site.DefaultsIn(pool).Fragment(),
		CheckpointStorage: storage, Seed: rand.Uint32(), Name: petName()})
	if err != nil {
		return wrongConfig(err)
	}
	cfg.Workspace, cfg.Project = s.project.WorkspaceName, s.project.Name
	if err := a.accept(s, &cfg, pool, warnings); err != nil {
		return err
	}
	if err := a.placeCheckpoints(s, &cfg); err != nil {
		return err
	}
	if err := s.fill(cfg, pool); err != nil {
		return err
	}
	return a.warnOfSlots(ctx, s)
}

// accept checks a complete configuration, by itself and against what the pool can do.
func (a *API) accept(s *submission, cfg *expconf.Config, pool *pool.Pool, warnings expconf.Warnings) error {
	cfg.Resources.ResourcePool = pool.Name
	if err := cfg.Validate(); err != nil {
		return wrongConfig(err)
	}
	can := a.cfg.Site.CapabilitiesIn(pool)
	if err := cfg.Refused(can); err != nil {
		return wrongConfig(err)
	}
	s.remarks = append(warnings.Strings(), cfg.Unhonoured(can).Strings()...)
	return nil
}

func (a *API) warnOfSlots(ctx context.Context, s *submission) error {
	over, remark, err := a.overSlots(ctx, s.Pool, s.SlotsPerTrial)
	if over {
		s.warnings = []v1.LaunchWarning{v1.LaunchWarningCurrentSlotsExceeded}
		s.remarks = append(s.remarks, remark)
	}
	return err
}

// fill takes what has columns out of the configuration.
func (s *submission) fill(cfg expconf.Config, pool *pool.Pool) error {
	s.config = cfg
	b, err := cfg.JSON()
	if err != nil {
		return err
	}
	s.Config, s.Name, s.Description, s.Labels = b, cfg.Name, text(cfg.Description), cfg.Labels
	s.Seed = int64(cfg.Reproducibility.ExperimentSeed)
	if s.Search, err = searchOf(b, s.Seed); err != nil {
		return err
	}
	r := cfg.Resources
	s.Pool, s.SlotsPerTrial, s.MaxSlots, s.Weight, s.Priority = pool.Name, r.SlotsPerTrial, r.MaxSlots, r.Weight, pool.Priority
	if r.Priority != nil {
		s.Priority = *r.Priority
	}
	return nil
}

// searchOf is the search that a stored configuration begins, which the control loop
// reads in the same way.
func searchOf(config []byte, seed int64) (*search.Search, error) {
	stored, err := expconf.ParseConfigJSON(config)
	if err != nil {
		return nil, err
	}
	s, err := search.New(stored, seed)
	if err != nil {
		return nil, fault.New(fault.Invalid, "searcher: %w", err)
	}
	return s, nil
}

// wrongConfig words the problems of a configuration.
func wrongConfig(err error) error {
	var list expconf.Errors
	if !errors.As(err, &list) {
		return fault.New(fault.Invalid, "the configuration cannot be used: %w", err)
	}
	if len(list) == 1 {
		return fault.New(fault.Invalid, "the configuration has a problem: %s", list[0])
	}
	return fault.New(fault.Invalid, "the configuration has %d problems:\n%s", len(list), list.Error())
}

// projectOf finds the project of a submission: by the request's id, by the
// configuration's names, else the default one.
func (a *API) projectOf(ctx context.Context, raw expconf.Raw, id *int) (store.Project, error) {
	var p store.Project
	var err error
	switch {
	case id != nil && *id > 0:
		p, err = a.db.Project(ctx, *id)
	case raw.Workspace != nil && *raw.Workspace != "" && raw.Project != nil && *raw.Project != "":
		p, err = a.db.ProjectByName(ctx, *raw.Workspace, *raw.Project)
	case text(raw.Workspace) != "" || text(raw.Project) != "":
		return p, fault.New(fault.Invalid, "workspace and project go together: the configuration names only one of them")
	default:
		p, err = a.db.Project(ctx, defaultProject)
	}
	switch {
	case err != nil:
		return p, err
	case p.Archived:
		return p, fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	case p.WorkspaceArchived:
		return p, fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", p.WorkspaceName)
	}
	return p, nil
}

func (a *API) settingsOf(ctx context.Context, workspace int) (store.Workspace, store.WorkspaceSettings, error) {
	var s store.WorkspaceSettings
	w, err := a.db.Workspace(ctx, workspace)
	if err != nil {
		return w, s, err
	}
	return w, s, json.Unmarshal(w.Settings, &s)
}

// storageUnder is the checkpoint storage that lies under experiments: the
// workspace's over the cluster's.
func (a *API) storageUnder(ws store.WorkspaceSettings) (*expconf.RawCheckpointStorage, error) {
	if len(ws.CheckpointStorage) == 0 {
		return a.cfg.CheckpointStorage, nil
	}
	own, err := parseStorage(ws.CheckpointStorage)
	if err != nil {
		return nil, err
	}
	return expconf.Merge(expconf.Raw{CheckpointStorage: own}, expconf.Raw{CheckpointStorage: a.cfg.CheckpointStorage}).CheckpointStorage, nil
}

// parseStorage reads a checkpoint storage on its own.
func parseStorage(m map[string]any) (*expconf.RawCheckpointStorage, error) {
	b, err := json.Marshal(map[string]any{"checkpoint_storage": m})
	if err != nil {
		return nil, err
	}
	raw, _, err := expconf.Parse("", b)
	return raw.CheckpointStorage, err
}

// overSlots reports whether more slots are asked for than a pool has at the
// moment. That is no error: nodes may join.
func (a *API) overSlots(ctx context.Context, pool string, slots int) (bool, string, error) {
	counts, err := a.countPools(ctx)
	if err != nil || slots <= counts[pool].slots {
		return false, "", err
	}
	return true, fmt.Sprintf("%d slots are asked for and pool %s has %d at the moment: it waits until more join", slots, pool, counts[pool].slots), nil
}
