package metrics

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// A sample of reports has at most sampleWindows × windowReports, in about equal distances: a training of a week
// on many nodes makes millions.
const (
	sampleWindows = 400
	windowReports = 50
	clocksAhead   = time.Hour // reports that are later than that are left for the end of a sample
)

// EachSampled calls fn with reports of a trial's group, page by page, and returns the position of the
// last report: with all reports if they are not more than a sample, else with a sample.
func EachSampled(ctx context.Context, db *database.DB, trial int, group string, fn func([]Row) error) (GroupPosition, error) {
	type extent struct {
		Reports int   `db:"reports"`
		Last    int64 `db:"last"` // of those whose clock is right
		Newest  int64 `db:"newest"`
		Run     int   `db:"run"`
	}
	e, err := database.Row[extent](ctx, db, "", `
		SELECT (SELECT count(*) FROM (SELECT FROM metrics WHERE trial_id = $1 AND group_name = $2 LIMIT $3) m) AS reports,
			coalesce((SELECT max(position) FROM metrics WHERE trial_id = $1 AND group_name = $2 AND position <= $4), 0) AS last,
			coalesce(newest.position, -1) AS newest, coalesce(newest.run_id, -1) AS run
		FROM (SELECT) one LEFT JOIN (SELECT position, run_id FROM metrics WHERE trial_id = $1 AND group_name = $2 ORDER BY position DESC, run_id DESC LIMIT 1) newest ON true`,
		trial, group, sampleWindows*windowReports+1, time.Now().Add(clocksAhead).UnixMicro())
	switch {
	case err != nil:
		return BeforeFirst(), err
	case e.Reports <= sampleWindows*windowReports:
		return EachAfter(ctx, db, trial, group, BeforeFirst(), fn)
	}
	at := BeforeFirst()
	var page []Row
	bytes := 0
	for left := sampleWindows; left > 0; left-- {
		found, full, err := database.RowsUpTo[Row](ctx, db, pageBytes, `SELECT `+rowColumns+` FROM metrics
			WHERE trial_id = $1 AND group_name = $2 AND (position, run_id) > ($3, $4) AND NOT archived
			ORDER BY position, run_id LIMIT $5`, trial, group, at.position, at.run, windowReports)
		if err != nil {
			return BeforeFirst(), err
		}
		for _, m := range found {
			bytes += len(m.Metrics) + len(m.Batches)
		}
		page = append(page, found...)
		ended := !full && len(found) < windowReports
		if len(page)+windowReports > maxPage || bytes > pageBytes || left == 1 || ended {
			if err := fn(page); err != nil {
				return BeforeFirst(), err
			}
			page, bytes = nil, 0
		}
		if ended {
			break
		}
		// The windows that are left divide the time that is left, so that a gap costs none of them.
		first, end := found[0], found[len(found)-1]
		at = GroupPosition{end.Position, end.RunID}
		if next := first.Position + (e.Last-first.Position)/int64(left); next > at.position {
			at = GroupPosition{next, -1}
		}
	}
	return GroupPosition{e.Newest, e.Run}, nil
}
