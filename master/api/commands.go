package api

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/v1"
)

// defaultWorkspace is the one that the schema comes with.
const defaultWorkspace = 1

func (a *API) registerCommands() {
	handle(a, "GET", "/commands", both, "List commands", a.listCommands,
		query("users userIds workspaceId limit offset orderBy sortBy"))
	handle(a, "POST", "/commands", person, "Run a command", a.createCommand, bodyLimit(contextBody), slow)
	handle(a, "GET", "/commands/:id", both, "A command", a.command)
	handle(a, "POST", "/commands/:id/kill", person, "End a command", a.killCommand)
	handle(a, "POST", "/commands/:id/set_priority", person, "Change the priority of a command", a.prioritizeCommand)
}

func wireCommand(k store.Task) v1.Command {
	w := v1.Command{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt,
		State: v1.TaskState("STATE_" + k.Shown), Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID}
	if k.EndedAt != nil {
		w.ExitStatus = &k.ExitStatus
	}
	return w
}

// commandFor finds the command of the path and asks whether the caller may do that.
func (a *API) commandFor(ctx context.Context, c *call, verb auth.Verb) (store.Task, error) {
	k, err := a.db.Task(ctx, c.Params("id"))
	if err == nil && k.Type != "COMMAND" || fault.Is(err, fault.NotFound) {
		return k, fault.New(fault.NotFound, "command %s not found", clip(c.Params("id")))
	}
	if err != nil {
		return k, err
	}
	return k, c.may(verb, auth.Object{Kind: "command", OwnerID: k.OwnerID})
}

// commandConfig is a task's configuration as it may be shown.
func commandConfig(stored []byte) v1.Struct {
	cfg, err := expconf.ParseCommandConfigJSON(stored)
	if err != nil {
		return v1.Struct(`{}`) // of what this release cannot read, nothing is shown
	}
	return v1.StructOf(cfg.Redacted())
}

func (a *API) listCommands(ctx context.Context, c *call, _ *none) (*v1.GetCommandsResponse, error) {
	w, err := c.window()
	if err != nil {
		return nil, err
	}
	f := store.TaskFilter{Type: "COMMAND", Users: c.list("users")}
	if f.UserIDs, err = c.numbers("userIds"); err != nil {
		return nil, err
	}
	if f.WorkspaceID, err = c.intOr("workspaceId", 0); err != nil {
		return nil, err
	}
	if f.Sort, f.Desc, err = c.sorting(map[string]string{"SORT_BY_ID": "", "SORT_BY_DESCRIPTION": "description",
		"SORT_BY_START_TIME": "start_time", "SORT_BY_WORKSPACE_ID": "workspace"}); err != nil {
		return nil, err
	}
	list, err := a.db.Tasks(ctx, f)
	if err != nil {
		return nil, err
	}
	list, page, err := cut(list, w)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetCommandsResponse{Pagination: page}
	for _, k := range list {
		resp.Commands = append(resp.Commands, wireCommand(k))
	}
	return resp, nil
}

func (a *API) command(ctx context.Context, c *call, _ *none) (*v1.GetCommandResponse, error) {
	k, err := a.commandFor(ctx, c, auth.View)
	if err != nil {
		return nil, err
	}
	return &v1.GetCommandResponse{Command: wireCommand(k), Config: commandConfig(k.Config)}, nil
}

