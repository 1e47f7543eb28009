// Package attempts is the room of attempts, which Determined's API calls allocations: one run of a task on the nodes where the scheduler
// has placed it, and its members, one for each node.
//
// The control loop creates attempts and writes their states (package control). What their processes report is here. The runner of a member
// claims it, and no program starts before the master has accepted the claim (docs/rfd/0004-the-gate.md); the answer describes what the
// runner starts. The members then meet at the rendezvous, and exchange data in all-gathers. The program asks whether it must stop, the
// runner whether its attempt has ended, and at last the runner reports how the program ended. Those who wait subscribe to the Topic of the
// attempt, and read the rows again when it wakes them. The files, in the order in which one reads them:
//
//	attempts.go             the SQL that reads the description of an attempt, for its runner and for the loop
//	object.go               the attempts and members that paths name: only the attempt itself may call
//	routes.go               the endpoints, and what they use of others
//	claim.go                the claim of a runner
//	rows_gate.go            which claims are accepted
//	rows_rollback.go        the reports of earlier runs that a claim archives
//	rendezvous.go           the members meet
//	rows_members.go         the members, until their exits
//	all_gather.go           all-gathers: the calls
//	all_gather_rounds.go    the answers that all peers of a round share
//	rows_all_gather.go      the data of rounds
//	signals.go              preemption, and what programs report of themselves
//	rows_signals.go         the columns of both
//	runner.go               what runners ask (must the attempt end? which visitors are allowed?) and report (matches of log policies, exits)
//	list.go, rows_list.go   attempts with their history
//	rows_callers.go         the attempts that call, by their tokens
//	rows_jobs.go            attempts by the names of their jobs in Nomad
//
// This room is above accounts, nodes, checkpoints, logs, metrics and tasks. Package artifacts has the files that runners fetch.
package attempts

import "github.com/detent-ml/detent/master/trial"

// Topic wakes long polls of an attempt: for the preemption signal, the
// rendezvous and a task's readiness.
func Topic(id string) string { return "alloc:" + id }

// Columns and Tables are the SQL that reads a task.Row. The account of a task on its node
// is its owner's; the workspace overrides each part of it that it sets, and a part that neither sets is
// root's.
var Columns = `a.id, a.run_id, a.task_id, ` + trial.PartOfRun("a.task_id", "a.run_id") + ` AS part, k.type, k.name AS task_name, a.pool, a.slots, k.config AS task_config,
	coalesce(k.experiment_id, 0) AS experiment_id, coalesce(e.name, '') AS experiment_name, coalesce(e.project_id, 0) AS project_id, e.config, coalesce(t.id, 0) AS trial_id,
	u.username AS owner, k.owner_id, coalesce((g.account->>'uid') || ':' || (g.account->>'gid'), '') AS account,
	coalesce(g.account->>'user', '') AS account_user, coalesce(g.account->>'group', '') AS account_group,
	t.warm_start::text, warm.config AS warm_config, coalesce(warm.owner_id, 0) AS warm_owner, k.unstarted`

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
