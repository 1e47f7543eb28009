package logs

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/trial"
)

// The log of a trial's task has the lines of all parts. A line of an attempt belongs to the part of that attempt, also if it arrives
// when the next part has begun, and any other line to the part in which it arrived.

// part is what is known of the part whose lines a reader wants; zero for all lines.
type part struct {
	FromRun  int   `db:"from_run"`
	ToRun    int   `db:"to_run"` // 0: there is no later part
	FromLine int64 `db:"from_line"`
	ToLine   int64 `db:"to_line"` // 0: there is no later part
}

// narrow reports whether there are other parts.
func (p part) narrow() bool { return p.FromRun > 0 || p.ToRun > 0 }

// partColumns are the columns of a part in a query with partOf.
const partColumns = `coalesce(p.first_run, 0) AS from_run, coalesce(q.first_run, 0) AS to_run,
	coalesce(p.first_line, 0) AS from_line, coalesce(q.first_line, 0) AS to_line`

// partOf joins the part of a task with this number, p, and the part after it, q. NULL stands for the whole task.
func partOf(task, n string) string {
	return `LEFT JOIN task_parts p ON p.task_id = ` + task + ` AND p.n = ` + n + `::int
		LEFT JOIN task_parts q ON q.task_id = ` + task + ` AND q.n = ` + n + `::int + 1`
}

// originsOf lists the origins of lines that attempts of a part wrote, and of those that attempts of other parts wrote.
func originsOf(ctx context.Context, db *database.DB, task string, log int, p part) (inside, outside []int, err error) {
	type origin struct {
		ID    int  `db:"id"`
		Holds bool `db:"holds"`
	}
	list, err := database.Rows[origin](ctx, db, `
		SELECT o.id, `+trial.HoldsRun("$3", "$4")+` AS holds FROM log_origins o JOIN allocations a ON a.id = o.allocation_id AND a.task_id = $2
		WHERE o.log_task = $1`, log, task, p.FromRun, p.ToRun)
	inside, outside = []int{}, []int{}
	for _, o := range list {
		if o.Holds {
			inside = append(inside, o.ID)
		} else {
			outside = append(outside, o.ID)
		}
	}
	return inside, outside, err
}
