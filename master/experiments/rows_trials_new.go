package experiments

import (
	"fmt"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/trial"
)

// nextTrial is the id of a new trial.
const nextTrial = `nextval(pg_get_serial_sequence('trials', 'id'))::int`

// QueueNewTrial adds the statements that insert a trial and its task.
func QueueNewTrial(b *database.Statements, t trial.Row) {
	b.QueueOne("task "+t.TaskID, `
		INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, context_hash, pool, slots, priority, session_epoch)
		SELECT $2, 'TRIAL', e.job_id, e.owner_id, p.workspace_id, e.id, $3, e.context_hash, e.pool, e.slots_per_trial, e.priority, e.session_epoch
		FROM experiments e JOIN projects p ON p.id = e.project_id WHERE e.id = $1`, t.ExperimentID, t.TaskID, t.Name)
	b.QueueOne(fmt.Sprintf("trial %d of experiment %d", t.Number, t.ExperimentID), `
		INSERT INTO trials (id, experiment_id, number, task_id, hparams, seed, state, warm_start, run_id, held, target) OVERRIDING SYSTEM VALUE
		VALUES (coalesce($12, `+nextTrial+`), $1, $2, $3, $4, $5, CASE WHEN $11 THEN 'PAUSED' ELSE 'ACTIVE' END,
			coalesce($6::uuid, (SELECT coalesce(k.uuid, CASE WHEN o.origin_until IS NOT NULL THEN o.warm_start END) FROM trials o LEFT JOIN LATERAL (`+checkpoints.StartOf("o")+`) k ON true
			WHERE o.experiment_id = $1 AND o.number = $10)),
			CASE WHEN $7 THEN 0 ELSE 1 END, $8, $9)`,
		t.ExperimentID, t.Number, t.TaskID, t.HParams, t.Seed, t.WarmStart, t.Idle, t.Held, t.Target, t.From, t.Paused, t.ID)
	if t.Number == 0 && t.ID == nil { // the only trial of an experiment is its best from the beginning, as in Determined
		b.Queue(`UPDATE experiments e SET best_trial_id = t.id FROM trials t
			WHERE e.id = $1 AND e.searcher = 'single' AND e.best_trial_id IS NULL AND t.experiment_id = e.id AND t.number = 0`, t.ExperimentID)
	}
}
