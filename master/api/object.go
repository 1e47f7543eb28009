package api

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

// An object is a kind of thing that paths name: an experiment, a trial, a node. Before the
// handler runs, the endpoint's code loads the thing and asks auth whether the caller may use
// it. The handler receives the loaded thing, so no handler can forget to ask.
type object[T any] struct {
	// load finds the thing that the path names, or returns NotFound.
	load func(ctx context.Context, c *call) (T, error)
	// of is the thing as auth knows it.
	of func(T) auth.Object
	// refusal is the error for a caller who sees the thing and may not do verb; nil for auth's own
	// error.
	refusal func(c *call, verb auth.Verb, it T) error
	// large: it has texts of any length that users have written, so it is not kept while a body arrives.
	large bool
}

// allow fails unless the caller may do verb with the thing.
func (o object[T]) allow(c *call, verb auth.Verb, it T) error {
	err := c.may(verb, o.of(it))
	if fault.Is(err, fault.Forbidden) && o.refusal != nil && auth.Sees(c.who, o.of(it)) {
		err = o.refusal(c, verb, it)
	}
	return err
}

// ownerOrAdmin reports whether the caller is the owner of an object, a task of the owner, or an
// admin. Only these see the values of environment variables.
func ownerOrAdmin(who auth.Who, ownerID int) bool {
	return auth.Owns(who, auth.Object{OwnerID: ownerID})
}

// numbered makes an object that the path names by a number.
func numbered[T any](param string, find func(ctx context.Context, id int) (T, error), of func(T) auth.Object) object[T] {
	return object[T]{of: of, large: true, load: func(ctx context.Context, c *call) (it T, err error) {
		id, err := c.id(param)
		if err != nil {
			return it, err
		}
		return find(ctx, id)
	}}
}

// allThings is the id with which some clients of Determined name all things of a kind, in place of 0.
const allThings = "-1"

// orAll accepts the numbers 0 and -1 for all things of a kind. Every user may name them, and sees
// the things in their scope.
func orAll[T any](o object[T], id func(T) int) object[T] {
	return object[T]{
		load: func(ctx context.Context, c *call) (it T, err error) {
			if n, err := c.id("id"); err == nil && n == 0 || c.Params("id") == allThings {
				return it, nil
			}
			return o.load(ctx, c)
		},
		of: func(it T) auth.Object {
			if id(it) == 0 {
				return auth.Object{Kind: v1.KindCluster}
			}
			return o.of(it)
		},
	}
}

// called names a thing as the errors of store do.
func called(kind auth.Kind, id int) string { return fmt.Sprintf("%s %d", kind, id) }

func ofExperiment(e store.ExperimentHead) auth.Object {
	return auth.Object{Kind: v1.KindExperiment, Name: called(v1.KindExperiment, e.ID), OwnerID: e.OwnerID, WorkspaceID: e.WorkspaceID}
}

// onExperiment loads an experiment with all fields that users see.
func (a *API) onExperiment() object[store.Experiment] {
	return numbered("id", a.db.Experiment, func(e store.Experiment) auth.Object { return ofExperiment(e.ExperimentHead) })
}

// onExperimentHead loads only the fields of an experiment that auth needs.
func (a *API) onExperimentHead() object[store.ExperimentHead] {
	return numbered("id", a.db.ExperimentHead, ofExperiment)
}

func ofTrial(t store.Trial) auth.Object {
	return auth.Object{Kind: v1.KindTrial, Name: called(v1.KindTrial, t.ID), OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID, TrialID: t.ID}
}

func ofRun(t store.Trial) auth.Object {
	o := ofTrial(t)
	o.Kind = v1.KindRun
	return o
}

func (a *API) onTrial() object[store.Trial] { return numbered("id", a.db.Trial, ofTrial) }
func (a *API) onRun() object[store.Trial]   { return numbered("run", a.db.Trial, ofRun) }

// visibleTrial is a trial that a query names and the caller may look at.
func (a *API) visibleTrial(ctx context.Context, c *call, id int) (store.Trial, error) {
	t, err := a.db.Trial(ctx, id)
	if err == nil {
		err = a.onTrial().allow(c, auth.View, t)
	}
	return t, err
}

