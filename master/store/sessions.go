package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/leftover"
)

// NewSession stores the hash of a user's token. It fails if all sessions of the user were
// ended since u was read, so that a password that was just replaced opens no session.
func (db *DB) NewSession(ctx context.Context, u User, tokenHash []byte, life time.Duration) error {
	_, err := db.NewSessionAt(ctx, u, tokenHash, life, Place{})
	return err
}

// A Place is where a session begins.
type Place struct {
	Address, Agent string
	Issuer, SID    string // of the identity provider and of the session there
	// Tokens, encrypted, with which Provider tells about the user later; nil: none.
	Provider string
	Tokens   []byte
}

// NewSessionAt is NewSession for a session whose place is known. It returns the session's id.
func (db *DB) NewSessionAt(ctx context.Context, u User, tokenHash []byte, life time.Duration, at Place) (id int64, err error) {
	id, err = database.Scalar[int64](ctx, db.DB, `
		WITH stale AS (DELETE FROM sessions WHERE user_id = $1 AND expires_at < now() AND NOT is_token),
		     seen AS (UPDATE users SET last_auth_at = now() WHERE id = $1 AND active AND session_epoch = $4 RETURNING id),
		     made AS (INSERT INTO sessions (user_id, token_hash, expires_at, address, agent, issuer, sid, last_used_at)
			SELECT id, $2, now() + $3, $5, $6, nullif($7, ''), nullif($8, ''), now() FROM seen RETURNING id),
		     granted AS (INSERT INTO session_grants (session_id, provider, tokens) SELECT id, $9, $10::bytea FROM made WHERE $10::bytea IS NOT NULL)
		SELECT coalesce(max(id), 0)::bigint FROM made`,
		u.ID, tokenHash, life, u.SessionEpoch, at.Address, at.Agent, at.Issuer, at.SID, at.Provider, at.Tokens)
	if err == nil && id == 0 {
		err = fault.New(fault.Unauthenticated, "the account %s was changed during the sign-in; sign in again", u.Username)
	}
	return id, err
}

// EndSession ends one session. An access token stays valid: other programs may use it too.
func (db *DB) EndSession(ctx context.Context, id int64) error {
	_, err := db.Exec(ctx, `DELETE FROM sessions WHERE id = $1 AND NOT is_token`, id)
	return err
}

