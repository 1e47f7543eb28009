package models

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB               *database.DB
	DefaultWorkspace int // of a model whose request names none
	// Workspace finds the workspace that a request names by its number, or by its name if the caller may view it. It
	// returns 0 if the request names none.
	Workspace func(ctx context.Context, c *rest.Call, id int, name string) (int, error)
	// LockWorkspace keeps a workspace from being archived or deleted until the transaction ends. It fails for an archived one.
	LockWorkspace func(ctx context.Context, tx *database.DB, id int) error
	// CheckpointOf finds the checkpoint that a request names.
	CheckpointOf func(ctx context.Context, name string) (uuid string, is auth.Object, err error)
	// CheckpointOwner returns the owner and the workspace of a checkpoint.
	CheckpointOwner func(ctx context.Context, uuid string) (auth.Object, error)
	// Checkpoint shows a checkpoint to a caller, and Checkpoints the first of a list that fit into a page, at least one.
	Checkpoint  func(ctx context.Context, who auth.Who, uuid string) (v1.Checkpoint, error)
	Checkpoints func(ctx context.Context, who auth.Who, ids []string) (map[string]v1.Checkpoint, error)
	// Admit fails if a user stores as much as one may, and AdmitChange if a change makes the owner's texts longer then.
	Admit       func(ctx context.Context, owner int, bytes int64) error
	AdmitChange func(ctx context.Context, c *rest.Call, owner, bytes int) error
	Note        func(c *rest.Call, what map[string]any) // adds what a call did to its entry in the audit trail
}

// Routes adds the endpoints of the registry. That of the metrics of a version is with those of the trials that work with it.
func Routes(r *rest.Router, d Deps) {
	model, version := d.onModel(), d.OnVersion()
	rest.Serve(r, v1.ListModels, d.list)
	rest.Serve(r, v1.ListModelLabels, d.labels)
	rest.Serve(r, v1.CreateModel, d.create)
	rest.ServeOn(r, v1.GetModel, model, d.get)
	rest.ServeOn(r, v1.ChangeModel, model, d.change)
	rest.ServeOn(r, v1.DeleteModel, model, d.remove)
	rest.ServeOn(r, v1.ArchiveModel, model, d.archive(true))
	rest.ServeOn(r, v1.UnarchiveModel, model, d.archive(false))
	rest.ServeOn(r, v1.MoveModel, model, d.move)
	rest.ServeOn(r, v1.ListModelVersions, model, d.listVersions)
	rest.ServeOn(r, v1.CreateModelVersion, model, d.registerVersion)
	rest.ServeOn(r, v1.GetModelVersion, version, d.version)
	rest.ServeOn(r, v1.ChangeModelVersion, version, d.changeVersion)
	rest.ServeOn(r, v1.DeleteModelVersion, d.onVersionToDelete(), d.deleteVersion)
}

// Object is a model, for auth.
func Object(m Model) auth.Object {
	return auth.Object{Kind: v1.KindModel, Name: fmt.Sprintf("model %q", m.Name), OwnerID: m.OwnerID, WorkspaceID: m.WorkspaceID}
}

func (d Deps) onModel() rest.Object[Model] {
	return rest.Object[Model]{Of: Object, Large: true, Load: func(ctx context.Context, c *rest.Call) (Model, error) {
		return d.seen(ctx, c)
	}}
}

// modelName is the name of a model in a path. Params would read a plus sign as a blank, which
// clients do not escape in a path.
func modelName(c *rest.Call) string {
	segments := strings.Split(c.PathAsSent(), "/")
	if len(segments) > 4 && segments[3] == "models" {
		if name, err := url.PathUnescape(segments[4]); err == nil {
			return name
		}
	}
	return c.Param("name")
}

// seen is the model of a path, if the caller may see it. The error for a path with the model's number
// does not contain its name.
func (d Deps) seen(ctx context.Context, c *rest.Call) (Model, error) {
	m, err := d.find(ctx, modelName(c))
	if err == nil && !auth.Sees(c.Who(), Object(m)) {
		if onlyDigits(modelName(c)) {
			return Model{}, fault.New(fault.NotFound, "model %d not found", m.ID)
		}
		return Model{}, c.May(auth.View, Object(m))
	}
	return m, err
}

// find finds a model by its name or its number. No name consists of digits alone.
func (d Deps) find(ctx context.Context, name string) (Model, error) {
	if !onlyDigits(name) {
		return ByName(ctx, d.DB, name)
	}
	id, err := rest.Number(name)
	if err != nil {
		return Model{}, fault.New(fault.NotFound, "model %s not found", fault.Clip(name))
	}
	return Get(ctx, d.DB, id)
}

// A Registration is a version with its model.
type Registration struct {
	Model   Model
	Version Version
	held    *auth.Object // set if the caller acts for the checkpoint, and not for the model
}

// OnVersion loads a version of a model. It belongs to who registered it.
func (d Deps) OnVersion() rest.Object[Registration] {
	return rest.Object[Registration]{
		Large: true,
		Load: func(ctx context.Context, c *rest.Call) (v Registration, err error) {
			if v.Model, err = d.seen(ctx, c); err != nil {
				return v, err
			}
			if err := c.May(auth.View, Object(v.Model)); err != nil {
				return v, err
			}
			n, err := c.ID("version")
			if err != nil {
				return v, err
			}
			v.Version, err = VersionByNumber(ctx, d.DB, v.Model, n)
			return v, err
		},
		Of: func(v Registration) auth.Object {
			return auth.Object{Kind: v1.KindModel, OwnerID: v.Version.OwnerID, WorkspaceID: v.Model.WorkspaceID}
		},
	}
}

// onVersionToDelete loads a version for its deletion. A version keeps its checkpoint from being removed, and whoever may view the
// checkpoint may register it in a model of their own. So those who may delete versions in the checkpoint's workspace, if the version
// were its owner's, may delete it too: the owner and WorkspaceAdmins, even if they do not see the model.
func (d Deps) onVersionToDelete() rest.Object[Registration] {
	o := d.OnVersion()
	load, of := o.Load, o.Of
	o.Of = func(v Registration) auth.Object {
		if v.held == nil {
			return of(v)
		}
		return auth.Object{Kind: v1.KindModel, OwnerID: v.held.OwnerID, WorkspaceID: v.held.WorkspaceID}
	}
	o.Load = func(ctx context.Context, c *rest.Call) (Registration, error) {
		v, err := load(ctx, c)
		if err == nil && auth.Can(c.Who(), auth.Change, of(v)) || err != nil && !fault.Is(err, fault.NotFound) {
			return v, err
		}
		held, why := d.heldVersion(ctx, c)
		if why == nil && auth.Can(c.Who(), auth.Change, o.Of(held)) {
			return held, nil
		}
		return v, err
	}
	return o
}

// heldVersion loads the version of a path, whoever may view its model, with the owner of its checkpoint.
func (d Deps) heldVersion(ctx context.Context, c *rest.Call) (v Registration, err error) {
	if v.Model, err = d.find(ctx, modelName(c)); err != nil {
		return v, err
	}
	n, err := c.ID("version")
	if err != nil {
		return v, err
	}
	if v.Version, err = VersionByNumber(ctx, d.DB, v.Model, n); err != nil {
		return v, err
	}
	owner, err := d.CheckpointOwner(ctx, v.Version.UUID)
	v.held = &owner
	return v, err
}