// A reporter is the trial of a report.
type reporter struct {
	trial int
	task  string // "" if an attempt reports
	is    auth.Object
}

// reporters loads the trial of a path for reports. For an attempt it reads nothing from the
// database: auth compares the number with the trial in the attempt's token. Reports are the
// most frequent calls.
func (a *API) reporters(param string, of func(store.Trial) auth.Object) object[reporter] {
	return object[reporter]{
		load: func(ctx context.Context, c *call) (reporter, error) {
			id, err := c.id(param)
			if err != nil {
				return reporter{}, err
			}
			return a.reporter(ctx, c, id, of)
		},
		of: func(r reporter) auth.Object { return r.is },
		refusal: func(c *call, verb auth.Verb, r reporter) error {
			if c.who.IsTask() {
				return fault.New(fault.Forbidden, "attempt %s does not belong to %s %d", c.who.AllocationID, r.is.Kind, r.trial)
			}
			return auth.May(c.who, verb, r.is) // c.may would record the refusal twice
		},
	}
}

// reporter is the trial with this number, for reports.
func (a *API) reporter(ctx context.Context, c *call, id int, of func(store.Trial) auth.Object) (reporter, error) {
	if c.who.IsTask() {
		return reporter{trial: id, is: of(store.Trial{ID: id})}, nil
	}
	t, err := a.db.Trial(ctx, id)
	return reporter{id, t.TaskID, of(t)}, err
}

func (a *API) onReportingTrial() object[reporter] { return a.reporters("id", ofTrial) }
func (a *API) onReportingRun() object[reporter]   { return a.reporters("run", ofRun) }

func ofCheckpoint(k store.Checkpoint) auth.Object {
	return auth.Object{Kind: v1.KindCheckpoint, Name: "checkpoint " + k.UUID, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, TaskID: k.TaskID, Shared: k.Shared}
}

func ofCheckpointOwner(k store.CheckpointOwner) auth.Object {
	return auth.Object{Kind: v1.KindCheckpoint, Name: "checkpoint " + k.UUID, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, TaskID: k.TaskID, Shared: k.Shared}
}

func (a *API) onCheckpoint() object[store.Checkpoint] {
	return object[store.Checkpoint]{of: ofCheckpoint, large: true, load: func(ctx context.Context, c *call) (store.Checkpoint, error) {
		return a.checkpointOf(ctx, c.Params("uuid"))
	}}
}

// checkpointOf finds the checkpoint with a UUID.
func (a *API) checkpointOf(ctx context.Context, name string) (store.Checkpoint, error) {
	id, err := uuid.Parse(name)
	if err != nil {
		return store.Checkpoint{}, fault.New(fault.Invalid, "%q is not the UUID of a checkpoint", name)
	}
	return a.db.CheckpointByUUID(ctx, id.String())
}

// checkpointOwner finds who owns the checkpoint with a UUID, without its files and metadata.
func (a *API) checkpointOwner(ctx context.Context, name string) (store.CheckpointOwner, error) {
	id, err := uuid.Parse(name)
	if err != nil {
		return store.CheckpointOwner{}, fault.New(fault.Invalid, "%q is not the UUID of a checkpoint", name)
	}
	return a.db.CheckpointOwner(ctx, id.String())
}

func ofTask(kind auth.Kind) func(store.Task) auth.Object {
	return func(k store.Task) auth.Object {
		noun := string(kind)
		return auth.Object{Kind: kind, Name: noun + " " + k.ID, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, TaskID: k.ID}
	}
}

// onTask loads a task of any kind, or a part of a trial's task.
func (a *API) onTask() object[store.Task] {
	return object[store.Task]{of: ofTask(v1.KindTask), large: true, load: func(ctx context.Context, c *call) (store.Task, error) {
		return a.db.TaskOrPart(ctx, c.Params("id"))
	}}
}

