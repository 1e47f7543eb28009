package attempts

import (
	"github.com/detent-ml/detent/master/trial"
)

// Columns and Tables are the SQL that reads a task.Row. The account of a task on its node
// is its owner's; the workspace overrides each part of it that it sets, and a part that neither sets is
// root's.
var Columns = `a.id, a.run_id, a.task_id, ` + trial.PartOfRun("a.task_id", "a.run_id") + ` AS part, k.type, k.name AS task_name, a.pool, a.slots, k.config AS task_config,
	coalesce(k.experiment_id, 0) AS experiment_id, coalesce(e.name, '') AS experiment_name, e.config, coalesce(t.id, 0) AS trial_id,
	u.username AS owner, k.owner_id, coalesce((g.account->>'uid') || ':' || (g.account->>'gid'), '') AS account,
	coalesce(g.account->>'user', '') AS account_user, coalesce(g.account->>'group', '') AS account_group,
	t.warm_start::text, warm.config AS warm_config, coalesce(warm.owner_id, 0) AS warm_owner`

const Tables = `allocations a
	JOIN tasks k ON k.id = a.task_id
	JOIN users u ON u.id = k.owner_id
	JOIN workspaces w ON w.id = k.workspace_id
	CROSS JOIN LATERAL (SELECT CASE WHEN coalesce(nullif(w.settings->'agent_user', 'null'), u.agent_user) IS NOT NULL THEN '{"uid": 0, "gid": 0}'
		|| coalesce(u.agent_user, '{}') || coalesce(nullif(w.settings->'agent_user', 'null'), '{}') END AS account) g
	LEFT JOIN experiments e ON e.id = k.experiment_id
	LEFT JOIN trials t ON t.task_id = k.id
	LEFT JOIN LATERAL (
		SELECT we.config, we.owner_id FROM checkpoints wc JOIN trials wt ON wt.id = wc.trial_id JOIN experiments we ON we.id = wt.experiment_id
		WHERE wc.uuid = t.warm_start AND we.id <> e.id) warm ON true`
