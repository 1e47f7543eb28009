package logs

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
)

// Match is a line of a trial's log that matched a log policy.
type Match struct {
	Policy  string `db:"policy"` // name of the policy; "" if it has none
	Pattern string `db:"pattern"`
	Action  string `db:"action"` // cancel_retries, exclude_node, or ""
	Line    string `db:"line"`
	Node    string `db:"node_name"` // node of the attempt; set when the match is stored
}

// Matches are matches of one report. Without an attempt, the lines came from outside of
// the cluster, so the matches have no node.
type Matches struct {
	TaskID       string
	AllocationID string
	Rank         int
	Matches      []Match
}

// maxMatch is the maximum size of a stored line, in bytes.
const maxMatch = 2000

// maxCounted is how many matches with an action of a trial on a node count for its next attempts; the others are only shown.
const maxCounted = 3

// RecordMatches stores the first match of each policy in each attempt, and labels the
// trial with the policy of the newest. A report may be repeated. It returns the new matches.
func RecordMatches(ctx context.Context, db *database.DB, m Matches) (fresh []Match, err error) {
	if len(m.Matches) == 0 {
		return nil, nil
	}
	n := len(m.Matches)
	policies, patterns, actions, lines := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, x := range m.Matches {
		policies[i], patterns[i], actions[i], lines[i] = database.Text(x.Policy), database.Text(x.Pattern), x.Action, database.TextUpTo(x.Line, maxMatch)
	}
	err = db.Tx(ctx, func(tx *database.DB) error {
		fresh, err = database.Rows[Match](ctx, tx, `
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
				err = tx.Exec(ctx, `UPDATE trials SET log_policy_matched = $2 WHERE task_id = $1`, m.TaskID, fresh[i].Policy)
				break
			}
		}
		return err
	})
	return fresh, err
}

// policiesOfTask returns the configuration that has the log policies of a task; nil if the
// task is not a trial.
func policiesOfTask(ctx context.Context, db *database.DB, task string) (json.RawMessage, error) {
	return database.Scalar[json.RawMessage](ctx, db, `
		SELECT e.config->'log_policies' FROM tasks t LEFT JOIN experiments e ON e.id = t.experiment_id AND t.type = 'TRIAL'
		WHERE t.id = $1`, task)
}
