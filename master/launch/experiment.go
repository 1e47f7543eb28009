package launch

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

const (
	// MaxConfig is the maximum size of a configuration, in bytes.
	MaxConfig = 1 << 20
)

// Experiments creates experiments.
type Experiments struct {
	Cluster Cluster
	DB      *database.DB
	Memory  *experiments.Memory // for searches
	Users   *diskuse.Users      // what they store
	Code    *Packer
}

// An Experiment is an experiment whose request has been checked.
type Experiment struct {
	experiments.New
	ID       int // 0 if it is not stored: the request only validates
	Complete expconf.Config
	Project  workspaces.Project
	Warnings []v1.LaunchWarning
	Remarks  []string
	parent   *experiments.Experiment // the experiment that it forks; nil for none
}

// Create checks a request, and creates its experiment unless the request only validates.
func (l *Experiments) Create(ctx context.Context, by Submitter, req *v1.CreateExperimentRequest) (*Experiment, error) {
	e, err := l.check(ctx, by, req)
	if err != nil || optional.Value(req.ValidateOnly) {
		return e, err
	}
	e.Also = by.Also
	e.ID, err = experiments.Create(ctx, l.DB, l.Memory, e.New)
	return e, err
}

func (l *Experiments) check(ctx context.Context, by Submitter, req *v1.CreateExperimentRequest) (*Experiment, error) {
	return l.checkAnd(ctx, by, req, l.learn)
}

// CheckBranch checks a request for an experiment whose search has a past already. The caller creates the experiment.
func (l *Experiments) CheckBranch(ctx context.Context, by Submitter, req *v1.CreateExperimentRequest) (*Experiment, error) {
	return l.checkAnd(ctx, by, req, func(context.Context, auth.Who, *Experiment) error { return nil })
}

// checkAnd checks a request; learn says what its search learns from earlier experiments.
func (l *Experiments) checkAnd(ctx context.Context, by Submitter, req *v1.CreateExperimentRequest, learn func(context.Context, auth.Who, *Experiment) error) (*Experiment, error) {
	e := &Experiment{}
	e.Unmanaged, e.ExternalID = optional.Value(req.Unmanaged), by.External
	e.OwnerID, e.SessionEpoch, e.ParentID, e.Active = by.Who.UserID, by.Who.SessionEpoch, req.ParentID, optional.Value(req.Activate)
	var err error
	if e.CreationKey, err = creationKey(by.Key); err != nil {
		return nil, err
	}
	if e.parent, err = l.parentOf(ctx, by.Who, req.ParentID); err != nil {
		return nil, err
	}
	switch {
	case optional.Value(req.Config) != "":
		e.OriginalConfig = *req.Config
	case e.parent != nil && auth.Owns(by.Who, e.parent.Object()):
		e.OriginalConfig = e.parent.OriginalConfig
	default:
		return nil, fault.New(fault.Invalid, "config: is required")
	}
	if len(e.OriginalConfig) > MaxConfig {
		return nil, fault.New(fault.TooLarge, "config: %d bytes are over the limit of %d", len(e.OriginalConfig), MaxConfig)
	}
	if e.Template, err = l.templateUnder(ctx, by.Who, req, e.parent); err != nil {
		return nil, err
	}
	if err := l.configure(ctx, by, e, req.ProjectID); err != nil {
		return nil, err
	}
	if !e.Unmanaged {
		if err := l.Cluster.Site.Secrets.Check(e.Complete.Environment.Secrets, e.Project.WorkspaceName, by.Who.Username); err != nil {
			return nil, err
		}
	}
	if e.WarmStart, err = sourceOf(ctx, l.DB, by.Who, e.Complete); err != nil {
		return nil, err
	}
	if err := learn(ctx, by.Who, e); err != nil {
		return nil, err
	}
	var remarks []string
	if e.Context, remarks, err = l.Code.Keep(ctx, by, optional.Value(req.ValidateOnly)); err != nil {
		return nil, err
	}
	e.Remarks = append(e.Remarks, remarks...)
	if by.Code.none() && e.parent != nil {
		e.Context = e.parent.ContextHash
	}
	return e, nil
}