// onTaskOf loads a command, a notebook, a shell or a TensorBoard.
func (a *API) onTaskOf(of launch.Kind) object[store.Task] {
	return object[store.Task]{of: ofTask(auth.Kind(of.Noun)), large: true, load: func(ctx context.Context, c *call) (store.Task, error) {
		k, err := a.db.Task(ctx, c.Params("id"))
		if err == nil && k.Type != of.Type || fault.Is(err, fault.NotFound) {
			err = fault.New(fault.NotFound, "%s %s not found", of.Noun, fault.Clip(c.Params("id")))
		}
		return k, err
	}}
}

// ownTask reports whether the caller is a program of a task, or of a part of it.
func ownTask(c *call, id string) bool {
	of, _, part := trial.PartOf(id)
	return id == c.who.TaskID || part && of == c.who.TaskID
}

// onOwnTask is a task that only the task itself may name in a path.
func onOwnTask(param string, refusal func(c *call, id string) error) object[string] {
	return object[string]{
		load: func(_ context.Context, c *call) (string, error) {
			id, err := url.PathUnescape(c.Params(param))
			if err != nil {
				return "", refusal(c, c.Params(param))
			}
			return id, nil
		},
		of:      func(id string) auth.Object { return auth.Object{Kind: v1.KindTask, TaskID: id} },
		refusal: func(c *call, _ auth.Verb, id string) error { return refusal(c, id) },
	}
}

func ofAttempt(x store.Attempt) auth.Object {
	return auth.Object{Kind: v1.KindAllocation, Name: "allocation " + x.ID, OwnerID: x.OwnerID, WorkspaceID: x.WorkspaceID, AllocationID: x.ID}
}

func (a *API) onAttempt() object[store.Attempt] {
	return object[store.Attempt]{of: ofAttempt, load: func(ctx context.Context, c *call) (store.Attempt, error) {
		return a.db.Attempt(ctx, c.Params("id"))
	}}
}

// onOwnAttempt is an attempt that only the attempt itself may name in a path. The caller's
// token contains its id, so nothing is read from the database.
func onOwnAttempt() object[string] {
	return object[string]{
		load: func(_ context.Context, c *call) (string, error) { return c.Params("id"), nil },
		of:   func(id string) auth.Object { return auth.Object{Kind: v1.KindAllocation, AllocationID: id} },
		refusal: func(c *call, _ auth.Verb, id string) error {
			return fault.New(fault.Forbidden, "attempt %s may not act for attempt %s", c.who.AllocationID, id)
		},
	}
}

// A member of an attempt.
type member struct {
	allocation string
	rank       int
}

// onOwnMember is a member of an attempt that only the attempt itself may name in a path.
func onOwnMember() object[member] {
	return object[member]{
		load: func(_ context.Context, c *call) (member, error) {
			if id := c.Params("id"); id != c.who.AllocationID {
				return member{}, fault.New(fault.Forbidden, "attempt %s may not act for attempt %s", c.who.AllocationID, id)
			}
			rank, err := c.id("rank")
			return member{c.Params("id"), rank}, err
		},
		of: func(m member) auth.Object {
			return auth.Object{Kind: v1.KindMember, AllocationID: m.allocation, Rank: m.rank}
		},
		refusal: func(c *call, _ auth.Verb, m member) error {
			return fault.New(fault.Forbidden, "rank %d may not act for rank %d", c.who.Rank, m.rank)
		},
	}
}

func ofProject(p store.Project) auth.Object {
	return auth.Object{Kind: v1.KindProject, Name: called(v1.KindProject, p.ID), OwnerID: p.OwnerID, WorkspaceID: p.WorkspaceID}
}

func (a *API) onProject() object[store.Project] { return numbered("id", a.db.Project, ofProject) }

func (a *API) onProjectOrAll() object[store.Project] {
	return orAll(a.onProject(), func(p store.Project) int { return p.ID })
}

func (a *API) onProjectByKey() object[store.Project] {
	byKey := func(p store.Project) auth.Object {
		o := ofProject(p)
		o.Name = "project " + p.Key
		return o
	}
	return object[store.Project]{of: byKey, load: func(ctx context.Context, c *call) (store.Project, error) {
		return a.db.ProjectByKey(ctx, strings.ToUpper(c.Params("key")))
	}}
}

