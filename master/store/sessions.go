package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
)

// afterEnd is how long the token of an ended attempt is still good for its last
// log lines and its exit report.
const afterEnd = 15 * time.Minute

// NewSession stores the hash of a user's token.
func (db *DB) NewSession(ctx context.Context, userID int, tokenHash []byte, life time.Duration) error {
	_, err := db.exec(ctx, `
		WITH stale AS (DELETE FROM sessions WHERE user_id = $1 AND expires_at < now()),
		     seen AS (UPDATE users SET last_auth_at = now() WHERE id = $1)
		INSERT INTO sessions (user_id, token_hash, expires_at) VALUES ($1, $2, now() + $3)`, userID, tokenHash, life)
	return err
}

// EndSession signs one session out.
func (db *DB) EndSession(ctx context.Context, id int64) error {
	_, err := db.exec(ctx, `DELETE FROM sessions WHERE id = $1`, id)
	return err
}

// EndSessions signs a user out everywhere but in the session to keep. What tasks
// were given stays: a changed password is no reason to end a training.
func (db *DB) EndSessions(ctx context.Context, userID int, keep int64) error {
	_, err := db.exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND id <> $2 AND allocation_id IS NULL`, userID, keep)
	return err
}

// SessionWho finds the user whose session token hashes to hash. Sessions of a
// user who was deactivated are not found.
func (db *DB) SessionWho(ctx context.Context, hash []byte) (auth.Who, error) {
	var w auth.Who
	err := db.QueryRow(ctx, `
		SELECT u.id, u.username, u.admin, s.id
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.token_hash = $1 AND s.expires_at > now() AND u.active`, hash).
		Scan(&w.UserID, &w.Username, &w.Admin, &w.SessionID)
	return w, asFault(err)
}

// TaskWho finds the attempt whose member has a token that hashes to hash. A task
// never carries its owner's admin mark.
func (db *DB) TaskWho(ctx context.Context, hash []byte) (auth.Who, error) {
	type found struct {
		UserID       int    `db:"user_id"`
		Username     string `db:"username"`
		AllocationID string `db:"allocation_id"`
		TaskID       string `db:"task_id"`
		RunID        int    `db:"run_id"`
		Rank         int    `db:"rank"`
		TrialID      int    `db:"trial_id"`
		ExperimentID int    `db:"experiment_id"`
		Ended        bool   `db:"ended"`
	}
	f, err := row[found](ctx, db, "token", `
		SELECT u.id AS user_id, u.username, m.allocation_id, a.task_id, a.run_id, m.rank,
			coalesce(tr.id, 0) AS trial_id, coalesce(t.experiment_id, 0) AS experiment_id, a.ended_at IS NOT NULL AS ended
		FROM members m
		JOIN allocations a ON a.id = m.allocation_id
		JOIN tasks t ON t.id = a.task_id
		JOIN users u ON u.id = t.owner_id
		LEFT JOIN trials tr ON tr.task_id = t.id
		WHERE m.token_hash = $1 AND (a.ended_at IS NULL OR a.ended_at > now() - $2::interval)`, hash, afterEnd)
	if err != nil {
		return auth.Who{}, err
	}
	return auth.Who{UserID: f.UserID, Username: f.Username, AllocationID: f.AllocationID, TaskID: f.TaskID,
		RunID: f.RunID, Rank: f.Rank, TrialID: f.TrialID, ExperimentID: f.ExperimentID, Ended: f.Ended}, nil
}
