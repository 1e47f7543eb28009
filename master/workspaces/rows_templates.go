package workspaces

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Template is a stored configuration; submitted configurations are merged over it.
type Template struct {
	Name        string `db:"name"`
	WorkspaceID int    `db:"workspace_id"`
	OwnerID     int    `db:"owner_id"`
	Source      string `db:"source"` // YAML, as it was written
	Config      []byte `db:"config"` // the same as JSON
}

const templateSelect = `SELECT t.name, t.workspace_id, t.owner_id, t.source, t.config FROM templates t`

// TemplateFilter chooses templates. Zero values choose all.
type TemplateFilter struct {
	Name         string // part of it
	WorkspaceIDs []int
	Sort         string
	Desc         bool
}

var listedTemplates = database.Listed{Table: "templates t", Key: "t.name", Is: "text", Rows: templateSelect,
	Size:  "octet_length(t.name) + octet_length(t.source) + octet_length(t.config::text)",
	Sorts: database.Sorts{"": "t.name", "name": "t.name"}}

func (f TemplateFilter) conditions(in auth.Scope) database.Conditions {
	var c database.Conditions
	c.When(!in.All, "t.workspace_id = ANY(@scope::int[])", "scope", in.Only())
	c.Containing("t.name", "name", f.Name)
	c.When(len(f.WorkspaceIDs) > 0, "t.workspace_id = ANY(@workspaces::int[])", "workspaces", f.WorkspaceIDs)
	return c
}

// CountTemplates counts the templates that the filter chooses.
func CountTemplates(ctx context.Context, db *database.DB, in auth.Scope, f TemplateFilter) (int, error) {
	return listedTemplates.Count(ctx, db, f.conditions(in))
}

// Templates lists a page of the templates that the filter chooses (database.PageOf).
func Templates(ctx context.Context, db *database.DB, in auth.Scope, f TemplateFilter, offset, limit int) ([]Template, error) {
	return database.PageOf[Template, string](ctx, db, &listedTemplates, f.conditions(in), f.Sort, f.Desc, offset, limit)
}

// TemplateByName reads a template.
func TemplateByName(ctx context.Context, db *database.DB, name string) (Template, error) {
	t, err := database.Row[Template](ctx, db, "template", templateSelect+` WHERE t.name = $1`, name)
	return t, database.Missing(err, noTemplate(name))
}

func noTemplate(name string) error { return fault.New(fault.NotFound, "template %q not found", name) }

// CreateTemplate inserts a template.
func CreateTemplate(ctx context.Context, db *database.DB, t Template) error {
	err := db.Exec(ctx, `INSERT INTO templates (name, workspace_id, owner_id, source, config)
		VALUES (@name, @workspace, @owner, @source, @config)`,
		database.Args{"name": t.Name, "workspace": t.WorkspaceID, "owner": t.OwnerID, "source": t.Source, "config": string(t.Config)})
	return database.Taken(err, fault.New(fault.Conflict, "template %q already exists", t.Name))
}

// ChangeTemplate replaces the text of a template.
func ChangeTemplate(ctx context.Context, db *database.DB, name, source string, config []byte) error {
	return db.Change(ctx, noTemplate(name), `UPDATE templates SET source = $2, config = $3, modified_at = now() WHERE name = $1`, name, source, string(config))
}

// RenameTemplate renames a template.
func RenameTemplate(ctx context.Context, db *database.DB, name, other string) error {
	err := db.Change(ctx, noTemplate(name), `UPDATE templates SET name = $2, modified_at = now() WHERE name = $1`, name, other)
	return database.Taken(err, fault.New(fault.Conflict, "template %q already exists", other))
}

// DeleteTemplate deletes a template. Experiments that used it do not change.
func DeleteTemplate(ctx context.Context, db *database.DB, name string) error {
	return db.Change(ctx, noTemplate(name), `DELETE FROM templates WHERE name = $1`, name)
}

// TemplateNamed is how messages call a template's document.
func TemplateNamed(template string) string { return fmt.Sprintf("template %q", fault.Clip(template)) }