func ofWorkspace(w store.Workspace) auth.Object {
	return auth.Object{Kind: v1.KindWorkspace, Name: called(v1.KindWorkspace, w.ID), OwnerID: w.OwnerID, WorkspaceID: w.ID}
}

func (a *API) onWorkspace() object[store.Workspace] {
	return numbered("id", a.db.Workspace, ofWorkspace)
}

func (a *API) onWorkspaceOrAll() object[store.Workspace] {
	return orAll(a.onWorkspace(), func(w store.Workspace) int { return w.ID })
}

func ofTemplate(t store.Template) auth.Object {
	return auth.Object{Kind: v1.KindTemplate, Name: fmt.Sprintf("template %q", t.Name), OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID}
}

func (a *API) onTemplate() object[store.Template] {
	return object[store.Template]{
		large: true,
		load: func(ctx context.Context, c *call) (store.Template, error) {
			return a.db.Template(ctx, c.Params("name"))
		},
		of: ofTemplate,
		refusal: func(_ *call, _ auth.Verb, t store.Template) error {
			return fault.New(fault.Forbidden, "template %q belongs to another user: only its owner and admins may change it, because it changes what other users run", t.Name)
		},
	}
}

// A templateOrNew is a template that exists, or one that the caller creates.
type templateOrNew struct {
	store.Template
	there bool
}

// onTemplateOrNew loads the template of a path, which may not exist yet.
func (a *API) onTemplateOrNew() object[templateOrNew] {
	return object[templateOrNew]{
		large: true,
		load: func(ctx context.Context, c *call) (templateOrNew, error) {
			t, err := a.db.Template(ctx, c.Params("name"))
			if fault.Is(err, fault.NotFound) {
				return templateOrNew{Template: store.Template{OwnerID: c.who.UserID}}, nil // the caller will own it
			}
			return templateOrNew{t, err == nil}, err
		},
		of: func(p templateOrNew) auth.Object {
			if !p.there {
				return auth.Object{Kind: v1.KindOwn} // its workspace is in the body, which is read later
			}
			return ofTemplate(p.Template)
		},
		refusal: func(c *call, verb auth.Verb, p templateOrNew) error {
			return a.onTemplate().refusal(c, verb, p.Template)
		},
	}
}

func ofModel(m store.Model) auth.Object {
	return auth.Object{Kind: v1.KindModel, Name: fmt.Sprintf("model %q", m.Name), OwnerID: m.OwnerID, WorkspaceID: m.WorkspaceID}
}

func (a *API) onModel() object[store.Model] {
	return object[store.Model]{of: ofModel, large: true, load: func(ctx context.Context, c *call) (store.Model, error) {
		return a.seenModel(ctx, c)
	}}
}

// modelName is the name of a model in a path. Params would read a plus sign as a blank, which
// clients do not escape in a path.
func (c *call) modelName() string {
	segments := strings.Split(string(c.Request().URI().PathOriginal()), "/")
	if len(segments) > 4 && segments[3] == "models" {
		if name, err := url.PathUnescape(segments[4]); err == nil {
			return name
		}
	}
	return c.Params("name")
}

// seenModel is the model of a path, if the caller may see it. Who names it by its number is not
// told its name.
func (a *API) seenModel(ctx context.Context, c *call) (store.Model, error) {
	m, err := a.modelOf(ctx, c.modelName())
	if err == nil && !auth.Sees(c.who, ofModel(m)) {
		if onlyDigits(c.modelName()) {
			return store.Model{}, fault.New(fault.NotFound, "model %d not found", m.ID)
		}
		return store.Model{}, c.may(auth.View, ofModel(m))
	}
	return m, err
}

// modelOf finds a model by its name or its number. No name consists of digits alone.
func (a *API) modelOf(ctx context.Context, name string) (store.Model, error) {
	if !onlyDigits(name) {
		return a.db.ModelByName(ctx, name)
	}
	id, err := number(name)
	if err != nil {
		return store.Model{}, fault.New(fault.NotFound, "model %s not found", fault.Clip(name))
	}
	return a.db.Model(ctx, id)
}

