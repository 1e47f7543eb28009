package importer

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/database"
)

// losses are what is not imported, each with a query that counts it.
var losses = []struct {
	what, sql string
	unseen    bool // it may be only that somebody who sees a part of the old cluster does not see it
}{
	{"trials have no task there, and were not imported", `SELECT count(*) FROM old_runs r WHERE NOT EXISTS (SELECT FROM old_run_tasks t WHERE t.run_id = r.id)`, false},
	{"checkpoints belong to no trial there, and were not imported", `SELECT count(*) FROM old_checkpoints k WHERE NOT EXISTS (SELECT FROM old_runs r WHERE r.id = k.run_id)`, false},
	{"versions of models have a checkpoint that was not imported, and were left out", `SELECT count(*) FROM old_model_versions v WHERE NOT EXISTS (SELECT FROM old_checkpoints k JOIN old_runs r ON r.id = k.run_id WHERE k.uuid = v.checkpoint_uuid)`, false},
	{"roles do not exist here, and were left out", `SELECT count(*) FROM old_role_assignments a WHERE a.role_name NOT IN (SELECT role.name FROM ` + roleNumbers() + `)`, false},
	{"experiments have the external id of another one here, and lost it", `SELECT count(*) FROM old_experiments d JOIN experiments x ON x.external_id = d.external_experiment_id AND x.id <> d.id + @shift`, false},
	{"experiments were deleted in the old cluster after they were imported; delete them here, too", `SELECT count(*) FROM import_numbers n JOIN experiments e ON e.id = n.new WHERE n.import_id = @import AND n.kind = 'experiment' AND NOT EXISTS (SELECT FROM old_experiments d WHERE d.id = n.old)`, true},
}

// noteLost notes what is not imported.
func (p *pass) noteLost(ctx context.Context, tx *database.DB) error {
	for _, l := range losses {
		n, err := database.Scalar[int](ctx, tx, l.sql, p.args())
		if err != nil {
			return err
		}
		if n > 0 && !(p.part && l.unseen) {
			p.notes.add(fmt.Sprintf("%d %s", n, l.what), 0)
		}
	}
	// The code of a long copy might be removed before its experiments come.
	return tx.Exec(ctx, `UPDATE contexts SET created_at = now() WHERE hash IN (SELECT code FROM old_experiments)`)
}
