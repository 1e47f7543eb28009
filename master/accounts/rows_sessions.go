package accounts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// TopicAccess wakes masters when a session has ended or an account has changed: they check the rights of open streams.
const TopicAccess = "access"

// A Place is where a session begins.
type Place struct {
	Address, Agent string
	Issuer, SID    string // of the identity provider and of the session there
	// Tokens, encrypted, with which Provider tells about the user later; nil: none.
	Provider string
	Tokens   []byte
}

// NewSession stores the hash of a user's token, and returns the session's id. It fails if all sessions of the user were
// ended since u was read, so that a password that was just replaced opens no session.
func NewSession(ctx context.Context, db *database.DB, u User, tokenHash []byte, life time.Duration, at Place) (id int64, err error) {
	id, err = database.Scalar[int64](ctx, db, `
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
func EndSession(ctx context.Context, db *database.DB, id int64) error {
	return db.Exec(ctx, `DELETE FROM sessions WHERE id = $1 AND NOT is_token`, id)
}

// EndSessions ends all sessions of a user except `keep`, and increments the user's session
// epoch: tasks that were created before can no longer act in the user's name. Trials
// continue, because they report with the token of their attempt. Access tokens stay valid, each
// until it expires or is revoked. Both happen in the caller's transaction.
func EndSessions(ctx context.Context, db *database.DB, userID int, keep int64) error {
	if err := db.Exec(ctx, `UPDATE users SET session_epoch = session_epoch + 1 WHERE id = $1`, userID); err != nil {
		return err
	}
	return db.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND id <> $2 AND NOT is_token`, userID, keep)
}

// SessionAge is how long ago a session began.
func SessionAge(ctx context.Context, db *database.DB, id int64) (time.Duration, error) {
	seconds, err := database.Scalar[float64](ctx, db, `SELECT extract(epoch FROM now() - created_at)::float8 FROM sessions WHERE id = $1`, id)
	return time.Duration(seconds * float64(time.Second)), err
}

// ValidSessions returns the users of these sessions, by session, without those that are no longer valid. A session
// with an open stream or tunnel counts as used.
func ValidSessions(ctx context.Context, db *database.DB, roles Roles, ids []int64) (map[int64]auth.Who, error) {
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
	list, err := database.Rows[found](ctx, db, `
		WITH used AS (UPDATE sessions SET last_used_at = now() WHERE id = ANY($1) AND allocation_id IS NULL AND last_used_at < now() - interval '1 hour')
		SELECT s.id, s.user_id, u.username, u.admin AND s.allocation_id IS NULL AS admin, coalesce(s.allocation_id, '') AS within, s.is_token, s.read_only, `+roles.Grants()+`
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.id = ANY($1) AND s.expires_at > now() AND u.active`, ids)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		w := auth.Who{UserID: f.UserID, Username: f.Username, Admin: f.Admin, SessionID: f.ID, Within: f.Within, AccessToken: f.IsToken, ReadOnly: f.ReadOnly}
		if w.Grants, w.Everybodys, err = roles.Read(f.Grants); err != nil {
			return nil, err
		}
		out[f.ID] = w
	}
	return out, nil
}

// SessionWho finds the user of a session, by the hash of its token. It does not find
// sessions of deactivated users. In the session of an attempt the user is never an admin.
func SessionWho(ctx context.Context, db *database.DB, roles Roles, hash []byte) (auth.Who, error) {
	var w auth.Who
	var grants []byte
	err := db.QueryRow(ctx, `
		SELECT u.id, u.username, u.admin AND s.allocation_id IS NULL, s.id, coalesce(s.allocation_id, ''), u.session_epoch, s.is_token, s.read_only, `+roles.Grants()+`
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.token_hash = $1 AND s.expires_at > now() AND u.active`, hash).
		Scan(&w.UserID, &w.Username, &w.Admin, &w.SessionID, &w.Within, &w.SessionEpoch, &w.AccessToken, &w.ReadOnly, &grants)
	if err == nil {
		w.Grants, w.Everybodys, err = roles.Read(grants)
	}
	return w, err
}
