package workspaces

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
)

// Default is the id of the workspace that the schema creates.
const Default = 1

// DefaultProject is the project that the schema creates, for experiments that name none.
const DefaultProject = 1

// A Workspace holds projects.
type Workspace struct {
	ID          int    `db:"id"`
	Name        string `db:"name"`
	OwnerID     int    `db:"owner_id"`
	Owner       string `db:"username"`
	Archived    bool   `db:"archived"`
	Immutable   bool   `db:"immutable"`
	Deleting    bool   `db:"deleting"`
	DeleteError string `db:"delete_error"`
	Settings    []byte `db:"settings"` // JSON, see Settings
}

// Settings has the defaults of a workspace for its experiments' configurations.
type Settings struct {
	DefaultComputePool string         `json:"default_compute_pool,omitempty"`
	DefaultAuxPool     string         `json:"default_aux_pool,omitempty"`
	CheckpointStorage  map[string]any `json:"checkpoint_storage,omitempty"`
	AgentUser          map[string]any `json:"agent_user,omitempty"`
}

const workspaceJoins = ` JOIN users u ON u.id = w.owner_id`

const workspaceSelect = `
	SELECT w.id, w.name, w.owner_id, u.username, w.archived, w.immutable, w.deleting_at IS NOT NULL AS deleting, w.delete_error, w.settings
	FROM workspaces w` + workspaceJoins

// Filter chooses workspaces. Determined's clients look a workspace up by its name and
// expect at most one, so a part of the name does not match.
type Filter struct {
	Name     string // in either case
	Exact    string
	Archived *bool
	UserIDs  []int
	Users    []string
	// Pinned keeps the workspaces that a user has pinned, or the others; nil keeps all.
	Pinned   *bool
	PinnedBy int
	Sort     string
	Desc     bool
}

var listedWorkspaces = database.Listed{Table: "workspaces w", Joins: workspaceJoins, Key: "w.id", Is: "int", Rows: workspaceSelect,
	Size:  "octet_length(w.name) + octet_length(w.settings::text)",
	Sorts: database.Sorts{"": "w.id", "name": "lower(w.name)"}}

func (f Filter) conditions(in auth.Scope) database.Conditions {
	var c database.Conditions
	c.When(!in.All, "w.id = ANY(@scope::int[])", "scope", in.Only())
	c.When(f.Name != "", "lower(w.name) = lower(@name)", "name", f.Name)
	c.When(f.Exact != "", "w.name = @exact", "exact", f.Exact)
	c.When(f.Archived != nil, "w.archived = @archived", "archived", optional.Value(f.Archived))
	c.When(f.UserIDs != nil, "w.owner_id = ANY(@ids::int[])", "ids", f.UserIDs)
	c.When(f.Users != nil, "u.username = ANY(@users::text[])", "users", f.Users)
	c.When(f.Pinned != nil, "EXISTS (SELECT FROM workspace_pins x WHERE x.workspace_id = w.id AND x.user_id = @by) = @pinned", "pinned", optional.Value(f.Pinned))
	c.Args["by"] = f.PinnedBy
	return c
}

// Count counts the workspaces that the filter chooses.
func Count(ctx context.Context, db *database.DB, in auth.Scope, f Filter) (int, error) {
	return listedWorkspaces.Count(ctx, db, f.conditions(in))
}

// List lists a page of the workspaces that the filter chooses (database.PageOf).
func List(ctx context.Context, db *database.DB, in auth.Scope, f Filter, offset, limit int) ([]Workspace, error) {
	return database.PageOf[Workspace, int](ctx, db, &listedWorkspaces, f.conditions(in), f.Sort, f.Desc, offset, limit)
}

// IDs returns the numbers of all workspaces.
func IDs(ctx context.Context, db *database.DB) ([]int, error) {
	return database.Scalars[int](ctx, db, `SELECT id FROM workspaces`)
}

// Get reads a workspace.
func Get(ctx context.Context, db *database.DB, id int) (Workspace, error) {
	w, err := database.Row[Workspace](ctx, db, "workspace", workspaceSelect+` WHERE w.id = $1`, id)
	return w, database.Missing(err, fault.New(fault.NotFound, "workspace %d not found", id))
}

