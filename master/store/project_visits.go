package store

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// NoteVisit stores that a user looked at a project now.
func (db *DB) NoteVisit(ctx context.Context, user, project int) error {
	_, err := db.Exec(ctx, `INSERT INTO project_visits (user_id, project_id) VALUES ($1, $2)
		ON CONFLICT (user_id, project_id) DO UPDATE SET at = now()`, user, project)
	return err
}

// VisitedProjects lists the projects that a user has looked at, the latest first.
func (db *DB) VisitedProjects(ctx context.Context, in auth.Scope, user, limit int) ([]Project, error) {
	return database.Rows[Project](ctx, db.DB, projectSelect+` JOIN project_visits v ON v.project_id = p.id AND v.user_id = $1
		WHERE ($2::int[] IS NULL OR p.workspace_id = ANY($2)) ORDER BY v.at DESC, p.id LIMIT $3`, user, in.Only(), limit)
}