func (a *API) createCommand(ctx context.Context, c *call, req *v1.LaunchCommandRequest) (*v1.LaunchCommandResponse, error) {
	if err := c.may(auth.Create, auth.Object{Kind: "command"}); err != nil {
		return nil, err
	}
	if text(req.TemplateName) != "" {
		return nil, fault.New(fault.Unimplemented, "templateName: there are no templates yet; put what %q says into the configuration", clip(*req.TemplateName))
	}
	n, cfg, remarks, err := a.newCommand(ctx, c, req)
	if err != nil {
		return nil, err
	}
	resp := &v1.LaunchCommandResponse{Config: v1.StructOf(cfg.Redacted()), Remarks: remarks}
	over, remark, err := a.overSlots(ctx, n.Pool, n.Slots)
	if err != nil {
		return nil, err
	}
	if over {
		resp.Warnings, resp.Remarks = []v1.LaunchWarning{v1.LaunchWarningCurrentSlotsExceeded}, append(resp.Remarks, remark)
	}
	if req.Preview != nil && *req.Preview {
		resp.Command = v1.Command{Description: n.Name, ResourcePool: n.Pool, State: v1.TaskStateUnspecified,
			Username: c.who.Username, UserID: c.who.UserID, WorkspaceID: n.WorkspaceID}
		return resp, nil
	}
	if err := a.db.CreateTask(ctx, n); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	k, err := a.db.Task(ctx, n.ID)
	resp.Command = wireCommand(k)
	return resp, err
}

// newCommand checks a request from its form to what the cluster can do.
func (a *API) newCommand(ctx context.Context, c *call, req *v1.LaunchCommandRequest) (n store.NewTask, cfg expconf.CommandConfig, remarks []string, err error) {
	n = store.NewTask{ID: uuid.NewString(), Type: "COMMAND", OwnerID: c.who.UserID, WorkspaceID: defaultWorkspace}
	if req.WorkspaceID != nil && *req.WorkspaceID > 0 {
		n.WorkspaceID = *req.WorkspaceID
	}
	ws, settings, err := a.settingsOf(ctx, n.WorkspaceID)
	if err != nil {
		return n, cfg, nil, err
	}
	if ws.Archived {
		return n, cfg, nil, fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", ws.Name)
	}
	src := []byte(req.Config)
	if len(src) == 0 {
		src = []byte(`{}`)
	}
	raw, warnings, err := expconf.ParseCommand("config", src)
	if err != nil {
		return n, cfg, nil, wrongConfig(err)
	}
	named, slots := "", 1
	if r := raw.Resources; r != nil {
		named = text(r.ResourcePool)
		if r.Slots != nil {
			slots = *r.Slots
		}
	}
	pool, err := a.poolFor(named, slots, settings)
	if err != nil {
		return n, cfg, nil, err
	}
	cfg, err = expconf.CompleteCommand(raw, expconf.CommandDefaults{TaskContainer: a.containerDefaults(pool), Description: "Command (" + petName() + ")"})
	if err != nil {
		return n, cfg, nil, wrongConfig(err)
	}
	cfg.Resources.ResourcePool = pool.Name
	if err := cfg.Validate(true); err != nil {
		return n, cfg, nil, wrongConfig(err)
	}
	n.Pool, n.Name, n.Slots, n.Priority = pool.Name, cfg.Description, cfg.Resources.Slots, pool.Priority
	if cfg.Resources.Priority != nil {
		n.Priority = *cfg.Resources.Priority
	}
	if n.Config, err = json.Marshal(cfg); err != nil {
		return n, cfg, nil, err
	}
	n.Context, err = packContext(req.Files)
	return n, cfg, append(warnings.Strings(), cfg.Unhonoured(a.capabilities(pool)).Strings()...), err
}

func (a *API) killCommand(ctx context.Context, c *call, _ *none) (*v1.KillCommandResponse, error) {
	k, err := a.commandFor(ctx, c, auth.Change)
	if err != nil {
		return nil, err
	}
	if err := a.db.KillTask(ctx, k.ID); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	k, err = a.db.Task(ctx, k.ID)
	return &v1.KillCommandResponse{Command: wireCommand(k)}, err
}

// priorityRequest says how important something is to be.
type priorityRequest struct {
	Priority int `json:"priority"`
}

func (a *API) prioritizeCommand(ctx context.Context, c *call, req *priorityRequest) (*v1.KillCommandResponse, error) {
	k, err := a.commandFor(ctx, c, auth.Change)
	if err != nil {
		return nil, err
	}
	if err := checkShare(&req.Priority, nil); err != nil {
		return nil, err
	}
	if err := a.db.SetTaskPriority(ctx, k.ID, req.Priority); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	return &v1.KillCommandResponse{Command: wireCommand(k)}, nil
}
