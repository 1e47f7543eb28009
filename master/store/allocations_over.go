package store

import "context"

// Over says which of these attempts are over, or unknown: nothing of them runs
// any more that should. The names are those of their jobs.
func (db *DB) Over(ctx context.Context, jobs []string) ([]string, error) {
	return scalars[string](ctx, db, `
		SELECT j.name FROM unnest($1::text[]) AS j (name)
		WHERE NOT EXISTS (SELECT 1 FROM allocations a WHERE a.state <> 'TERMINATED' AND 'det-' || replace(a.id, '.', '-') = j.name)`, jobs)
}
