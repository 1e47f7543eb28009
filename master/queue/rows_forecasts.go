package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

// A Forecast says when the jobs of a pool's queue may start, and when its running jobs end.
type Forecast struct {
	Pool       string                   `db:"pool"`
	ComputedAt time.Time                `db:"computed_at"`
	Starts     map[string]ExpectedStart `db:"starts"` // of the first jobs of the queue, by JobKey or the id of a task
	Others     string                   `db:"others"` // why the other jobs have no estimate
	Ends       Ends                     `db:"ends"`   // of jobs that run, by the same names
}

// Ends says when running attempts are expected to end, by their jobs.
type Ends map[string]ExpectedEnd

// An ExpectedEnd is when the first of a job's attempts is expected to end.
type ExpectedEnd struct {
	Earliest time.Time `json:"earliest"`
	Likely   time.Time `json:"likely"`
	Latest   time.Time `json:"latest"`
	Attempts int       `json:"attempts"` // of the job, of which something is known
}

// Add adds an attempt of a job.
func (e Ends) Add(job string, earliest, likely, latest time.Time) {
	known := e[job]
	if known.Attempts == 0 || likely.Before(known.Likely) {
		known.Earliest, known.Likely, known.Latest = earliest, likely, latest
	}
	known.Attempts++
	e[job] = known
}

// maxEnds is how many jobs of a pool a forecast says the end of.
const maxEnds = 1000

// First keeps the jobs that end first, if there are very many.
func (e Ends) First() Ends {
	if len(e) <= maxEnds {
		return e
	}
	jobs := slices.SortedFunc(maps.Keys(e), func(a, b string) int { return cmp.Or(e[a].Likely.Compare(e[b].Likely), cmp.Compare(a, b)) })
	kept := make(Ends, maxEnds)
	for _, job := range jobs[:maxEnds] {
		kept[job] = e[job]
	}
	return kept
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
		if f.Ends == nil {
			f.Ends = Ends{}
		}
		ends, err := json.Marshal(f.Ends)
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, `INSERT INTO forecasts (pool, computed_at, starts, others, ends) VALUES ($1, $2, $3::text::jsonb, $4, $5::text::jsonb)
			ON CONFLICT (pool) DO UPDATE SET computed_at = excluded.computed_at, starts = excluded.starts, others = excluded.others, ends = excluded.ends`,
			f.Pool, f.ComputedAt, string(starts), f.Others, string(ends)); err != nil {
			return err
		}
	}
	return nil
}

// Forecasts lists the current forecasts by pool.
func Forecasts(ctx context.Context, db *database.DB) (map[string]Forecast, error) {
	list, err := database.Rows[Forecast](ctx, db, `SELECT pool, computed_at, starts, others, ends FROM forecasts WHERE computed_at > now() - $1::interval`, maxForecastAge)
	return each.Keyed(list, func(f Forecast) string { return f.Pool }), err
}

// key names a job in a forecast.
func (j Job) key() string {
	if j.ExperimentID != nil {
		return JobKey(*j.ExperimentID)
	}
	return j.TaskID
}

// ExpectEnd returns when the first running attempt of a job is expected to end; nil if nobody knows.
func (f Forecast) ExpectEnd(j Job) *ExpectedEnd {
	end, known := f.Ends[j.key()]
	if !known {
		return nil
	}
	return &end
}

// Expect returns when a job of the queue may start.
func (f Forecast) Expect(j Job) ExpectedStart {
	start, known := f.Starts[j.key()]
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
