package importer

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A sum compares the reports and checkpoints of an experiment on both sides. Sums of hashes do not depend on the order of the rows.
type sum struct {
	Reports     int64  `db:"reports"`
	Hash        string `db:"hash"`
	Trials      int64  `db:"trials"`
	Checkpoints int64  `db:"checkpoints"`
	Bytes       int64  `db:"bytes"`
}

type experimentSum struct {
	ID int `db:"id"`
	sum
}

// sumsAtOnce is the number of experiments whose sums one query computes.
const sumsAtOnce = 100

// hashOf is SQL for the sum of the hashes of reports.
const hashOf = `coalesce(sum(hashtextextended(concat_ws('|', m.trial, m.run_id, m.group_name, m.steps, m.archived, extract(epoch FROM m.reported_at), m.avg::text), 0)::numeric), 0)::text`

// verify compares both sides, experiment by experiment.
func (p *pass) verify(ctx context.Context) error {
	ids, err := database.Scalars[int](ctx, p.db, `SELECT e.id FROM experiments e WHERE NOT `+ours+` AND e.id > $1 AND EXISTS (SELECT FROM trials t JOIN import_trials i ON i.trial_id = t.id WHERE t.experiment_id = e.id) ORDER BY id`, p.shift)
	if err != nil {
		return err
	}
	p.show.begin("verification", int64(len(ids)))
	var wrong []string
	for ; len(ids) > 0; ids = ids[min(len(ids), sumsAtOnce):] {
		some := ids[:min(len(ids), sumsAtOnce)]
		theirs, err := p.oldSums(ctx, some)
		if err != nil {
			return err
		}
		ours, err := p.ourSums(ctx, some)
		if err != nil {
			return err
		}
		for _, id := range some {
			if theirs[id] != ours[id] {
				wrong = append(wrong, fmt.Sprintf("experiment %d: there %+v, here %+v", id-p.shift, theirs[id], ours[id]))
			}
		}
		p.show.add(int64(len(some)))
	}
	p.show.end()
	if len(wrong) > 0 {
		for _, w := range wrong[:min(len(wrong), maxNamed)] {
			fmt.Fprintln(p.Out, w)
		}
		return fault.New(fault.Conflict, "%d experiments differ between the two clusters", len(wrong))
	}
	fmt.Fprintln(p.Out, "both sides have the same reports, trials and checkpoints")
	return p.nameSamples(ctx)
}

// nameSamples prints the newest checkpoint of each storage: whether the files of a storage can be read, only somebody with rights there can say.
func (p *pass) nameSamples(ctx context.Context) error {
	list, err := database.Rows[struct {
		Storage string `db:"storage"`
		UUID    string `db:"uuid"`
	}](ctx, p.db, `
		SELECT DISTINCT ON (s.storage) s.storage, k.uuid::text AS uuid
		FROM checkpoints k JOIN trials t ON t.id = k.trial_id JOIN import_trials i ON i.trial_id = t.id JOIN experiments e ON e.id = t.experiment_id
			LEFT JOIN storage_backends b ON b.id = k.storage_id CROSS JOIN LATERAL (SELECT coalesce(b.config, e.config->'checkpoint_storage') AS c) x
			CROSS JOIN LATERAL (SELECT concat_ws(' ', c->>'type', coalesce(c->>'bucket', c->>'container', c->>'host_path', c->>'container_path'), coalesce(c->>'prefix', c->>'storage_path')) AS storage) s
		WHERE k.state = 'COMPLETED' ORDER BY s.storage, k.reported_at DESC`)
	if err != nil || len(list) == 0 {
		return err
	}
	fmt.Fprintln(p.Out, "fetch a checkpoint of each storage, to see that its files are there:")
	for _, l := range list {
		fmt.Fprintf(p.Out, "  det checkpoint download %s   (%s)\n", l.UUID, l.Storage)
	}
	return nil
}

func keyed(list []experimentSum) map[int]sum {
	m := map[int]sum{}
	for _, s := range list {
		m[s.ID] = s.sum
	}
	return m
}

// oldSums computes the sums of the old cluster, by the numbers of experiments here.
func (p *pass) oldSums(ctx context.Context, ids []int) (map[int]sum, error) {
	rows := ""
	for i, m := range metricsParts {
		if i > 0 {
			rows += " UNION ALL "
		}
		rows += fmt.Sprintf(`SELECT r.experiment_id, m.trial_id AS trial, m.trial_run_id AS run_id, %s AS group_name, %s AS steps, m.archived, coalesce(m.end_time, r.start_time) AS reported_at,
			CASE jsonb_typeof(%[3]s) WHEN 'object' THEN %[3]s ELSE '{}' END AS avg FROM %[4]s m JOIN runs r ON r.id = m.trial_id WHERE r.experiment_id = ANY($1)`, m.group, m.steps, m.avg, m.table)
	}
	old := make([]int, len(ids))
	for i, id := range ids {
		old[i] = id - p.shift
	}
	list, err := database.Rows[experimentSum](ctx, p.source.DB, `
		SELECT e.id + $2 AS id, coalesce(s.reports, 0) AS reports, coalesce(s.hash, '0') AS hash, (SELECT count(*) FROM runs r WHERE r.experiment_id = e.id) AS trials,
			k.checkpoints, k.bytes
		FROM experiments e LEFT JOIN (SELECT m.experiment_id, count(*) AS reports, `+hashOf+` AS hash FROM (`+rows+`) m GROUP BY 1) s ON s.experiment_id = e.id
			CROSS JOIN LATERAL (SELECT count(*) AS checkpoints, coalesce(sum(k.size), 0)::bigint AS bytes FROM checkpoints_v2 k WHERE k.uuid IN
				(SELECT c.checkpoint_id FROM run_checkpoints c JOIN runs r ON r.id = c.run_id WHERE r.experiment_id = e.id)) k
		WHERE e.id = ANY($1)`, old, p.shift)
	return keyed(list), err
}

// ourSums computes the sums here.
func (p *pass) ourSums(ctx context.Context, ids []int) (sums map[int]sum, err error) {
	err = p.db.Alone(ctx, func(tx *database.DB) error {
		list, err := database.Rows[experimentSum](ctx, tx, `
			SELECT e.id, coalesce(s.reports, 0) AS reports, coalesce(s.hash, '0') AS hash, (SELECT count(*) FROM trials t WHERE t.experiment_id = e.id) AS trials, k.checkpoints, k.bytes
			FROM experiments e LEFT JOIN (SELECT t.experiment_id, count(*) AS reports, `+hashOf+` AS hash FROM
				(SELECT x.*, x.trial_id - $2 AS trial FROM metrics x) m JOIN trials t ON t.id = m.trial_id WHERE t.experiment_id = ANY($1) GROUP BY 1) s ON s.experiment_id = e.id
				CROSS JOIN LATERAL (SELECT count(*) AS checkpoints, coalesce(sum(k.size), 0)::bigint AS bytes FROM checkpoints k JOIN trials t ON t.id = k.trial_id WHERE t.experiment_id = e.id) k
			WHERE e.id = ANY($1)`, ids, p.shift)
		sums = keyed(list)
		return err
	})
	return sums, err
}
