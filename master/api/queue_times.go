package api

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// queueTimesAge is for how long the times in queues are shown: the database reads all attempts for them.
const queueTimesAge = time.Minute

// queueTimes keeps how long attempts waited in the queues of pools.
type queueTimes struct {
	turn sync.Mutex // one caller reads; guards the fields below
	at   time.Time
	days []store.QueuedDay
}

// of returns the days of a pool on which attempts left its queue, oldest first, and today: 0 if none did.
func (q *queueTimes) of(ctx context.Context, db *store.DB, now time.Time, pool string) ([]v1.AggregateQueueStats, error) {
	q.turn.Lock()
	defer q.turn.Unlock()
	if now.Sub(q.at) > queueTimesAge {
		days, err := db.QueuedDays(ctx)
		if err != nil {
			return nil, err
		}
		q.days, q.at = days, now
	}
	var list []v1.AggregateQueueStats
	today := now.UTC().Format(time.DateOnly)
	for _, d := range q.days {
		if d.Pool == pool {
			list = append(list, v1.AggregateQueueStats{PeriodStart: d.Day.Format(time.DateOnly), Seconds: d.Seconds})
		}
	}
	if len(list) == 0 || list[len(list)-1].PeriodStart != today {
		list = append(list, v1.AggregateQueueStats{PeriodStart: today})
	}
	return list, nil
}
