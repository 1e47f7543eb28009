package live

import (
	"context"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/live/updates"
)

// TopicUpdates wakes clients that follow projects, models and their versions. Triggers of the
// database publish it.
const TopicUpdates = "updates"

// updatesPageBytes is how many bytes of projects, models or versions are read at once.
const updatesPageBytes = 1 << 20

// ProjectUpdates lists the projects that a subscription selects, ordered by id.
func ProjectUpdates(ctx context.Context, db *database.DB, in auth.Scope, f *updates.Filter) ([]updates.Row, error) {
	return selectUpdates(ctx, db, "projects", `SELECT p.id, p.seq FROM projects p`, "p.workspace_id", in, f, map[string][]int{"p.workspace_id": f.WorkspaceIDs, "p.id": f.ProjectIDs})
}

// ModelUpdates lists the models that a subscription selects, ordered by id.
func ModelUpdates(ctx context.Context, db *database.DB, in auth.Scope, f *updates.Filter) ([]updates.Row, error) {
	return selectUpdates(ctx, db, "models", `SELECT m.id, m.seq FROM models m`, "m.workspace_id", in, f,
		map[string][]int{"m.workspace_id": f.WorkspaceIDs, "m.id": f.ModelIDs, "m.owner_id": f.UserIDs})
}

// VersionUpdates lists the versions of models that a subscription selects, ordered by id.
func VersionUpdates(ctx context.Context, db *database.DB, in auth.Scope, f *updates.Filter) ([]updates.Row, error) {
	return selectUpdates(ctx, db, "versions of models", `SELECT v.id, v.seq FROM model_versions v JOIN models m ON m.id = v.model_id`, "m.workspace_id", in, f,
		map[string][]int{"v.id": f.VersionIDs, "v.model_id": f.ModelIDs, "v.owner_id": f.UserIDs})
}

// selectUpdates returns the rows in which a column has one of its wanted ids; by has the ids of each column.
func selectUpdates(ctx context.Context, db *database.DB, what, query, workspace string, in auth.Scope, f *updates.Filter, by map[string][]int) ([]updates.Row, error) {
	if f.Empty() {
		return nil, nil
	}
	var c database.Conditions
	c.When(!in.All, workspace+" = ANY(@scope::int[])", "scope", in.Only())
	var wanted []string
	for column, ids := range by {
		if len(ids) > 0 {
			name := strings.ReplaceAll(column, ".", "_")
			wanted = append(wanted, column+" = ANY(@"+name+"::int[])")
			c.Args[name] = ids
		}
	}
	slices.Sort(wanted) // the same text each time, so that PostgreSQL keeps its plan
	c.List = append(c.List, "("+strings.Join(wanted, " OR ")+")")
	c.Args["limit"] = updates.MaxRows + 1
	list, err := database.Rows[updates.Row](ctx, db, query+c.Where()+` ORDER BY 1 LIMIT @limit`, c.Args)
	if err == nil && len(list) > updates.MaxRows {
		return nil, fault.New(fault.Invalid, "the subscription selects more than %d %s; select fewer", updates.MaxRows, what)
	}
	return list, err
}

// ProjectsByID reads projects in the form in which the stream sends them to clients, until they have about a
// megabyte. It returns the ordered ids that it has not read, too.
func ProjectsByID(ctx context.Context, db *database.DB, in auth.Scope, ids []int) ([]updates.Project, []int, error) {
	return readByID(ctx, db, in, ids, func(p updates.Project) int { return p.ID }, `SELECT p.id, p.name, p.description, p.archived, p.created_at, p.notes, p.workspace_id, p.owner_id, p.immutable,
			CASE WHEN p.delete_error <> '' THEN 'DELETE_FAILED' WHEN p.deleting_at IS NOT NULL THEN 'DELETING' ELSE 'UNSPECIFIED' END AS state, p.key, p.seq
		FROM projects p WHERE p.id = ANY(@ids::int[]) AND (@scope::int[] IS NULL OR p.workspace_id = ANY(@scope)) ORDER BY p.id`)
}

// ModelsByID is ProjectsByID for models.
func ModelsByID(ctx context.Context, db *database.DB, in auth.Scope, ids []int) ([]updates.Model, []int, error) {
	return readByID(ctx, db, in, ids, func(m updates.Model) int { return m.ID }, `SELECT m.id, m.name, m.description, m.archived, m.created_at, m.notes, m.workspace_id, m.owner_id, m.modified_at, m.metadata, m.labels, m.seq
		FROM models m WHERE m.id = ANY(@ids::int[]) AND (@scope::int[] IS NULL OR m.workspace_id = ANY(@scope)) ORDER BY m.id`)
}

// VersionsByID is ProjectsByID for versions of models.
func VersionsByID(ctx context.Context, db *database.DB, in auth.Scope, ids []int) ([]updates.Version, []int, error) {
	return readByID(ctx, db, in, ids, func(v updates.Version) int { return v.ID }, `SELECT v.id, v.name, v.version, v.checkpoint::text, v.created_at, v.modified_at, v.metadata, v.model_id, v.owner_id, v.comment, v.labels,
			v.notes, m.workspace_id::text AS workspace, v.seq
		FROM model_versions v JOIN models m ON m.id = v.model_id
		WHERE v.id = ANY(@ids::int[]) AND (@scope::int[] IS NULL OR m.workspace_id = ANY(@scope)) ORDER BY v.id`)
}

func readByID[T any](ctx context.Context, db *database.DB, in auth.Scope, ids []int, idOf func(T) int, sql string) (list []T, rest []int, err error) {
	list, full, err := database.RowsUpTo[T](ctx, db, updatesPageBytes, sql, database.Args{"ids": ids, "scope": in.Only()})
	if err != nil || !full {
		return list, nil, err
	}
	last, _ := slices.BinarySearch(ids, idOf(list[len(list)-1]))
	return list, ids[last+1:], nil
}
