package queue

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

// A Forecast says when the jobs of a pool's queue may start.
type Forecast struct {
	Pool       string                   `db:"pool"`
	ComputedAt time.Time                `db:"computed_at"`
	Starts     map[string]ExpectedStart `db:"starts"` // of the first jobs of the queue, by JobKey or the id of a task
	Others     string                   `db:"others"` // why the other jobs have no estimate
}

// An ExpectedStart is when a job may start, or why there is no estimate.
type ExpectedStart struct {
	At      *time.Time `json:"at,omitempty"`
	Unknown string     `json:"unknown,omitempty"`
}

// JobKey names an experiment in a forecast.
func JobKey(experiment int) string { return "experiment " + strconv.Itoa(experiment) }

// maxForecastAge is the age from which a forecast is not shown: a leader replaces forecasts every few seconds, so the
// leader that computed an old one has stopped.
const maxForecastAge = 5 * time.Minute

// SetForecasts replaces the forecasts of all pools.
func SetForecasts(ctx context.Context, db *database.DB, list []Forecast) error {
	pools := each.Of(list, func(f Forecast) string { return f.Pool })
	if err := db.Exec(ctx, `DELETE FROM forecasts WHERE pool <> ALL($1::text[])`, pools); err != nil {
		return err
	}
	for _, f := range list {
		if f.Starts == nil {
			f.Starts = map[string]ExpectedStart{}
		}
		starts, err := json.Marshal(f.Starts)
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, `INSERT INTO forecasts (pool, computed_at, starts, others) VALUES ($1, $2, $3::text::jsonb, $4)
			ON CONFLICT (pool) DO UPDATE SET computed_at = excluded.computed_at, starts = excluded.starts, others = excluded.others`,
			f.Pool, f.ComputedAt, string(starts), f.Others); err != nil {
			return err
		}
	}
	return nil
}

// Forecasts lists the current forecasts by pool.
func Forecasts(ctx context.Context, db *database.DB) (map[string]Forecast, error) {
	list, err := database.Rows[Forecast](ctx, db, `SELECT pool, computed_at, starts, others FROM forecasts WHERE computed_at > now() - $1::interval`, maxForecastAge)
	return each.Keyed(list, func(f Forecast) string { return f.Pool }), err
}

// Expect returns when a job of the queue may start.
func (f Forecast) Expect(j Job) ExpectedStart {
	key := j.TaskID
	if j.ExperimentID != nil {
		key = JobKey(*j.ExperimentID)
	}
	start, known := f.Starts[key]
	switch {
	case known:
		return start
	case f.ComputedAt.IsZero() || j.QueuedAt.After(f.ComputedAt) || j.SubmittedAt.After(f.ComputedAt):
		return ExpectedStart{Unknown: "the master has not estimated the start yet"}
	case f.Others != "":
		return ExpectedStart{Unknown: f.Others}
	}
	return ExpectedStart{Unknown: "it does not wait for slots alone"}
}
