package api

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Commands, notebooks, shells and TensorBoards are one thing to the cluster, a
// task of one attempt, and four nouns to people. What the nouns share is here:
// finding, checking and making a task. Their files have the messages of the wire.

// defaultWorkspace is the one that the schema comes with.
const defaultWorkspace = 1

// kind is a kind of task.
type kind struct {
	row   string // as rows have it
	noun  string // as permissions and messages have it
	title string // what one is called that nobody named
	slots int    // of one whose configuration says nothing
	// program: the configuration says what runs. Else the kind does.
	program bool
}

func commands() kind {
	return kind{row: "COMMAND", noun: "command", title: "Command", slots: 1, program: true}
}
func notebooks() kind { return kind{row: "NOTEBOOK", noun: "notebook", title: "JupyterLab", slots: 1} }
func shells() kind    { return kind{row: "SHELL", noun: "shell", title: "Shell", slots: 1} }
func tensorboards() kind {
	return kind{row: "TENSORBOARD", noun: "tensorboard", title: "TensorBoard"}
}

// taskFor finds the task of the path, which must be of that kind, and asks
// whether the caller may do that.
func (a *API) taskFor(ctx context.Context, c *call, of kind, verb auth.Verb) (store.Task, error) {
	k, err := a.db.Task(ctx, c.Params("id"))
	if err == nil && k.Type != of.row || fault.Is(err, fault.NotFound) {
		return k, fault.New(fault.NotFound, "%s %s not found", of.noun, clip(c.Params("id")))
	}
	if err != nil {
		return k, err
	}
	return k, c.may(verb, auth.Object{Kind: of.noun, OwnerID: k.OwnerID})
}

// taskConfig is a task's configuration as somebody may see it.
func taskConfig(k store.Task, who auth.Who) v1.Struct {
	cfg, err := expconf.ParseCommandConfigJSON(k.Config)
	if err != nil {
		return v1.Struct(`{}`) // of what this release cannot read, nothing is shown
	}
	if !ownTo(who, k.OwnerID) {
		cfg = cfg.WithoutVariables()
	}
	return v1.StructOf(cfg.Redacted())
}

// ownTo tells whether something is somebody's own: its owner's, the owner's tasks',
// or an admin's, to whom everything is. The values of environment variables are for
// them alone.
func ownTo(who auth.Who, ownerID int) bool {
	return who.Admin || who.UserID != 0 && who.UserID == ownerID
}

// exitStatus is how a task ended; "" while it has not.
func exitStatus(k store.Task) string {
	if k.EndedAt == nil {
		return ""
	}
	return k.ExitStatus
}

func taskState(k store.Task) v1.TaskState { return v1.TaskState("STATE_" + k.Shown) }

// tasksOf lists the tasks of a kind that a request asks for.
func (a *API) tasksOf(ctx context.Context, c *call, of kind) ([]store.Task, v1.Pagination, error) {
	var page v1.Pagination
	w, err := c.window()
	if err != nil {
		return nil, page, err
	}
	f := store.TaskFilter{Type: of.row, Users: c.list("users")}
	if f.UserIDs, err = c.numbers("userIds"); err != nil {
		return nil, page, err
	}
	if f.WorkspaceID, err = c.intOr("workspaceId", 0); err != nil {
		return nil, page, err
	}
	if f.Sort, f.Desc, err = c.sorting(map[string]string{"SORT_BY_ID": "", "SORT_BY_DESCRIPTION": "description",
		"SORT_BY_START_TIME": "start_time", "SORT_BY_WORKSPACE_ID": "workspace"}); err != nil {
		return nil, page, err
	}
	list, err := a.db.Tasks(ctx, f)
	if err != nil {
		return nil, page, err
	}
	return cut(list, w)
}

func idsOf(list []store.Task) []string {
	ids := make([]string, len(list))
	for i, k := range list {
		ids[i] = k.ID
	}
	return ids
}

// launch is a request to start a task, of whatever kind.
type launch struct {
	config      v1.Struct
	template    *string
	workspaceID *int
	preview     *bool
	// The kind's own part of its row.
	shell       *store.ShellKeys
	tensorboard *store.Tensorboard
}

// launched is what became of it. The task of a preview has no id.
type launched struct {
	task     store.Task
	config   v1.Struct
	warnings []v1.LaunchWarning
	remarks  []string
}

// launch checks a request and makes its task, unless it is a preview.
func (a *API) launch(ctx context.Context, c *call, of kind, l launch) (*launched, error) {
	if err := c.may(auth.Create, auth.Object{Kind: of.noun}); err != nil {
		return nil, err
	}
	n, cfg, remarks, err := a.newTask(ctx, c, of, l)
	if err != nil {
		return nil, err
	}
	done := &launched{config: v1.StructOf(cfg.Redacted()), remarks: remarks}
	over, remark, err := a.overSlots(ctx, n.Pool, n.Slots)
	if err != nil {
		return nil, err
	}
	if over {
		done.warnings, done.remarks = []v1.LaunchWarning{v1.LaunchWarningCurrentSlotsExceeded}, append(done.remarks, remark)
	}
	if l.preview != nil && *l.preview {
		done.task = store.Task{Type: n.Type, Name: n.Name, Pool: n.Pool, Shown: "UNSPECIFIED", OwnerID: n.OwnerID,
			Owner: c.who.Username, WorkspaceID: n.WorkspaceID}
		return done, nil
	}
	id, err := a.db.CreateTask(ctx, n)
	if err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	if done.task, err = a.db.Task(ctx, id); err != nil {
		return nil, err
	}
	done.config = taskConfig(done.task, c.who)
	return done, nil
}

