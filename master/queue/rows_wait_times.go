package queue

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxWaitsAge is how long the times of waiting are kept: the database reads all attempts for them.
const maxWaitsAge = time.Minute

// waits keeps how long attempts waited in the queues of pools.
type waits struct {
	turn sync.Mutex // one caller reads; guards the fields below
	at   time.Time
	days []queuedDay
}

// of returns the days of a pool on which attempts left its queue, oldest first, and today: 0 if none did.
func (w *waits) of(ctx context.Context, db *database.DB, now time.Time, pool string) ([]v1.AggregateQueueStats, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	if now.Sub(w.at) > maxWaitsAge {
		days, err := queuedDays(ctx, db)
		if err != nil {
			return nil, err
		}
		w.days, w.at = days, now
	}
	var list []v1.AggregateQueueStats
	today := now.UTC().Format(time.DateOnly)
	for _, d := range w.days {
		if d.Pool == pool {
			list = append(list, v1.AggregateQueueStats{PeriodStart: d.Day.Format(time.DateOnly), Seconds: d.Seconds})
		}
	}
	if len(list) == 0 || list[len(list)-1].PeriodStart != today {
		list = append(list, v1.AggregateQueueStats{PeriodStart: today})
	}
	return list, nil
}

// A queuedDay is how long attempts that left a pool's queue on a day (UTC) had waited there on average.
type queuedDay struct {
	Pool    string    `db:"pool"`
	Day     time.Time `db:"day"`
	Seconds float64   `db:"seconds"`
}

// queuedDays reads the days of the last month on which attempts left a queue, oldest first. It reads all attempts: call it seldom.
func queuedDays(ctx context.Context, db *database.DB) ([]queuedDay, error) {
	return database.Rows[queuedDay](ctx, db, `
		SELECT pool, (assigned_at AT TIME ZONE 'UTC')::date AS day, avg(greatest(extract(epoch FROM assigned_at - queued_at), 0))::float8 AS seconds
		FROM allocations WHERE assigned_at >= date_trunc('day', now(), 'UTC') - interval '29 days'
		GROUP BY 1, 2 ORDER BY 1, 2`)
}
