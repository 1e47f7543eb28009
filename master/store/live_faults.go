package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// LiveMatch is a match whose policy has an action for the trial's next attempts.
type LiveMatch struct {
	TaskID   string `db:"task_id"`
	NodeID   string `db:"node_id"`
	NodeName string `db:"node_name"`
	Policy   string `db:"policy"`
	Pattern  string `db:"pattern"`
	Action   string `db:"action"`
	Line     string `db:"line"`
}

// liveMatches reads the matches of trials that may still run. If an experiment was
// continued after its end, only matches since then count.
const liveMatches = `
	SELECT m.task_id, m.node_id, m.node_name, left(m.policy, 300) AS policy, left(m.pattern, 300) AS pattern, m.action, left(m.line, 300) AS line
	FROM log_matches m JOIN trials t ON t.task_id = m.task_id JOIN experiments e ON e.id = t.experiment_id
	WHERE t.ended_at IS NULL AND m.action <> '' AND m.counts AND (e.continued_at IS NULL OR m.at > e.continued_at) ORDER BY m.id`

// NodeFailures counts how often in a row attempts of an experiment failed on a node.
type NodeFailures struct {
	ExperimentID int    `db:"experiment_id"`
	NodeID       string `db:"node_id"`
	NodeName     string `db:"node_name"`
	Failures     int    `db:"failures"`
	Avoided      bool   `db:"avoided"`
}

const liveFailures = `
	SELECT f.experiment_id, f.node_id, f.node_name, f.failures, f.avoided
	FROM node_failures f JOIN experiments e ON e.id = f.experiment_id
	WHERE f.failures > 0 AND e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED')
	ORDER BY f.experiment_id, f.node_name, f.node_id`

// queueFailures stores a count, unless the experiment has been deleted.
func queueFailures(b *statements, f NodeFailures) {
	b.queue(`
		INSERT INTO node_failures (experiment_id, node_id, node_name, failures, avoided)
		SELECT id, $2, $3, $4, $5 FROM experiments WHERE id = $1
		ON CONFLICT (experiment_id, node_id) DO UPDATE SET node_name = excluded.node_name, failures = excluded.failures,
			avoided = excluded.avoided, at = now()`, f.ExperimentID, f.NodeID, f.NodeName, f.Failures, f.Avoided)
}

// AvoidedNodes lists the nodes that an experiment avoids.
func (db *DB) AvoidedNodes(ctx context.Context, experiment int) ([]NodeFailures, error) {
	return database.Rows[NodeFailures](ctx, db.DB, `
		SELECT experiment_id, node_id, node_name, failures, avoided FROM node_failures
		WHERE experiment_id = $1 AND avoided ORDER BY node_name, node_id`, experiment)
}
