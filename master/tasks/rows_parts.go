package tasks

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/trial"
)

// Determined gives each continuation of a trial a task of its own. Here a trial keeps its task, and answers show a part of it
// for each continuation: trial.PartID names the parts.

// A Part is a part of a trial's task. The zero value is the whole of a task.
type Part struct {
	N       int // 0: from the beginning of the task
	FromRun int
	ToRun   int // the first run of the next part; 0: there is none
}

// Called is the task's id in answers.
func (k *Task) Called() string { return trial.PartID(k.ID, k.Part.N) }

// GetOrPart finds a task by its id, or else a part of one by its name. A task that was continued is shown as its first part.
func GetOrPart(ctx context.Context, db *database.DB, id string) (Task, error) {
	k, err := Get(ctx, db, id)
	if fault.Is(err, fault.NotFound) {
		of, n, ok := trial.PartOf(id)
		if !ok {
			return k, err
		}
		whole, failed := Get(ctx, db, of)
		if fault.Is(failed, fault.NotFound) || failed == nil && whole.Type != "TRIAL" {
			return k, err
		}
		k, err = whole, failed
		k.Part.N = n
	}
	if err != nil || k.Type != "TRIAL" {
		return k, err
	}
	return k, narrow(ctx, db, &k, id)
}

// narrow shows a part in place of the whole task.
func narrow(ctx context.Context, db *database.DB, k *Task, id string) error {
	type part struct {
		N           int       `db:"n"`
		FirstRun    int       `db:"first_run"`
		BeganAt     time.Time `db:"began_at"`
		EndedBefore time.Time `db:"ended_before"`
		ExitBefore  string    `db:"exit_before"`
	}
	list, err := database.Rows[part](ctx, db, `SELECT n, first_run, began_at, ended_before, exit_before FROM task_parts WHERE task_id = $1 AND n IN ($2, $2 + 1) ORDER BY n`,
		k.ID, k.Part.N)
	if err != nil {
		return err
	}
	if k.Part.N > 0 {
		if len(list) == 0 || list[0].N != k.Part.N {
			return fault.New(fault.NotFound, "task %s not found", fault.Clip(id))
		}
		k.CreatedAt, k.Part.FromRun = list[0].BeganAt, list[0].FirstRun
		list = list[1:]
	}
	for _, next := range list {
		k.EndedAt, k.ExitStatus, k.Shown, k.Part.ToRun = &next.EndedBefore, next.ExitBefore, "TERMINATED", next.FirstRun
	}
	return nil
}
