package store

import (
	"context"

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
	inWorkspaces(&c, in, "t.workspace_id")
	c.Containing("t.name", "name", f.Name)
	c.When(len(f.WorkspaceIDs) > 0, "t.workspace_id = ANY(@workspaces::int[])", "workspaces", f.WorkspaceIDs)
	return c
}

// CountTemplates counts the templates that the filter chooses.
func (db *DB) CountTemplates(ctx context.Context, in auth.Scope, f TemplateFilter) (int, error) {
	return listedTemplates.Count(ctx, db.DB, f.conditions(in))
}

// Templates lists a page of the templates that the filter chooses (database.PageOf).
func (db *DB) Templates(ctx context.Context, in auth.Scope, f TemplateFilter, offset, limit int) ([]Template, error) {
	return database.PageOf[Template, string](ctx, db.DB, &listedTemplates, f.conditions(in), f.Sort, f.Desc, offset, limit)
}

// Template reads a template.
func (db *DB) Template(ctx context.Context, name string) (Template, error) {
	t, err := database.Row[Template](ctx, db.DB, "template", templateSelect+` WHERE t.name = $1`, name)
	return t, database.Missing(err, noTemplate(name))
}

func noTemplate(name string) error { return fault.New(fault.NotFound, "template %q not found", name) }

// CreateTemplate inserts a template.
func (db *DB) CreateTemplate(ctx context.Context, t Template) error {
	_, err := db.Exec(ctx, `INSERT INTO templates (name, workspace_id, owner_id, source, config)
		VALUES (@name, @workspace, @owner, @source, @config)`,
		database.Args{"name": t.Name, "workspace": t.WorkspaceID, "owner": t.OwnerID, "source": t.Source, "config": string(t.Config)})
	if fault.Is(err, fault.Conflict) {
		return fault.New(fault.Conflict, "template %q already exists", t.Name)
	}
	return err
}

// ChangeTemplate replaces the text of a template.
func (db *DB) ChangeTemplate(ctx context.Context, name, source string, config []byte) error {
	return db.Change(ctx, noTemplate(name), `UPDATE templates SET source = $2, config = $3, modified_at = now() WHERE name = $1`, name, source, string(config))
}

// RenameTemplate renames a template.
func (db *DB) RenameTemplate(ctx context.Context, name, other string) error {
	n, err := db.Exec(ctx, `UPDATE templates SET name = $2, modified_at = now() WHERE name = $1`, name, other)
	if fault.Is(err, fault.Conflict) {
		return fault.New(fault.Conflict, "template %q already exists", other)
	}
	if err == nil && n == 0 {
		return noTemplate(name)
	}
	return err
}

// DeleteTemplate deletes a template. Experiments that used it do not change.
func (db *DB) DeleteTemplate(ctx context.Context, name string) error {
	return db.Change(ctx, noTemplate(name), `DELETE FROM templates WHERE name = $1`, name)
}

// A UsedTemplate is the template of an experiment, as it was when the experiment was created.
type UsedTemplate struct {
	Name   string `db:"template"`
	Source string `db:"template_source"`
}

// TemplateOf reads the template of an experiment; the zero value if it has none.
func (db *DB) TemplateOf(ctx context.Context, experiment int) (UsedTemplate, error) {
	return database.Row[UsedTemplate](ctx, db.DB, "experiment", `SELECT template, template_source FROM experiments WHERE id = $1`, experiment)
}
