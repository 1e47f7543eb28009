package workspaces

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
)

// A Project holds experiments.
type Project struct {
	ID                int    `db:"id"`
	WorkspaceID       int    `db:"workspace_id"`
	WorkspaceName     string `db:"workspace_name"`
	WorkspaceArchived bool   `db:"workspace_archived"`
	Name              string `db:"name"`
	Key               string `db:"key"`
	Description       string `db:"description"`
	OwnerID           int    `db:"owner_id"`
	Owner             string `db:"username"`
	Archived          bool   `db:"archived"`
	Immutable         bool   `db:"immutable"`
	Deleting          bool   `db:"deleting"`
	DeleteError       string `db:"delete_error"`
	Notes             []byte `db:"notes"` // JSON list of {name, contents}
}

const projectJoins = ` JOIN workspaces w ON w.id = p.workspace_id JOIN users u ON u.id = p.owner_id`

const projectSelect = `
	SELECT p.id, p.workspace_id, w.name AS workspace_name, w.archived AS workspace_archived, p.name, p.key, p.description,
		p.owner_id, u.username, p.archived, p.immutable, p.deleting_at IS NOT NULL AS deleting, p.delete_error, p.notes
	FROM projects p` + projectJoins

// ProjectFilter chooses projects of a workspace, or of all (0: all).
type ProjectFilter struct {
	WorkspaceID int
	Name        string // in either case
	Archived    *bool
	UserIDs     []int
	Users       []string
	Sort        string
	Desc        bool
}

var listedProjects = database.Listed{Table: "projects p", Joins: projectJoins, Key: "p.id", Is: "int", Rows: projectSelect,
	Size: "octet_length(p.name) + octet_length(p.description) + octet_length(p.notes::text)",
	Sorts: database.Sorts{"": "p.id", "name": "lower(" + database.SortText("p.name") + ")", "last_started": "(SELECT max(e.started_at) FROM experiments e WHERE e.project_id = p.id)",
		"description": "lower(" + database.SortText("p.description") + ")", "created": "p.created_at"}}

func (f ProjectFilter) conditions(in auth.Scope) database.Conditions {
	var c database.Conditions
	c.When(!in.All, "p.workspace_id = ANY(@scope::int[])", "scope", in.Only())
	c.When(f.WorkspaceID != 0, "p.workspace_id = @workspace", "workspace", f.WorkspaceID)
	c.When(f.Name != "", "lower(p.name) = lower(@name)", "name", f.Name)
	c.When(f.Archived != nil, "p.archived = @archived", "archived", optional.Value(f.Archived))
	c.When(f.UserIDs != nil, "p.owner_id = ANY(@ids::int[])", "ids", f.UserIDs)
	c.When(f.Users != nil, "u.username = ANY(@users::text[])", "users", f.Users)
	return c
}

// CountProjects counts the projects that the filter chooses.
func CountProjects(ctx context.Context, db *database.DB, in auth.Scope, f ProjectFilter) (int, error) {
	return listedProjects.Count(ctx, db, f.conditions(in))
}

// Projects lists a page of the projects that the filter chooses (database.PageOf).
func Projects(ctx context.Context, db *database.DB, in auth.Scope, f ProjectFilter, offset, limit int) ([]Project, error) {
	return database.PageOf[Project, int](ctx, db, &listedProjects, f.conditions(in), f.Sort, f.Desc, offset, limit)
}

// ProjectByID reads a project.
func ProjectByID(ctx context.Context, db *database.DB, id int) (Project, error) {
	p, err := database.Row[Project](ctx, db, "project", projectSelect+` WHERE p.id = $1`, id)
	return p, database.Missing(err, NoProject(id))
}

// ProjectsByID reads projects, in any order.
func ProjectsByID(ctx context.Context, db *database.DB, ids []int) ([]Project, error) {
	return database.Rows[Project](ctx, db, projectSelect+` WHERE p.id = ANY($1)`, ids)
}

// ProjectByKey finds a project by its key, which is upper case.
func ProjectByKey(ctx context.Context, db *database.DB, key string) (Project, error) {
	return database.Row[Project](ctx, db, "project "+key, projectSelect+` WHERE p.key = $1`, key)
}