// Create inserts a workspace, and pins it for its owner. If roles are in use, the owner becomes its WorkspaceAdmin.
func Create(ctx context.Context, db *database.DB, roles accounts.Roles, name string, owner int, settings []byte) (Workspace, error) {
	var id int
	err := db.Tx(ctx, func(tx *database.DB) (err error) {
		id, err = database.Scalar[int](ctx, tx, `INSERT INTO workspaces (name, owner_id, settings) VALUES ($1, $2, coalesce($3::jsonb, '{}')) RETURNING id`,
			name, owner, database.JSONOrNull(settings))
		if err == nil {
			err = Pin(ctx, tx, owner, id)
		}
		if err != nil || !bool(roles) {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO role_assignments (role_id, user_id, workspace_id) VALUES ($1, $2, $3)`, int(auth.WorkspaceAdmin), owner, id)
	})
	if err != nil {
		return Workspace{}, database.Taken(err, fault.New(fault.Conflict, "workspace %q already exists", name))
	}
	return Get(ctx, db, id)
}

// Change changes the name of a workspace, and merges settings into its settings; nil
// leaves them unchanged.
func Change(ctx context.Context, db *database.DB, id int, name *string, settings []byte) error {
	err := db.Change(ctx, fault.New(fault.Conflict, "workspace %d is built in and cannot be changed", id), `UPDATE workspaces SET name = coalesce($2, name), settings = settings || coalesce($3::jsonb, '{}')
		WHERE id = $1 AND NOT immutable`, id, name, database.JSONOrNull(settings))
	return database.Taken(err, fault.New(fault.Conflict, "workspace %q already exists", optional.Value(name)))
}

// Archive archives a workspace, or ends its archiving.
func Archive(ctx context.Context, db *database.DB, id int, archived bool) error {
	return db.Change(ctx, fault.New(fault.Conflict, "workspace %d is built in or being deleted, and cannot be archived or unarchived", id), `UPDATE workspaces SET archived = $2 WHERE id = $1 AND NOT immutable AND deleting_at IS NULL`, id, archived)
}

// Lock keeps a workspace from being archived or deleted until the transaction has
// stored what comes into it. It rejects an archived workspace.
func Lock(ctx context.Context, db *database.DB, id int) error {
	w, err := database.Row[struct {
		Name     string `db:"name"`
		Archived bool   `db:"archived"`
	}](ctx, db, "workspace", `SELECT name, archived FROM workspaces WHERE id = $1 FOR SHARE`, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.NotFound, "workspace %d not found", id)
	case err != nil:
		return err
	case w.Archived:
		return fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", w.Name)
	}
	return nil
}

// Pin pins a workspace for a user; pinning it again changes nothing.
func Pin(ctx context.Context, db *database.DB, user, workspace int) error {
	return db.Exec(ctx, `INSERT INTO workspace_pins (user_id, workspace_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, user, workspace)
}

// Unpin unpins it.
func Unpin(ctx context.Context, db *database.DB, user, workspace int) error {
	return db.Exec(ctx, `DELETE FROM workspace_pins WHERE user_id = $1 AND workspace_id = $2`, user, workspace)
}

// Pins lists the workspaces that a user has pinned, and since when.
func Pins(ctx context.Context, db *database.DB, user int) (map[int]time.Time, error) {
	return database.Map[int, time.Time](ctx, db, `SELECT workspace_id, pinned_at FROM workspace_pins WHERE user_id = $1`, user)
}

// What projects and workspaces contain is counted for those that an answer shows. Counting reads
// every experiment in them, so whoever only needs the project itself, such as the launch of an
// experiment, does not count.

// projectContents counts what a project contains.
type projectContents struct {
	ID            int        `db:"id"`
	Experiments   int        `db:"experiments"`
	Active        int        `db:"active"`
	Trials        int        `db:"trials"`
	LastStartedAt *time.Time `db:"last_started_at"` // of its experiments
}

// contentsOfProjects counts what projects contain. A project without experiments is not in the answer.
func contentsOfProjects(ctx context.Context, db *database.DB, ids []int) (map[int]projectContents, error) {
	list, err := database.Rows[projectContents](ctx, db, `
		SELECT e.project_id AS id, count(*) AS experiments,
			count(*) FILTER (WHERE e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')) AS active,
			coalesce(sum(t.n), 0)::bigint AS trials, max(e.started_at) AS last_started_at
		FROM experiments e
		LEFT JOIN (SELECT experiment_id, count(*) AS n FROM trials WHERE experiment_id IN
				(SELECT id FROM experiments WHERE project_id = ANY($1::int[])) GROUP BY experiment_id) t ON t.experiment_id = e.id
		WHERE e.project_id = ANY($1::int[]) GROUP BY e.project_id`, ids)
	return each.Keyed(list, func(c projectContents) int { return c.ID }), err
}

// contents counts what a workspace contains.
type contents struct {
	ID          int `db:"id"`
	Projects    int `db:"projects"`
	Experiments int `db:"experiments"`
}

// contentsOf counts what workspaces contain. A workspace without projects is not in the answer.
func contentsOf(ctx context.Context, db *database.DB, ids []int) (map[int]contents, error) {
	list, err := database.Rows[contents](ctx, db, `
		SELECT p.workspace_id AS id, count(*) AS projects, sum(e.n)::bigint AS experiments
		FROM projects p CROSS JOIN LATERAL (SELECT count(*) AS n FROM experiments WHERE project_id = p.id) e
		WHERE p.workspace_id = ANY($1::int[]) GROUP BY p.workspace_id`, ids)
	return each.Keyed(list, func(c contents) int { return c.ID }), err
}
