package workspaces

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Policy is the text of a policy for experiments or for tasks of other kinds.
type Policy struct {
	WorkspaceID *int   `db:"workspace_id"` // nil: of the cluster
	Workload    string `db:"workload"`
	Source      string `db:"source"`
}

// The workloads of policies, in Determined's words.
const (
	WorkloadExperiment = "EXPERIMENT"
	WorkloadTasks      = "NTSC"
)

// Policies reads the policies that apply in a workspace: the cluster's, then the
// workspace's. Workspace 0 has none of its own.
func Policies(ctx context.Context, db *database.DB, workspace int, workload string) ([]Policy, error) {
	return database.Rows[Policy](ctx, db, `
		SELECT workspace_id, workload, source FROM config_policies
		WHERE workload = $2 AND (workspace_id IS NULL OR workspace_id = $1) ORDER BY workspace_id NULLS FIRST`, workspace, workload)
}

// SetPolicy stores a policy in place of the one before.
func SetPolicy(ctx context.Context, db *database.DB, p Policy, by int) error {
	return db.Exec(ctx, `
		INSERT INTO config_policies (workspace_id, workload, source, set_by) VALUES ($1, $2, $3, $4)
		ON CONFLICT (coalesce(workspace_id, 0), workload) DO UPDATE SET source = $3, set_by = $4, set_at = now()`,
		p.WorkspaceID, p.Workload, p.Source, by)
}

// DeletePolicy deletes a policy, if there is one.
func DeletePolicy(ctx context.Context, db *database.DB, workspace *int, workload string) error {
	return db.Exec(ctx, `DELETE FROM config_policies WHERE workspace_id IS NOT DISTINCT FROM $1 AND workload = $2`, workspace, workload)
}

// PolicyNamed is what messages call a policy.
func PolicyNamed(workspace string) string {
	if workspace == "" {
		return "config policy of the cluster"
	}
	return fmt.Sprintf("config policy of workspace %q", fault.Clip(workspace))
}