// parentOf returns the experiment that a request forks; nil for none.
func (l *Experiments) parentOf(ctx context.Context, who auth.Who, id *int) (*experiments.Experiment, error) {
	if id == nil {
		return nil, nil
	}
	e, err := experiments.Get(ctx, l.DB, *id)
	if fault.Is(err, fault.NotFound) || err == nil && !auth.Can(who, auth.View, e.Object()) {
		return nil, fault.New(fault.NotFound, "parentId: experiment %d not found", *id)
	}
	return &e, err
}

// templateUnder returns the template that a request names, or that of the experiment that it
// forks; the zero value for none.
func (l *Experiments) templateUnder(ctx context.Context, who auth.Who, req *v1.CreateExperimentRequest, parent *experiments.Experiment) (experiments.UsedTemplate, error) {
	if name := optional.Value(req.Template); name != "" {
		t, err := usedTemplate(ctx, l.DB, who, "template", name)
		return experiments.UsedTemplate{Name: t.Name, Source: t.Source}, err
	}
	if parent == nil || optional.Value(req.Config) != "" {
		return experiments.UsedTemplate{}, nil
	}
	return experiments.TemplateOf(ctx, l.DB, parent.ID)
}

// configure turns the submitted text into a complete configuration that the
// cluster can run.
func (l *Experiments) configure(ctx context.Context, by Submitter, e *Experiment, projectID *int) error {
	raw, warnings, err := expconf.Parse("config", []byte(e.OriginalConfig))
	if err != nil {
		return document.Wrong(err)
	}
	if raw, warnings, err = overTemplate(raw, warnings, e.Template); err != nil {
		return err
	}
	if e.Project, err = projectOf(ctx, l.DB, by.Who, raw, projectID); err != nil {
		return err
	}
	if err := by.mayStartIn(v1.KindExperiment, e.Project.WorkspaceID, optional.Value(projectID) > 0 || raw.Project != ""); err != nil {
		return err
	}
	e.ProjectID, e.WorkspaceID = e.Project.ID, e.Project.WorkspaceID
	ws, settings, err := settingsOf(ctx, l.DB, e.Project.WorkspaceID)
	if err != nil {
		return err
	}
	if e.Unmanaged {
		raw.Unmanaged = true
	}
	return l.complete(ctx, e, raw, warnings, ws, settings)
}

// complete applies the policies of the workspace to a document, sets the defaults, and checks the
// result against the cluster.
func (l *Experiments) complete(ctx context.Context, e *Experiment, raw expconf.Raw, warnings document.Warnings, ws workspaces.Workspace, settings workspaces.Settings) error {
	rules, err := experimentPolicies.of(ctx, l.DB, ws)
	if err != nil {
		return err
	}
	storage, err := l.Cluster.defaultStorage(settings)
	if err != nil {
		return fault.New(fault.Invalid, "the checkpoint storage of workspace %q: %w", ws.Name, err)
	}
	under := expconf.ClusterDefaults{CheckpointStorage: storage, Seed: rand.Uint32(), Name: petName()}
	raw, told, err := laid(rules, raw, expconf.Merge, shownExperiment(under))
	if err != nil {
		return err
	}
	slots := 1
	if expconf.IsSet(&raw.Resources, "slots_per_trial") {
		slots = raw.Resources.SlotsPerTrial
	}
	of, err := l.Cluster.poolFor(raw.Resources.ResourcePool, slots, settings)
	if err != nil {
		return err
	}
	if err := workspaces.Open(ctx, l.DB, of.Name, ws); err != nil {
		return err
	}
	under.TaskContainer = l.Cluster.Site.DefaultsIn(of).Fragment()
	cfg, err := expconf.Complete(raw, under)
	if err != nil {
		return document.Wrong(err)
	}
	cfg.Workspace, cfg.Project = e.Project.WorkspaceName, e.Project.Name
	if err := l.Cluster.besideOthers(cfg.CheckpointStorage, rules); err != nil {
		return err
	}
	kept, err := keepExperiment(rules, &cfg, of)
	if err != nil {
		return err
	}
	if err := l.admit(ctx, e, cfg, of, warnings); err != nil {
		return err
	}
	e.Remarks = slices.Concat(told, kept, e.Remarks)
	return nil
}

