package importer

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// The schemas of Determined that are known, by the number of the newest migration: that of 0.38.1, and those of the public fork up to 0.42.
var schemas = []int64{20241024164947, 20260925000000, 20261005000000, 20261006061744}

// facts are what a person wants to know of the old database first.
type facts struct {
	ClusterID string `db:"cluster_id"`
	Migration int64  `db:"migration"`
	Size      int64  `db:"size"`    // of the whole database on its disk
	Largest   int    `db:"largest"` // number of an experiment, trial, model or version
	counts
}

type counts struct {
	Users       int64 `db:"users"`
	Workspaces  int64 `db:"workspaces"`
	Projects    int64 `db:"projects"`
	Experiments int64 `db:"experiments"`
	Live        int64 `db:"live"` // experiments that have not ended
	Trials      int64 `db:"trials"`
	Checkpoints int64 `db:"checkpoints"`
	Models      int64 `db:"models"`
	Metrics     int64 `db:"metrics"` // an estimate
	Lines       int64 `db:"lines"`   // of logs, an estimate
	Code        int64 `db:"code"`    // bytes of model definitions
}

// liveStates are the states of experiments and runs that have not ended.
const liveStates = `('ACTIVE', 'PAUSED', 'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_COMPLETED', 'STOPPING_ERROR', 'RUNNING')`

// estimated is SQL for about the number of rows of a table.
func estimated(table string) string {
	return `(SELECT CASE WHEN reltuples < 0 THEN pg_relation_size(oid) / 300 ELSE reltuples END::bigint FROM pg_class WHERE oid = '` + table + `'::regclass)`
}

// readFacts checks that the database is of a Determined whose schema is known.
func readFacts(ctx context.Context, source *database.Foreign) (facts, error) {
	there, err := database.Scalar[bool](ctx, source.DB, `SELECT to_regclass('gopg_migrations') IS NOT NULL AND to_regclass('runs') IS NOT NULL AND to_regclass('raw_steps') IS NOT NULL`)
	if err != nil {
		return facts{}, err
	}
	if !there {
		return facts{}, fault.New(fault.Invalid, "the database is not of Determined 0.38 or later: it has no tables gopg_migrations, runs and raw_steps (is the name of the database right?)")
	}
	f, err := database.Row[facts](ctx, source.DB, "a cluster", `
		SELECT cluster_id, (SELECT max(version) FROM gopg_migrations) AS migration, pg_database_size(current_database()) AS size,
			greatest((SELECT coalesce(max(id), 0) FROM experiments), (SELECT coalesce(max(id), 0) FROM runs), (SELECT coalesce(max(id), 0) FROM models), (SELECT coalesce(max(id), 0) FROM model_versions)) AS largest,
			(SELECT count(*) FROM users) AS users, (SELECT count(*) FROM workspaces) AS workspaces, (SELECT count(*) FROM projects) AS projects,
			(SELECT count(*) FROM experiments) AS experiments, (SELECT count(*) FROM experiments WHERE state IN `+liveStates+`) AS live,
			(SELECT count(*) FROM runs) AS trials, (SELECT count(*) FROM checkpoints_v2) AS checkpoints, (SELECT count(*) FROM models) AS models,
			`+estimated("raw_steps")+` + `+estimated("raw_validations")+` + `+estimated("generic_metrics")+` + `+estimated("system_metrics")+` AS metrics,
			`+estimated("task_logs")+` AS lines, (SELECT coalesce(sum(octet_length(model_definition)), 0) FROM experiments) AS code
		FROM cluster_id LIMIT 1`)
	if err != nil {
		return facts{}, err
	}
	if !slices.Contains(schemas, f.Migration) {
		return facts{}, fault.New(fault.Invalid, "the database has schema %d of Determined; known are %d (Determined 0.38.1) and the public fork's up to %d: "+
			"upgrade the old cluster to 0.38.1 first, which migrates its database", f.Migration, schemas[0], schemas[len(schemas)-1])
	}
	return f, nil
}

// ofAPI corrects the facts of tables that were filled over the old master's API: before the reports are there, the summaries of trials say how many there are.
func (f *facts) ofAPI(ctx context.Context, source *database.Foreign) error {
	f.Size = 0
	counted, err := database.Scalar[int64](ctx, source.DB, `SELECT coalesce(sum(n), 0)::bigint FROM (SELECT r.id, g.key, max(`+database.FloatAt("m.value->'count'")+`) AS n
		FROM runs r, jsonb_each(CASE jsonb_typeof(r.summary_metrics) WHEN 'object' THEN r.summary_metrics ELSE '{}' END) g, jsonb_each(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) m GROUP BY 1, 2) x`)
	f.Metrics = max(f.Metrics, counted)
	return err
}
