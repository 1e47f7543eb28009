package checkpoints

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/search/front"
)

// objectiveValues is SQL for the metrics of a validation vm that the search of experiment e compares; NULL if it has one metric.
const objectiveValues = `(SELECT jsonb_object_agg(o.value->>'name', vm.avg->(o.value->>'name')) FROM jsonb_array_elements(e.objectives) o
	WHERE vm.avg ? (o.value->>'name'))`

// maxByFront is how many checkpoints are listed in the order of the front. More are listed by the first metric: each page reads and orders all of
// them.
const maxByFront = 2_000

// pointsOf returns a function that reads the result of a checkpoint; nil: it has none.
func pointsOf(list objectives.List) func(values []byte) *front.Point {
	return func(values []byte) *front.Point {
		var names map[string]json.RawMessage
		if len(values) == 0 || json.Unmarshal(values, &names) != nil {
			return nil
		}
		read, whole := list.Read(names)
		if !whole {
			return nil
		}
		p := front.Of(list, read)
		return &p
	}
}

// idsByFront lists the checkpoints that the filter chooses in the order of the front, the best first; those without a result come last.
func idsByFront(ctx context.Context, db *database.DB, in auth.Scope, f Filter) ([]string, error) {
	c := f.conditions(in)
	c.Args["most"] = maxByFront
	type row struct {
		UUID   string `db:"uuid"`
		Values []byte `db:"values"`
	}
	rows, err := database.Rows[row](ctx, db, `SELECT k.uuid::text, `+objectiveValues+` AS values`+listedCheckpoints+` JOIN experiments e ON e.id = t.experiment_id
		LEFT JOIN LATERAL (SELECT avg FROM metrics m WHERE m.trial_id = k.trial_id AND m.group_name = 'validation' AND k.logged = ''
			AND m.run_id <= k.run_id AND m.position = k.steps AND NOT m.archived ORDER BY m.run_id DESC LIMIT 1) vm ON true`+
		c.Where()+` ORDER BY k.reported_at, k.uuid LIMIT @most`, c.Args)
	if err != nil {
		return nil, err
	}
	point := pointsOf(f.Objectives)
	points, without := make([]front.Point, len(rows)), make([]bool, len(rows))
	for i, r := range rows {
		if p := point(r.Values); p != nil {
			points[i] = *p
		} else {
			points[i], without[i] = front.Worst(), true
		}
	}
	order := front.Sort(points).Order
	if f.WorstFirst {
		slices.Reverse(order)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(without[a]), place(without[b])) })
	ids := make([]string, len(order))
	for n, i := range order {
		ids[n] = rows[i].UUID
	}
	return ids, nil
}

func place(last bool) int {
	if last {
		return 1
	}
	return 0
}