// admit checks a complete configuration, and fills in the experiment from it.
func (l *Experiments) admit(ctx context.Context, e *Experiment, cfg expconf.Config, of *pool.Pool, warnings document.Warnings) error {
	if cfg.Unmanaged {
		return l.Cluster.runsElsewhere(e, cfg, of, warnings)
	}
	if err := l.Cluster.accept(e, &cfg, of, warnings); err != nil {
		return err
	}
	if err := l.Cluster.placeCheckpoints(e, &cfg); err != nil {
		return err
	}
	if err := e.fill(cfg, of); err != nil {
		return err
	}
	return l.warn(ctx, e)
}

// runsElsewhere completes an experiment whose programs run its trials and store its
// checkpoints themselves; the master schedules no part of it. Like every experiment it has its own
// prefix of a bucket, because the master and TensorBoards read there with the cluster's keys.
func (c *Cluster) runsElsewhere(e *Experiment, cfg expconf.Config, of *pool.Pool, warnings document.Warnings) error {
	cfg.Resources.ResourcePool = of.Name
	if err := cfg.Validate(); err != nil {
		return document.Wrong(err)
	}
	if err := c.placeCheckpoints(e, &cfg); err != nil {
		return err
	}
	if err := e.fill(cfg, of); err != nil {
		return err
	}
	e.Unmanaged, e.Active, e.Remarks = true, true, warnings.Strings()
	e.Search, e.Memory, e.SlotsPerTrial = nil, 0, 0 // the loop reads neither search nor configuration
	return nil
}

// accept checks a complete configuration, by itself and against what the pool can do.
func (c *Cluster) accept(e *Experiment, cfg *expconf.Config, of *pool.Pool, warnings document.Warnings) error {
	cfg.Resources.ResourcePool = of.Name
	can := c.Site.CapabilitiesIn(of)
	pod, err := cfg.Translate(can)
	if err != nil {
		return document.Wrong(err)
	}
	if err := cfg.Validate(); err != nil {
		return document.Wrong(err)
	}
	if err := search.Check(*cfg); err != nil {
		return document.Wrong(err)
	}
	if err := cfg.Refused(can); err != nil {
		return document.Wrong(err)
	}
	e.Remarks = append(append(warnings.Strings(), pod.Strings()...), cfg.Unhonoured(can).Strings()...)
	return nil
}

func (l *Experiments) warn(ctx context.Context, e *Experiment) error {
	warnings, remarks, err := l.Cluster.checkSlots(ctx, e.Pool, e.SlotsPerTrial, false)
	e.Warnings, e.Remarks = warnings, append(e.Remarks, remarks...)
	if err != nil {
		return err
	}
	remarks, err = quotaRemarks(ctx, l.DB, e.Project.WorkspaceID, e.Project.ID, e.OwnerID, e.Pool, e.SlotsPerTrial)
	e.Remarks = append(e.Remarks, remarks...)
	return err
}

// fill copies the fields that have columns from the configuration.
func (e *Experiment) fill(cfg expconf.Config, of *pool.Pool) error {
	e.Complete = cfg
	b, err := cfg.JSON()
	if err != nil {
		return err
	}
	if err := jsontext.CheckDigits(b); err != nil {
		return fault.New(fault.Invalid, "the configuration cannot be stored: %w", err)
	}
	e.Config, e.Name, e.Description, e.Labels = b, cfg.Name, optional.Value(cfg.Description), cfg.Labels
	e.Seed = int64(cfg.Reproducibility.ExperimentSeed)
	if e.Search, err = searchOf(b, e.Seed); err != nil {
		return err
	}
	if e.Memory, err = memoryOf(e.Search, cfg); err != nil {
		return err
	}
	r := cfg.Resources
	e.Pool, e.SlotsPerTrial, e.MaxSlots, e.Weight, e.Priority = of.Name, r.SlotsPerTrial, r.MaxSlots, r.Weight, of.Priority
	if r.Priority != nil {
		e.Priority = *r.Priority
	}
	return nil
}

// memoryOf estimates the memory that a leading master needs for a search and for the part of its
// configuration that the control loop reads.
func memoryOf(s *search.Search, cfg expconf.Config) (int64, error) {
	const parsed = 8 // times its text
	nomad, err := json.Marshal(cfg.Environment.Nomad)
	if err != nil {
		return 0, err
	}
	storage, err := json.Marshal(cfg.CheckpointStorage)
	return s.Memory() + parsed*int64(len(nomad)) + 2*int64(len(storage)), err
}

// searchOf returns the search of a configuration. It parses the JSON that is stored, as the control
// loop does, so that the first trials are those that the loop would create.
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
