package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/spelling"
)

// quotaRemarks tells which quotas will keep a request waiting, and which soft bounds of slot-hours
// are exceeded. Project 0 stands for no project.
func quotaRemarks(ctx context.Context, db *database.DB, workspace, project, user int, pool string, slots int) ([]string, error) {
	if slots <= 0 {
		return nil, nil
	}
	list, err := queue.QuotasOver(ctx, db, workspace, project, user, pool)
	var remarks []string
	for _, q := range list {
		if text := remarkOf(q, slots, time.Now()); text != "" {
			remarks = append(remarks, text)
		}
	}
	return remarks, err
}

func remarkOf(q queue.Quota, slots int, now time.Time) string {
	if q.Measure == queue.MeasureSlots {
		if q.Hard == nil || slots <= *q.Hard {
			return ""
		}
		return fmt.Sprintf("it needs %s, more than the %s of the quota of %s in %s: it waits until %s raise the quota",
			spelling.Count(slots, "slot"), spelling.Count(*q.Hard, "slot"), q.Name(), q.Pools(), q.Raisers())
	}
	seconds, _ := q.Measured(now)
	hours, when := seconds/3600, ""
	if q.Period != queue.PeriodTotal {
		when = " of this " + q.Period
	}
	switch {
	case q.Hard != nil && hours >= float64(*q.Hard):
		until := q.Raisers() + " raise the quota"
		if end := q.End(now); end != nil {
			until = end.Format("2006-01-02 15:04 UTC") + ", or until " + until
		}
		return fmt.Sprintf("%s has used the %s of its quota%s in %s: this job waits until %s", q.Name(), spelling.Count(*q.Hard, "slot-hour"), when, q.Pools(), until)
	case q.Soft != nil && hours >= float64(*q.Soft):
		return fmt.Sprintf("%s has used %.1f slot-hours%s in %s, over its soft quota of %d", q.Name(), hours, when, q.Pools(), *q.Soft)
	}
	return ""
}
