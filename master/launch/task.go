package launch

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// Tasks creates notebooks, shells, commands, TensorBoards and generic tasks.
type Tasks struct {
	Cluster Cluster
	DB      *database.DB
	Code    *Packer
}

// A newTask is a task whose request is being checked.
type newTask struct {
	tasks.Launched
	shown []expconf.ShownExperiment // of a TensorBoard
	code  []byte                    // of the task from which a generic task inherits, for a request without code; nil for none
}

// Start checks a request and creates its task, unless the request is a preview. It returns the
// task with its id.
func (l *Tasks) Start(ctx context.Context, by Submitter, of tasks.Kind, req tasks.Request) (*tasks.Launched, error) {
	return l.start(ctx, by, of, req, &newTask{})
}

func (l *Tasks) start(ctx context.Context, by Submitter, of tasks.Kind, req tasks.Request, t *newTask) (*tasks.Launched, error) {
	t.ID, t.Type, t.OwnerID, t.SessionEpoch = uuid.NewString(), of.Type, by.Who.UserID, by.Who.SessionEpoch
	var err error
	if req.Shows != nil {
		if t.Tensorboard, t.shown, err = l.shows(ctx, by, *req.Shows); err != nil {
			return nil, err
		}
	}
	if of.Type == task.Shell {
		if t.Shell, err = newShellKeys(); err != nil {
			return nil, err
		}
	}
	if err := l.check(ctx, t, by, of, req); err != nil {
		return nil, err
	}
	warnings, remarks, err := l.Cluster.checkSlots(ctx, t.Pool, t.Slots, !several(&t.Complete) || l.Cluster.Pools.Named(t.Pool).SingleNode)
	if err != nil && of.Spreads && t.Complete.Resources.IsSingleNode == nil && fault.Is(err, fault.Invalid) {
		err = fault.New(fault.Invalid, "%w; with resources.is_single_node: false a %s may use several nodes", err, of.Noun)
	}
	t.Warnings, t.Remarks = warnings, append(t.Remarks, remarks...)
	if err == nil {
		remarks, err = quotaRemarks(ctx, l.DB, t.WorkspaceID, 0, t.OwnerID, t.Pool, t.Slots)
		t.Remarks = append(t.Remarks, remarks...)
	}
	if err != nil || optional.Value(req.Preview) {
		return &t.Launched, err
	}
	t.ID, err = tasks.Create(ctx, l.DB, t.New)
	t.Stored = err == nil
	return &t.Launched, err
}

func (l *Tasks) check(ctx context.Context, t *newTask, by Submitter, of tasks.Kind, req tasks.Request) error {
	var err error
	if t.CreationKey, err = creationKey(by.Key); err != nil {
		return err
	}
	if t.WorkspaceID = optional.Value(req.WorkspaceID); t.WorkspaceID <= 0 {
		t.WorkspaceID = workspaces.Default
	}
	ws, settings, err := settingsOf(ctx, l.DB, t.WorkspaceID)
	if err != nil {
		return err
	}
	if err := by.mayStartIn(auth.Kind(of.Noun), ws.ID, optional.Value(req.WorkspaceID) > 0); err != nil {
		return err
	}
	if ws.Archived {
		return fault.New(fault.NotFound, "workspace '%d' not found: %q is archived; unarchive it first", ws.ID, ws.Name)
	}
	var template workspaces.Template
	if name := optional.Value(req.Template); name != "" {
		if template, err = usedTemplate(ctx, l.DB, by.Who, "templateName", name); err != nil {
			return err
		}
	}
	rules, err := taskPolicies.of(ctx, l.DB, ws)
	if err != nil {
		return err
	}
	in, err := l.Cluster.configure(t, of, req.Config, template, rules, settings)
	if err != nil {
		return err
	}
	if err := workspaces.Open(ctx, l.DB, in.Name, ws); err != nil {
		return err
	}
	if err := expconf.RefusedShown(t.shown, l.Cluster.Site.CapabilitiesIn(in)); err != nil {
		return fault.New(fault.Invalid, "the TensorBoard cannot run in pool %s: %w", in.Name, err)
	}
	cfg := t.Complete
	if err := l.Cluster.Site.Secrets.Check(cfg.Environment.Secrets, ws.Name, by.Who.Username); err != nil {
		return err
	}
	t.Pool, t.Name, t.Slots, t.Priority = in.Name, cfg.Description, cfg.Resources.Slots, in.Priority
	if cfg.Resources.Priority != nil {
		t.Priority = *cfg.Resources.Priority
	}
	if t.Config, err = json.Marshal(cfg); err != nil {
		return err
	}
	if err := jsontext.CheckDigits(t.Config); err != nil {
		return fault.New(fault.Invalid, "the configuration cannot be stored: %w", err)
	}
	var remarks []string
	t.Context, remarks, err = l.Code.Keep(ctx, by, optional.Value(req.Preview))
	t.Remarks = append(t.Remarks, remarks...)
	if t.Context == nil {
		t.Context = t.code
	}
	return err
}

// configure completes and checks a task's configuration, and chooses its pool.
func (c *Cluster) configure(t *newTask, of tasks.Kind, config v1.Struct, template workspaces.Template, rules []rule[expconf.RawCommand], ws workspaces.Settings) (*pool.Pool, error) {
	src := []byte(config)
	if len(src) == 0 {
		src = []byte(`{}`)
	}
	raw, warnings, err := expconf.ParseCommand("config", src)
	if err != nil {
		return nil, document.Wrong(err)
	}
	if raw, warnings, err = commandOverTemplate(of, raw, warnings, template); err != nil {
		return nil, err
	}
	under := expconf.CommandDefaults{Description: describe(of, t.ID)}
	shaped := func(r expconf.RawCommand) expconf.RawCommand { r, _ = shape(of, r, c.Idle); return r }
	raw, ruled, err := laid(rules, raw, expconf.MergeCommand, shownCommand(shaped, under))
	if err != nil {
		return nil, err
	}
	raw, told := shape(of, raw, c.Idle)
	in, err := c.poolFor(raw.Resources.ResourcePool, raw.Resources.Slots, ws)
	if err != nil {
		return nil, err
	}
	under.TaskContainer = c.Site.DefaultsIn(in)
	cfg, err := expconf.CompleteCommand(raw, under)
	if err != nil {
		return nil, document.Wrong(err)
	}
	kept, err := keepTask(rules, &cfg, in)
	if err != nil {
		return nil, err
	}
	cfg.Resources.ResourcePool = in.Name
	can := c.Site.CapabilitiesIn(in)
	pod, err := cfg.Translate(can)
	if err != nil {
		return nil, document.Wrong(err)
	}
	if err := cfg.Validate(of.Required); err != nil {
		return nil, document.Wrong(err)
	}
	if !of.Spreads && several(&cfg) {
		return nil, fault.New(fault.Invalid, "resources.is_single_node: must be true or left out: a %s is always on a single node", of.Noun)
	}
	if err := cfg.Refused(can); err != nil {
		return nil, document.Wrong(err)
	}
	t.Complete = cfg
	t.Remarks = slices.Concat(ruled, kept, warnings.Strings(), pod.Strings(), told, cfg.Unhonoured(can).Strings())
	return in, nil
}
