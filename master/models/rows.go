package models

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
)

// A Model is a name of the registry, under which checkpoints are registered as versions.
type Model struct {
	ID          int             `db:"id"`
	Name        string          `db:"name"`
	WorkspaceID int             `db:"workspace_id"`
	OwnerID     int             `db:"owner_id"`
	Owner       string          `db:"owner"`
	Description string          `db:"description"`
	Notes       string          `db:"notes"`
	Labels      []string        `db:"labels"`
	Metadata    json.RawMessage `db:"metadata"`
	Archived    bool            `db:"archived"`
	Versions    int             `db:"versions"` // how many it has now
	CreatedAt   time.Time       `db:"created_at"`
	ModifiedAt  time.Time       `db:"modified_at"`
}

const (
	versionsOfModel = `(SELECT count(*) FROM model_versions v WHERE v.model_id = m.id)`
	joins           = ` JOIN workspaces w ON w.id = m.workspace_id JOIN users u ON u.id = m.owner_id`
	selected        = `SELECT m.id, m.name, m.workspace_id, m.owner_id, u.username AS owner, m.description, m.notes, m.labels, m.metadata, m.archived,
		` + versionsOfModel + ` AS versions, m.created_at, m.modified_at FROM models m` + joins
)

// Filter chooses models. Zero values choose all.
type Filter struct {
	ID             int
	Name           string // part of it, in either case
	Description    string // likewise
	Labels         []string
	Archived       *bool
	UserIDs        []int
	Users          []string
	WorkspaceIDs   []int
	WorkspaceNames []string
	Sort           string
	Desc           bool
}

var listed = database.Listed{Table: "models m", Joins: joins, Key: "m.id", Is: "int", Rows: selected,
	Size: "octet_length(m.description) + octet_length(m.notes) + octet_length(m.metadata::text) + octet_length(array_to_string(m.labels, ''))",
	Sorts: database.Sorts{"": "m.id", "name": "lower(" + database.SortText("m.name") + ")", "description": database.SortText("lower(m.description)"), "created": "m.created_at", "modified": "m.modified_at",
		"versions": versionsOfModel, "workspace": "lower(" + database.SortText("w.name") + ")"}}

func (f Filter) conditions(in auth.Scope) database.Conditions {
	var c database.Conditions
	c.When(!in.All, "m.workspace_id = ANY(@scope::int[])", "scope", in.Only())
	c.When(f.ID != 0, "m.id = @id", "id", f.ID)
	c.Containing("m.name", "name", f.Name)
	c.Containing("m.description", "description", f.Description)
	c.When(len(f.Labels) > 0, "m.labels @> @labels::text[]", "labels", f.Labels)
	c.When(f.Archived != nil, "m.archived = @archived", "archived", optional.Value(f.Archived))
	c.When(len(f.UserIDs) > 0, "m.owner_id = ANY(@ids::int[])", "ids", f.UserIDs)
	c.When(len(f.Users) > 0, "u.username = ANY(@users::text[])", "users", f.Users)
	c.When(len(f.WorkspaceIDs) > 0, "m.workspace_id = ANY(@workspaces::int[])", "workspaces", f.WorkspaceIDs)
	c.When(len(f.WorkspaceNames) > 0, "w.name = ANY(@names::text[])", "names", f.WorkspaceNames)
	return c
}

// Count counts the models that the filter chooses.
func Count(ctx context.Context, db *database.DB, in auth.Scope, f Filter) (int, error) {
	return listed.Count(ctx, db, f.conditions(in))
}

// List lists a page of the models that the filter chooses (database.PageOf).
func List(ctx context.Context, db *database.DB, in auth.Scope, f Filter, offset, limit int) ([]Model, error) {
	return database.PageOf[Model, int](ctx, db, &listed, f.conditions(in), f.Sort, f.Desc, offset, limit)
}

// ByIDs reads models in the order of their numbers here.
func ByIDs(ctx context.Context, db *database.DB, ids []int) ([]Model, error) {
	return database.Rows[Model](ctx, db, selected+` JOIN unnest($1::int[]) WITH ORDINALITY AS o(id, place) ON o.id = m.id ORDER BY o.place`, ids)
}

