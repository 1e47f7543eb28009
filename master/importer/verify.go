package importer

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
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

// An imported experiment: whether it is still here, and whether somebody has worked on it here.
type importedExperiment struct {
	Old  int  `db:"old"`
	Here bool `db:"here"`
	Ours bool `db:"ours"`
}

// verify compares both sides, experiment by experiment: all that the old cluster has, but those that were deleted or worked on here.
func (p *pass) verify(ctx context.Context) error {
	theirs, err := database.Scalars[int](ctx, p.source.DB, `SELECT id FROM experiments ORDER BY id`)
	if err != nil {
		return err
	}
	list, err := database.Rows[importedExperiment](ctx, p.db, `SELECT n.old, e.id IS NOT NULL AS here, coalesce(`+ours+`, false) AS ours
		FROM import_numbers n LEFT JOIN experiments e ON e.id = n.new WHERE n.import_id = $1 AND n.kind = 'experiment'`, p.id)
	if err != nil {
		return err
	}
	known := each.Keyed(list, func(e importedExperiment) int { return e.Old })
	p.show.begin("verification", int64(len(theirs)))
	var wrong []string
	var compared []int
	left := 0
	for _, id := range theirs {
		switch e, there := known[id]; {
		case !there:
			wrong = append(wrong, fmt.Sprintf("experiment %d is not here", id))
		case e.Here && !e.Ours:
			compared = append(compared, id)
		default:
			left++
		}
	}
	p.show.add(int64(len(theirs) - len(compared)))
	for ; len(compared) > 0; compared = compared[min(len(compared), sumsAtOnce):] {
		some := compared[:min(len(compared), sumsAtOnce)]
		differ, err := p.compare(ctx, some)
		if err != nil {
			return err
		}
		wrong = append(wrong, differ...)
		p.show.add(int64(len(some)))
	}
	p.show.end()
	if left > 0 {
		p.notes.add(fmt.Sprintf("%d experiments were not compared: they were deleted or continued here", left), 0)
	}
	if len(wrong) > 0 {
		for _, w := range wrong[:min(len(wrong), maxNamed)] {
			fmt.Fprintln(p.Out, w)
		}
		return fault.New(fault.Conflict, "%d experiments differ between the two clusters", len(wrong))
	}
	fmt.Fprintln(p.Out, "both sides have the same reports, trials and checkpoints")
	return p.fetchSamples(ctx)
}

// compare says which of some experiments differ.
func (p *pass) compare(ctx context.Context, ids []int) (wrong []string, err error) {
	theirs, err := p.oldSums(ctx, ids)
	if err != nil {
		return nil, err
	}
	ours, err := p.ourSums(ctx, ids)
	for _, id := range ids {
		if theirs[id] != ours[id] {
			wrong = append(wrong, fmt.Sprintf("experiment %d: there %+v, here %+v", id, theirs[id], ours[id]))
		}
	}
	return wrong, err
}

func keyed(list []experimentSum) map[int]sum {
	m := map[int]sum{}
	for _, s := range list {
		m[s.ID] = s.sum
	}
	return m
}

// oldSums computes the sums of experiments of the old cluster.
func (p *pass) oldSums(ctx context.Context, ids []int) (map[int]sum, error) {
	rows := ""
	for i, m := range metricsParts {
		if i > 0 {
			rows += " UNION ALL "
		}
		rows += fmt.Sprintf(`SELECT r.experiment_id, m.trial_id AS trial, m.trial_run_id AS run_id, %s AS group_name, %s AS steps, m.archived, coalesce(m.end_time, r.start_time) AS reported_at,
			CASE jsonb_typeof(%[3]s) WHEN 'object' THEN %[3]s ELSE '{}' END AS avg FROM %[4]s m JOIN runs r ON r.id = m.trial_id WHERE m.trial_id = ANY(ARRAY(SELECT o.id FROM runs o JOIN run_id_task_id q ON q.run_id = o.id WHERE o.experiment_id = ANY($1)))`, m.group, m.steps, m.avg, m.table)
	}
	list, err := database.Rows[experimentSum](ctx, p.source.DB, `
		SELECT e.id, coalesce(s.reports, 0) AS reports, coalesce(s.hash, '0') AS hash, (SELECT count(*) FROM runs r WHERE r.experiment_id = e.id AND EXISTS (SELECT FROM run_id_task_id t WHERE t.run_id = r.id)) AS trials,
			k.checkpoints, k.bytes
		FROM experiments e LEFT JOIN (SELECT m.experiment_id, count(*) AS reports, `+hashOf+` AS hash FROM (`+rows+`) m GROUP BY 1) s ON s.experiment_id = e.id
			CROSS JOIN LATERAL (SELECT count(*) AS checkpoints, coalesce(sum(k.size), 0)::bigint AS bytes FROM checkpoints_v2 k WHERE k.uuid IN
				(SELECT c.checkpoint_id FROM run_checkpoints c JOIN runs r ON r.id = c.run_id JOIN run_id_task_id q ON q.run_id = r.id WHERE r.experiment_id = e.id)) k
		WHERE e.id = ANY($1)`, ids)
	return keyed(list), err
}

// ourSums computes the sums here, by the numbers of the experiments there.
func (p *pass) ourSums(ctx context.Context, ids []int) (sums map[int]sum, err error) {
	err = p.db.Alone(ctx, func(tx *database.DB) error {
		list, err := database.Rows[experimentSum](ctx, tx, `
			WITH wanted AS MATERIALIZED (SELECT t.id, t.experiment_id FROM trials t WHERE t.experiment_id = ANY(SELECT unnest($1::int[]) + $2))
			SELECT e.id - $2 AS id, coalesce(s.reports, 0) AS reports, coalesce(s.hash, '0') AS hash, (SELECT count(*) FROM wanted t WHERE t.experiment_id = e.id) AS trials, k.checkpoints, k.bytes
			FROM experiments e LEFT JOIN (SELECT w.experiment_id, count(*) AS reports, `+hashOf+` AS hash FROM wanted w JOIN LATERAL
				(SELECT x.trial_id - $2 AS trial, x.run_id, x.group_name, x.steps, x.archived, x.reported_at, x.avg FROM metrics x WHERE x.trial_id = w.id) m ON true GROUP BY 1) s ON s.experiment_id = e.id
				CROSS JOIN LATERAL (SELECT count(*) AS checkpoints, coalesce(sum(k.size), 0)::bigint AS bytes FROM checkpoints k JOIN wanted t ON t.id = k.trial_id WHERE t.experiment_id = e.id) k
			WHERE e.id = ANY(SELECT unnest($1::int[]) + $2)`, ids, p.shift)
		sums = keyed(list)
		return err
	})
	return sums, err
}