// newTask checks a request from its form to what the cluster can do.
func (a *API) newTask(ctx context.Context, c *call, of kind, l launch) (n store.NewTask, cfg expconf.CommandConfig, remarks []string, err error) {
	n = store.NewTask{ID: uuid.NewString(), Type: of.row, OwnerID: c.who.UserID, SessionEpoch: c.who.SessionEpoch, WorkspaceID: defaultWorkspace,
		Shell: l.shell, Tensorboard: l.tensorboard}
	if n.CreationKey, err = c.creationKey(); err != nil {
		return n, cfg, nil, err
	}
	if l.workspaceID != nil && *l.workspaceID > 0 {
		n.WorkspaceID = *l.workspaceID
	}
	ws, settings, err := a.settingsOf(ctx, n.WorkspaceID)
	if err != nil {
		return n, cfg, nil, err
	}
	if ws.Archived {
		return n, cfg, nil, fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", ws.Name)
	}
	var template store.Template
	if name := text(l.template); name != "" {
		if template, err = a.usedTemplate(ctx, "templateName", name); err != nil {
			return n, cfg, nil, err
		}
	}
	cfg, pool, remarks, err := a.taskSettings(of, l.config, template, settings)
	if err != nil {
		return n, cfg, nil, err
	}
	n.Pool, n.Name, n.Slots, n.Priority = pool.Name, cfg.Description, cfg.Resources.Slots, pool.Priority
	if cfg.Resources.Priority != nil {
		n.Priority = *cfg.Resources.Priority
	}
	if n.Config, err = json.Marshal(cfg); err != nil {
		return n, cfg, nil, err
	}
	n.Context, err = a.keepFiles(ctx, c, l.preview != nil && *l.preview)
	return n, cfg, remarks, err
}

// taskSettings completes and checks a task's configuration, and chooses its pool.
func (a *API) taskSettings(of kind, config v1.Struct, template store.Template, ws store.WorkspaceSettings) (cfg expconf.CommandConfig, pool *pool.Pool, remarks []string, err error) {
	src := []byte(config)
	if len(src) == 0 {
		src = []byte(`{}`)
	}
	raw, warnings, err := expconf.ParseCommand("config", src)
	if err != nil {
		return cfg, pool, nil, wrongConfig(err)
	}
	if raw, warnings, err = commandOverTemplate(raw, warnings, template); err != nil {
		return cfg, pool, nil, err
	}
	raw, told := of.shape(raw, a.cfg.Idle)
	named := text(raw.Resources.ResourcePool)
	if pool, err = a.poolFor(named, *raw.Resources.Slots, ws); err != nil {
		return cfg, pool, nil, err
	}
	cfg, err = expconf.CompleteCommand(raw, expconf.CommandDefaults{TaskContainer: a.cfg.Site.DefaultsIn(pool),
		Description: of.title + " (" + petName() + ")"})
	if err != nil {
		return cfg, pool, nil, wrongConfig(err)
	}
	cfg.Resources.ResourcePool = pool.Name
	if err := cfg.Validate(of.program); err != nil {
		return cfg, pool, nil, wrongConfig(err)
	}
	can := a.cfg.Site.CapabilitiesIn(pool)
	if err := cfg.Refused(can); err != nil {
		return cfg, pool, nil, wrongConfig(err)
	}
	remarks = append(append(warnings.Strings(), told...), cfg.Unhonoured(can).Strings()...)
	return cfg, pool, remarks, nil
}

// shape fills in what a kind has of its own where the document leaves it open,
// and says what of the document means nothing to that kind.
func (of kind) shape(raw expconf.RawCommand, idle IdleTimeouts) (expconf.RawCommand, []string) {
	r := expconf.RawCommandResources{}
	if raw.Resources != nil {
		r = *raw.Resources
	}
	if r.Slots == nil {
		r.Slots = &of.slots
	}
	raw.Resources = &r
	var remarks []string
	if !of.program && len(raw.Entrypoint) > 0 {
		remarks = append(remarks, "entrypoint: has no effect: a "+of.noun+" has a program of its own")
		raw.Entrypoint = nil
	}
	if of.row != "TENSORBOARD" && len(raw.TensorboardArgs) > 0 {
		remarks = append(remarks, "tensorboard_args: have no effect on a "+of.noun)
	}
	if of.row != "NOTEBOOK" && raw.NotebookIdleType != nil {
		remarks = append(remarks, "notebook_idle_type: has no effect on a "+of.noun)
	}
	if of.program && raw.IdleTimeout != nil {
		remarks = append(remarks, "idle_timeout: has no effect on a command: it ends when its program does")
	}
	if span, ok := idle.of(of.row); raw.IdleTimeout == nil && ok {
		d := expconf.Duration(span)
		raw.IdleTimeout = &d
	}
	return raw, remarks
}

// kill asks for a task's end in the caller's name.
func (a *API) kill(ctx context.Context, c *call, of kind) (store.Task, error) {
	k, err := a.taskFor(ctx, c, of, auth.Change)
	if err != nil {
		return k, err
	}
	if err := a.db.KillTask(ctx, k.ID, "killed by "+c.who.Username); err != nil {
		return k, err
	}
	a.bus.Publish(store.TopicIntent)
	return a.db.Task(ctx, k.ID)
}

func (a *API) prioritize(ctx context.Context, c *call, of kind, req *v1.PriorityRequest) (store.Task, error) {
	k, err := a.taskFor(ctx, c, of, auth.Change)
	if err != nil {
		return k, err
	}
	if err := checkShare(&req.Priority, nil); err != nil {
		return k, err
	}
	if err := a.db.SetTaskPriority(ctx, k.ID, req.Priority); err != nil {
		return k, err
	}
	a.bus.Publish(store.TopicIntent)
	return k, nil
}
