package store

import "context"

// TakeOver runs at the beginning of a term, and adds rows that a leader of the previous
// release does not write: work for attempts that are to be submitted or stopped, and the
// parts of code (contexts).
func (db *DB) TakeOver(ctx context.Context) error {
	for _, sql := range []string{
		`INSERT INTO work (kind, about, whose, owner_id) SELECT 'submit', a.id, ` + parentOfAttempt + `, k.owner_id FROM allocations a JOIN tasks k ON k.id = a.task_id
			WHERE a.state = 'ASSIGNED' AND a.submitted_at IS NULL AND a.kill_at IS NULL AND a.refused_why = '' ON CONFLICT DO NOTHING`,
		`INSERT INTO work (kind, about, whose, owner_id) SELECT 'stop', a.id, ` + parentOfAttempt + `, k.owner_id FROM allocations a JOIN tasks k ON k.id = a.task_id
			WHERE a.kill_at IS NOT NULL AND a.stopped_at IS NULL AND a.submitted_at IS NOT NULL ON CONFLICT DO NOTHING`,
		`INSERT INTO context_parts (hash, n, data)
			SELECT c.hash, s.n, substring(c.tgz FROM s.n * 1048576 + 1 FOR 1048576)
			FROM contexts c, generate_series(0, (octet_length(c.tgz) - 1) / 1048576) AS s(n)
			WHERE octet_length(c.tgz) > 0 AND NOT EXISTS (SELECT FROM context_parts p WHERE p.hash = c.hash) ON CONFLICT DO NOTHING`,
	} {
		if _, err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