// Labels lists the labels of models, the most used first; workspace 0 means all.
func Labels(ctx context.Context, db *database.DB, in auth.Scope, workspace int) ([]string, error) {
	var c database.Conditions
	c.When(!in.All, "m.workspace_id = ANY(@scope::int[])", "scope", in.Only())
	c.When(workspace != 0, "m.workspace_id = @workspace", "workspace", workspace)
	where := c.Where()
	c.Args["bytes"] = database.MaxPageBytes
	return database.Scalars[string](ctx, db, database.MostUsed(`models m CROSS JOIN LATERAL unnest(m.labels) AS l`+where), c.Args)
}

// Get finds a model by its number.
func Get(ctx context.Context, db *database.DB, id int) (Model, error) {
	m, err := database.Row[Model](ctx, db, "model", selected+` WHERE m.id = $1`, id)
	return m, database.Missing(err, fault.New(fault.NotFound, "model %d not found", id))
}

// ByName finds a model by its name.
func ByName(ctx context.Context, db *database.DB, name string) (Model, error) {
	m, err := database.Row[Model](ctx, db, "model", selected+` WHERE m.name = $1`, name)
	return m, database.Missing(err, fault.New(fault.NotFound, "model %q not found", fault.Clip(name)))
}

// taken turns the error for a name that another model has into a sentence.
func taken(err error, name string) error {
	if fault.Is(err, fault.Conflict) && database.RejectionOf(err).Constraint == "models_name" {
		return fault.New(fault.Conflict, "a model named %q exists already: avoid names equal to other models (case-sensitive)", name)
	}
	return err
}

// insert inserts a model. The caller fills all fields except the id and the dates, and has locked the workspace.
func insert(ctx context.Context, tx *database.DB, m Model) (int, error) {
	id, err := database.Scalar[int](ctx, tx, `INSERT INTO models (name, workspace_id, owner_id, description, notes, labels, metadata)
		VALUES (@name, @workspace, @owner, @description, @notes, @labels, coalesce(@metadata::text::jsonb, '{}')) RETURNING id`,
		database.Args{"name": m.Name, "workspace": m.WorkspaceID, "owner": m.OwnerID, "description": m.Description, "notes": m.Notes,
			"labels": append([]string{}, m.Labels...), "metadata": database.JSONOrNull(m.Metadata)})
	return id, taken(database.BadData(err), m.Name)
}

// A Change has the fields to change; nil leaves a field unchanged.
type Change struct {
	Name        *string
	Description *string
	Notes       *string
	Labels      []string
	Metadata    json.RawMessage
	WorkspaceID int // 0 leaves it unchanged
}

// update changes a model that is not archived. The caller has locked the workspace to which the model moves.
func update(ctx context.Context, tx *database.DB, m Model, ch Change) error {
	err := tx.Change(ctx, fault.New(fault.Conflict, "model %q is archived and cannot have attributes updated; unarchive it first", m.Name),
		`UPDATE models SET name = coalesce(@name, name), description = coalesce(@description, description), notes = coalesce(@notes, notes),
			labels = coalesce(@labels::text[], labels), metadata = coalesce(@metadata::text::jsonb, metadata), workspace_id = coalesce(nullif(@workspace::int, 0), workspace_id),
			modified_at = now()
		WHERE id = @id AND NOT archived`,
		database.Args{"id": m.ID, "name": ch.Name, "description": ch.Description, "notes": ch.Notes, "labels": ch.Labels,
			"metadata": database.JSONOrNull(ch.Metadata), "workspace": ch.WorkspaceID})
	return taken(database.BadData(err), optional.Value(ch.Name))
}

// move moves a model to another workspace, archived or not. The caller has locked the workspace.
func move(ctx context.Context, tx *database.DB, id, workspace int) error {
	return tx.Exec(ctx, `UPDATE models SET workspace_id = $2, modified_at = now() WHERE id = $1`, id, workspace)
}

// archive archives a model, or ends its archiving.
func archive(ctx context.Context, db *database.DB, id int, archived bool) error {
	return db.Exec(ctx, `UPDATE models SET archived = $2, modified_at = now() WHERE id = $1 AND archived <> $2`, id, archived)
}

// remove deletes a model with its versions. Their checkpoints stay.
func remove(ctx context.Context, db *database.DB, id int) error {
	return db.Exec(ctx, `DELETE FROM models WHERE id = $1`, id)
}

// NoneIn fails if a workspace has models.
func NoneIn(ctx context.Context, db *database.DB, workspace int) error {
	has, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM models WHERE workspace_id = $1)`, workspace)
	if err == nil && has {
		return fault.New(fault.Invalid, "workspace (%d) contains models; move or delete models first", workspace)
	}
	return err
}