// A modelVersion is a version with its model.
type modelVersion struct {
	model store.Model
	store.ModelVersion
	held *store.CheckpointOwner // set if the caller acts for the checkpoint, and not for the model
}

// onModelVersion loads a version of a model. It belongs to who registered it.
func (a *API) onModelVersion() object[modelVersion] {
	return object[modelVersion]{
		large: true,
		load: func(ctx context.Context, c *call) (v modelVersion, err error) {
			if v.model, err = a.seenModel(ctx, c); err != nil {
				return v, err
			}
			if err := c.may(auth.View, ofModel(v.model)); err != nil {
				return v, err
			}
			n, err := c.id("version")
			if err != nil {
				return v, err
			}
			v.ModelVersion, err = a.db.ModelVersion(ctx, v.model, n)
			return v, err
		},
		of: func(v modelVersion) auth.Object {
			return auth.Object{Kind: v1.KindModel, OwnerID: v.OwnerID, WorkspaceID: v.model.WorkspaceID}
		},
	}
}

// onVersionToDelete loads a version for its deletion. A version keeps its checkpoint from being removed, and whoever may view the
// checkpoint may register it in a model of their own. So those who may delete versions in the checkpoint's workspace, if the version
// were its owner's, may delete it too: the owner and WorkspaceAdmins, even if they do not see the model.
func (a *API) onVersionToDelete() object[modelVersion] {
	o := a.onModelVersion()
	load, of := o.load, o.of
	o.of = func(v modelVersion) auth.Object {
		if v.held == nil {
			return of(v)
		}
		return auth.Object{Kind: v1.KindModel, OwnerID: v.held.OwnerID, WorkspaceID: v.held.WorkspaceID}
	}
	o.load = func(ctx context.Context, c *call) (modelVersion, error) {
		v, err := load(ctx, c)
		if err == nil && auth.Can(c.who, auth.Change, of(v)) || err != nil && !fault.Is(err, fault.NotFound) {
			return v, err
		}
		held, why := a.heldVersion(ctx, c)
		if why == nil && auth.Can(c.who, auth.Change, o.of(held)) {
			return held, nil
		}
		return v, err
	}
	return o
}

// heldVersion loads the version of a path, whoever may view its model, with the owner of its checkpoint.
func (a *API) heldVersion(ctx context.Context, c *call) (v modelVersion, err error) {
	if v.model, err = a.modelOf(ctx, c.modelName()); err != nil {
		return v, err
	}
	n, err := c.id("version")
	if err != nil {
		return v, err
	}
	if v.ModelVersion, err = a.db.ModelVersion(ctx, v.model, n); err != nil {
		return v, err
	}
	owners, err := a.db.CheckpointOwners(ctx, []string{v.UUID})
	owner := owners[v.UUID]
	v.held = &owner
	return v, err
}

func ofUser(u store.User) auth.Object { return auth.Object{Kind: v1.KindUser, OwnerID: u.ID} }

func (a *API) onUser(refusal string) object[store.User] {
	o := numbered("id", a.db.UserByID, ofUser)
	o.refusal = func(*call, auth.Verb, store.User) error { return fault.New(fault.Forbidden, "%s", refusal) }
	return o
}

func (a *API) onUserByName() object[store.User] {
	return object[store.User]{of: ofUser, load: func(ctx context.Context, c *call) (store.User, error) {
		return a.db.UserByName(ctx, strings.ToLower(c.Params("name")))
	}}
}

// A node in the form that users see, and its row.
type node struct {
	agent v1.Agent
	row   store.NodeRow
}

func (a *API) onNode() object[node] {
	return object[node]{load: a.nodeOf, of: func(node) auth.Object { return auth.Object{Kind: v1.KindAgent} }}
}

// A nodeSlot is a slot with its node.
type nodeSlot struct {
	slot v1.Slot
	row  store.NodeRow
}

func (a *API) onSlot() object[nodeSlot] {
	return object[nodeSlot]{load: a.slotOf, of: func(nodeSlot) auth.Object { return auth.Object{Kind: v1.KindAgent} }}
}
