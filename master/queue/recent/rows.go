package recent

import (
	"cmp"
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// who is a user in a workspace. Names change, and ids do not: a new name does not hide what was used.
type who struct {
	WorkspaceID int `db:"workspace_id"`
	OwnerID     int `db:"owner_id"`
}

func (w who) compare(x who) int {
	return cmp.Or(cmp.Compare(w.WorkspaceID, x.WorkspaceID), cmp.Compare(w.OwnerID, x.OwnerID))
}

// used is what attempts of a user in a workspace used: slot-hours of attempts that had ended by a time, as they count at that time, and of all others, as
// they count now.
type used struct {
	who
	Settled float64   `db:"settled"`
	Rest    float64   `db:"rest"`
	Now     time.Time `db:"now"`
}

// usedSince adds up the attempts of a pool that have not ended, or ended after since; it begins maxHalfLives ago at the earliest. What a slot has
// used until its end counts, at a time t, the integral of 2^-((t-x)/halfLife) over the time x in which it was held.
func usedSince(ctx context.Context, db *database.DB, pool string, halfLife time.Duration, since time.Time) ([]used, time.Time, error) {
	rows, err := database.Rows[used](ctx, db, `
		WITH clock AS (SELECT clock_timestamp() AS now, clock_timestamp() - make_interval(secs => @settles) AS settled),
		-- from the last count, or the oldest time that counts
		since AS (SELECT greatest(@since::timestamptz, now - make_interval(secs => @oldest)) AS since FROM clock),
		held AS (SELECT u.workspace_id, u.owner_id, u.slots, u.ended_at <= c.settled AS settles, c.now,
				extract(epoch FROM CASE WHEN u.ended_at <= c.settled THEN c.settled ELSE c.now END - u.started_at)::float8 / @life AS began,
				extract(epoch FROM CASE WHEN u.ended_at <= c.settled THEN c.settled ELSE c.now END - coalesce(least(u.ended_at, c.now), c.now))::float8 / @life AS ended
			FROM clock c, since s, usage u WHERE u.pool = @pool AND u.slots > 0 AND u.started_at <= c.now AND coalesce(u.ended_at, 'infinity'::timestamptz) > s.since)
		SELECT workspace_id, owner_id, now,
			coalesce(sum(slots * (power(2, -least(ended, 1000)) - power(2, -least(began, 1000)))) FILTER (WHERE settles), 0) * @life / 3600 / ln(2::float8) AS settled,
			coalesce(sum(slots * (power(2, -least(ended, 1000)) - power(2, -least(began, 1000)))) FILTER (WHERE settles IS NOT TRUE), 0) * @life / 3600 / ln(2::float8) AS rest
		FROM held GROUP BY workspace_id, owner_id, now
		UNION ALL SELECT 0, 0, now, 0, 0 FROM clock -- the time also if nothing was held
		ORDER BY 1, 2`,
		database.Args{"pool": pool, "life": halfLife.Seconds(), "since": since, "oldest": (maxHalfLives * halfLife).Seconds(), "settles": settles.Seconds()})
	if err != nil || len(rows) == 0 {
		return nil, time.Time{}, err
	}
	return rows[1:], rows[0].Now, nil
}

// names are what a user and a workspace are called now; empty if one is deleted.
type names struct {
	who
	Workspace string `db:"workspace"`
	Username  string `db:"username"`
}

// namesOf finds the names of those that used something.
func namesOf(ctx context.Context, db *database.DB, of []who) (map[who]names, error) {
	var workspaces, owners []int
	for _, w := range of {
		workspaces, owners = append(workspaces, w.WorkspaceID), append(owners, w.OwnerID)
	}
	rows, err := database.Rows[names](ctx, db, `
		SELECT x.workspace_id, x.owner_id, coalesce(w.name, '') AS workspace, coalesce(u.username, '') AS username
		FROM unnest($1::int[], $2::int[]) AS x(workspace_id, owner_id) LEFT JOIN workspaces w ON w.id = x.workspace_id LEFT JOIN users u ON u.id = x.owner_id`, workspaces, owners)
	if err != nil {
		return nil, err
	}
	m := make(map[who]names, len(rows))
	for _, r := range rows {
		m[r.who] = r
	}
	return m, nil
}
