package store

import "context"

// LiveOf tells which of the attempts are not over.
func (db *DB) LiveOf(ctx context.Context, ids []string) (map[string]bool, error) {
	type found struct {
		ID string `db:"id"`
	}
	list, err := rows[found](ctx, db, `SELECT id FROM allocations WHERE id = ANY($1) AND state <> 'TERMINATED'`, ids)
	live := make(map[string]bool, len(list))
	for _, f := range list {
		live[f.ID] = true
	}
	return live, err
}
