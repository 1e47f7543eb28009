package store

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
)

// LogMatch is a line of a trial's log that matched a log policy.
type LogMatch struct {
	Policy  string `db:"policy"` // name of the policy; "" if it has none
	Pattern string `db:"pattern"`
	Action  string `db:"action"` // cancel_retries, exclude_node, or ""
	Line    string `db:"line"`
	Node    string `db:"node_name"` // node of the attempt; set when the match is stored
}

// LogMatches are matches of one report. Without an attempt, the lines came from outside of
// the cluster, so the matches have no node.
type LogMatches struct {
	TaskID       string
	AllocationID string
	Rank         int
	Matches      []LogMatch
}

// maxMatch is the maximum size of a stored line, in bytes.
const maxMatch = 2000

// maxCounted is how many matches with an action of a trial on a node count for its next attempts; the others are only shown.
const maxCounted = 3

// RecordLogMatches stores the first match of each policy in each attempt, and labels the
// trial with the policy of the newest. A report may be repeated. It returns the new matches.
func (db *DB) RecordLogMatches(ctx context.Context, m LogMatches) (fresh []LogMatch, err error) {
	if len(m.Matches) == 0 {
		return nil, nil
	}
	n := len(m.Matches)
	policies, patterns, actions, lines := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, x := range m.Matches {
		policies[i], patterns[i], actions[i], lines[i] = database.Text(x.Policy), database.Text(x.Pattern), x.Action, database.TextUpTo(x.Line, maxMatch)
	}
	err = db.Tx(ctx, func(tx *DB) error {
		fresh, err = database.Rows[LogMatch](ctx, tx.DB, `
			INSERT INTO log_matches (task_id, allocation_id, rank, node_id, node_name, policy, pattern, action, line, counts)
			SELECT $1, $2, $3, coalesce(x.node_id, ''), coalesce(x.node_name, ''), u.policy, u.pattern, u.action, u.line,
				row_number() OVER (PARTITION BY u.action ORDER BY u.place) + (SELECT count(*) FROM log_matches o
					WHERE o.task_id = $1 AND o.node_id = coalesce(x.node_id, '') AND o.action = u.action AND o.action <> '' AND o.counts AND o.at > coalesce(e.continued_at, '-infinity')) <= $8
			FROM unnest($4::text[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY AS u(policy, pattern, action, line, place)
			LEFT JOIN members x ON x.allocation_id = $2 AND x.rank = $3
			LEFT JOIN tasks k ON k.id = $1 LEFT JOIN experiments e ON e.id = k.experiment_id
			ORDER BY u.place ON CONFLICT DO NOTHING RETURNING policy, pattern, action, line, node_name`,
			m.TaskID, m.AllocationID, m.Rank, policies, patterns, actions, lines, maxCounted)
		for i := len(fresh) - 1; i >= 0 && err == nil; i-- {
			if fresh[i].Policy != "" {
				_, err = tx.Exec(ctx, `UPDATE trials SET log_policy_matched = $2 WHERE task_id = $1`, m.TaskID, fresh[i].Policy)
				break
			}
		}
		return err
	})
	return fresh, err
}

// TaskPolicies returns the configuration that has the log policies of a task; nil if the
// task is not a trial.
func (db *DB) TaskPolicies(ctx context.Context, task string) (json.RawMessage, error) {
	return database.Scalar[json.RawMessage](ctx, db.DB, `
		SELECT e.config->'log_policies' FROM tasks t LEFT JOIN experiments e ON e.id = t.experiment_id AND t.type = 'TRIAL'
		WHERE t.id = $1`, task)
}

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
