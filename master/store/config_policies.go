package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// A ConfigPolicy is the text of a policy for experiments or for tasks of other kinds.
type ConfigPolicy struct {
	WorkspaceID *int   `db:"workspace_id"` // nil: of the cluster
	Workload    string `db:"workload"`
	Source      string `db:"source"`
}

// The workloads of policies, in Determined's words.
const (
	WorkloadExperiment = "EXPERIMENT"
	WorkloadTasks      = "NTSC"
)

// ConfigPolicies reads the policies that apply in a workspace: the cluster's, then the
// workspace's. Workspace 0 has none of its own.
func (db *DB) ConfigPolicies(ctx context.Context, workspace int, workload string) ([]ConfigPolicy, error) {
	return database.Rows[ConfigPolicy](ctx, db.DB, `
		SELECT workspace_id, workload, source FROM config_policies
		WHERE workload = $2 AND (workspace_id IS NULL OR workspace_id = $1) ORDER BY workspace_id NULLS FIRST`, workspace, workload)
}

// SetConfigPolicy stores a policy in place of the one before.
func (db *DB) SetConfigPolicy(ctx context.Context, p ConfigPolicy, by int) error {
	_, err := db.Exec(ctx, `
		INSERT INTO config_policies (workspace_id, workload, source, set_by) VALUES ($1, $2, $3, $4)
		ON CONFLICT (coalesce(workspace_id, 0), workload) DO UPDATE SET source = $3, set_by = $4, set_at = now()`,
		p.WorkspaceID, p.Workload, p.Source, by)
	return err
}

// DeleteConfigPolicy deletes a policy, if there is one.
func (db *DB) DeleteConfigPolicy(ctx context.Context, workspace *int, workload string) error {
	_, err := db.Exec(ctx, `DELETE FROM config_policies WHERE workspace_id IS NOT DISTINCT FROM $1 AND workload = $2`, workspace, workload)
	return err
}