// endSessions ends all sessions of a user except `keep`, and increments the user's session
// epoch: tasks that were created before can no longer act in the user's name. Trials
// continue, because they report with the token of their attempt. Access tokens stay valid, each
// until it expires or is revoked. Both happen in the caller's transaction.
func (db *DB) endSessions(ctx context.Context, userID int, keep int64) error {
	if _, err := db.Exec(ctx, `UPDATE users SET session_epoch = session_epoch + 1 WHERE id = $1`, userID); err != nil {
		return err
	}
	_, err := db.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND id <> $2 AND NOT is_token`, userID, keep)
	return err
}

// SessionAge is how long ago a session began.
func (db *DB) SessionAge(ctx context.Context, id int64) (time.Duration, error) {
	seconds, err := database.Scalar[float64](ctx, db.DB, `SELECT extract(epoch FROM now() - created_at)::float8 FROM sessions WHERE id = $1`, id)
	return time.Duration(seconds * float64(time.Second)), err
}

// ValidSessions returns the users of those of these sessions that are valid. The sessions have streams or
// tunnels open, so they count as used.
func (db *DB) ValidSessions(ctx context.Context, ids []int64) (map[int64]auth.Who, error) {
	out := map[int64]auth.Who{}
	if len(ids) == 0 {
		return out, nil
	}
	type found struct {
		ID       int64  `db:"id"`
		UserID   int    `db:"user_id"`
		Username string `db:"username"`
		Admin    bool   `db:"admin"`
		Within   string `db:"within"`
		IsToken  bool   `db:"is_token"`
		ReadOnly bool   `db:"read_only"`
		Grants   []byte `db:"grants"`
	}
	list, err := database.Rows[found](ctx, db.DB, `
		WITH used AS (UPDATE sessions SET last_used_at = now() WHERE id = ANY($1) AND allocation_id IS NULL AND last_used_at < now() - interval '1 hour')
		SELECT s.id, s.user_id, u.username, u.admin AND s.allocation_id IS NULL AS admin, coalesce(s.allocation_id, '') AS within, s.is_token, s.read_only, `+db.grants()+`
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.id = ANY($1) AND s.expires_at > now() AND u.active`, ids)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		w := auth.Who{UserID: f.UserID, Username: f.Username, Admin: f.Admin, SessionID: f.ID, Within: f.Within, AccessToken: f.IsToken, ReadOnly: f.ReadOnly}
		if w.Grants, w.Everybodys, err = db.readRights(f.Grants); err != nil {
			return nil, err
		}
		out[f.ID] = w
	}
	return out, nil
}

// An AttemptStatus reports whether an attempt has ended, whether its owner was deactivated, and the
// roles of its owner.
type AttemptStatus struct {
	ID        string
	Ended     bool
	OwnerGone bool
	Grants    *auth.Grants
}

// AttemptStatuses reads the statuses of attempts.
func (db *DB) AttemptStatuses(ctx context.Context, ids []string) (map[string]AttemptStatus, error) {
	out := map[string]AttemptStatus{}
	if len(ids) == 0 {
		return out, nil
	}
	type found struct {
		ID        string `db:"id"`
		Ended     bool   `db:"ended"`
		OwnerGone bool   `db:"owner_gone"`
		Grants    []byte `db:"grants"`
	}
	list, err := database.Rows[found](ctx, db.DB, `
		SELECT a.id, a.ended_at IS NOT NULL AS ended, NOT u.active AS owner_gone, `+db.grants()+`
		FROM allocations a JOIN tasks t ON t.id = a.task_id JOIN users u ON u.id = t.owner_id
		WHERE a.id = ANY($1)`, ids)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		grants, _, err := db.readRights(f.Grants)
		if err != nil {
			return nil, err
		}
		out[f.ID] = AttemptStatus{f.ID, f.Ended, f.OwnerGone, grants}
	}
	return out, nil
}

// SessionWho finds the user of a session, by the hash of its token. It does not find
// sessions of deactivated users. In the session of an attempt the user is never an admin.
func (db *DB) SessionWho(ctx context.Context, hash []byte) (auth.Who, error) {
	var w auth.Who
	var grants []byte
	err := db.QueryRow(ctx, `
		SELECT u.id, u.username, u.admin AND s.allocation_id IS NULL, s.id, coalesce(s.allocation_id, ''), u.session_epoch, s.is_token, s.read_only, `+db.grants()+`
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.token_hash = $1 AND s.expires_at > now() AND u.active`, hash).
		Scan(&w.UserID, &w.Username, &w.Admin, &w.SessionID, &w.Within, &w.SessionEpoch, &w.AccessToken, &w.ReadOnly, &grants)
	if err == nil {
		w.Grants, w.Everybodys, err = db.readRights(grants)
	}
	return w, err
}

// TaskWho finds the attempt of a member, by the hash of its token. A task never has its
// owner's admin rights. TaskWho also finds attempts that ended a short time ago, or, if log
// lines or an exit are missing, as long ago as runners wait for masters.
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
		OwnerGone    bool   `db:"owner_gone"`
		Grants       []byte `db:"grants"`
	}
	f, err := database.Row[found](ctx, db.DB, "token", `
		SELECT u.id AS user_id, u.username, m.allocation_id, a.task_id, a.run_id, m.rank,
			coalesce(tr.id, 0) AS trial_id, coalesce(t.experiment_id, 0) AS experiment_id, a.ended_at IS NOT NULL AS ended, NOT u.active AS owner_gone, `+db.grants()+`
		FROM members m
		JOIN allocations a ON a.id = m.allocation_id
		JOIN tasks t ON t.id = a.task_id
		JOIN users u ON u.id = t.owner_id
		LEFT JOIN trials tr ON tr.task_id = t.id
		WHERE m.token_hash = $1 AND (a.ended_at IS NULL OR a.ended_at > now() - $2::interval
			OR (m.exited_at IS NULL OR NOT m.logs_done) AND a.ended_at > now() - $3::interval)`, hash, leftover.AfterEnd, leftover.Hold+leftover.AfterEnd)
	if err != nil {
		return auth.Who{}, err
	}
	grants, _, err := db.readRights(f.Grants)
	if err != nil {
		return auth.Who{}, err
	}
	return auth.Who{UserID: f.UserID, Username: f.Username, Grants: grants, AllocationID: f.AllocationID, TaskID: f.TaskID,
		RunID: f.RunID, Rank: f.Rank, TrialID: f.TrialID, ExperimentID: f.ExperimentID, Ended: f.Ended, OwnerGone: f.OwnerGone}, nil
}