// ProjectByName finds a project by its workspace's name and its own.
func ProjectByName(ctx context.Context, db *database.DB, workspace, name string) (Project, error) {
	p, err := database.Row[Project](ctx, db, "project", projectSelect+` WHERE w.name = $1 AND p.name = $2`, workspace, name)
	if !fault.Is(err, fault.NotFound) {
		return p, err
	}
	there, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM workspaces WHERE name = $1)`, workspace)
	switch {
	case err != nil:
		return p, err
	case there:
		return p, fault.New(fault.NotFound, "workspace %q has no project %q; create it with det project create", workspace, name)
	}
	return p, NoWorkspace(workspace)
}

// NoProject is the error for a project that does not exist or that the caller may not see.
func NoProject(id int) error { return fault.New(fault.NotFound, "project %d not found", id) }

// NoWorkspace is NoProject for the name of a workspace.
func NoWorkspace(name string) error {
	return fault.New(fault.NotFound, "there is no workspace %q; create it with det workspace create", name)
}

// CreateProject inserts a project.
func CreateProject(ctx context.Context, db *database.DB, p Project) (Project, error) {
	var id int
	err := db.Tx(ctx, func(tx *database.DB) (err error) {
		if err := Lock(ctx, tx, p.WorkspaceID); err != nil {
			return err
		}
		id, err = database.Scalar[int](ctx, tx, `INSERT INTO projects (workspace_id, name, key, description, owner_id) VALUES ($1, $2, $3, $4, $5) RETURNING id`,
			p.WorkspaceID, p.Name, p.Key, p.Description, p.OwnerID)
		return err
	})
	if err != nil {
		return Project{}, projectClash(err, p.Name, p.Key)
	}
	return ProjectByID(ctx, db, id)
}

// projectClash returns an error that says whether the name or the key is in use.
func projectClash(err error, name, key string) error {
	switch {
	case !fault.Is(err, fault.Conflict) || database.RejectionOf(err).Constraint == "":
		return err
	case database.RejectionOf(err).Constraint == "projects_key_key":
		return fault.Wrap(fault.Conflict, ErrKeyTaken, "a project with the key %s already exists", key)
	}
	return fault.New(fault.Conflict, "project %q already exists in this workspace", name)
}

// ErrKeyTaken is the cause of a fault: the key is in use, and the caller can try another.
var ErrKeyTaken = fault.New(fault.Conflict, "this key is taken")

// ProjectChange has the fields to change; nil leaves a field unchanged.
type ProjectChange struct {
	Name        *string
	Key         *string
	Description *string
	Notes       []byte
	NotesWere   []byte // if set, the notes change only if these are still the stored ones
}

// ChangeProject changes a project.
func ChangeProject(ctx context.Context, db *database.DB, id int, ch ProjectChange) error {
	n, err := db.Affect(ctx, `UPDATE projects SET name = coalesce(@name, name), key = coalesce(@key, key),
			description = coalesce(@description, description), notes = coalesce(@notes::jsonb, notes)
		WHERE id = @id AND (@were::jsonb IS NULL OR notes = @were::jsonb) AND (NOT immutable OR (@name::text IS NULL AND @key::text IS NULL AND @description::text IS NULL))`,
		database.Args{"id": id, "name": ch.Name, "key": ch.Key, "description": ch.Description, "notes": database.JSONOrNull(ch.Notes), "were": database.JSONOrNull(ch.NotesWere)})
	switch {
	case err != nil:
		return projectClash(err, optional.Value(ch.Name), optional.Value(ch.Key))
	case n == 0 && ch.NotesWere != nil:
		return fault.New(fault.Conflict, "somebody else changed the notes of project %d meanwhile; try again", id)
	case n == 0:
		return fault.New(fault.Conflict, "project %d is built in and cannot be changed", id)
	}
	return nil
}

// ArchiveProject archives a project, or ends its archiving.
func ArchiveProject(ctx context.Context, db *database.DB, id int, archived bool) error {
	return db.Change(ctx, fault.New(fault.Conflict, "project %d is built in or being deleted, and cannot be archived or unarchived", id), `UPDATE projects SET archived = $2 WHERE id = $1 AND NOT immutable AND deleting_at IS NULL`, id, archived)
}

// NoteVisit stores that a user looked at a project now.
func NoteVisit(ctx context.Context, db *database.DB, user, project int) error {
	return db.Exec(ctx, `INSERT INTO project_visits (user_id, project_id) VALUES ($1, $2)
		ON CONFLICT (user_id, project_id) DO UPDATE SET at = now()`, user, project)
}

// VisitedProjects lists the projects that a user has looked at, the latest first.
func VisitedProjects(ctx context.Context, db *database.DB, in auth.Scope, user, limit int) ([]Project, error) {
	return database.Rows[Project](ctx, db, projectSelect+` JOIN project_visits v ON v.project_id = p.id AND v.user_id = $1
		WHERE ($2::int[] IS NULL OR p.workspace_id = ANY($2)) ORDER BY v.at DESC, p.id LIMIT $3`, user, in.Only(), limit)
}
