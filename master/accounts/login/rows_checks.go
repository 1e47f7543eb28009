package login

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

const (
	// A user who has used no session for usedWithin is asked about each idleCheck only, which keeps the
	// refresh tokens alive.
	usedWithin = 2 * time.Hour
	idleCheck  = 10 * time.Minute
)

// A Check is a user about whom this master has to ask an identity provider, with the tokens of one of
// the user's sessions.
type Check struct {
	Issuer    string `db:"issuer"`
	Subject   string `db:"subject"`
	Number    int64  `db:"checks"`
	Known     []byte `db:"known"`
	UserID    int    `db:"user_id"`
	Username  string `db:"username"`
	Admin     bool   `db:"admin"`
	SessionID int64  `db:"session_id"`
	TokenHash []byte `db:"token_hash"`
	Tokens    []byte `db:"tokens"`
}

// grantsFrom are the tokens of sessions of the provider $1 that have not ended.
const grantsFrom = ` FROM session_grants g JOIN sessions s ON s.id = g.session_id WHERE g.provider = $1 AND s.expires_at > now()`

// ClaimChecks claims up to most users about whom a provider has to be asked, those who wait longest
// first. No other master gets a claimed user before lease is over. Of a user's sessions, the one that
// was checked first comes next, so that a user counts once, however many sessions there are.
func ClaimChecks(ctx context.Context, db *database.DB, provider string, most int, lease time.Duration) ([]Check, error) {
	return database.Rows[Check](ctx, db, `
		WITH due AS (SELECT i.issuer, i.subject FROM identities i JOIN users u ON u.id = i.user_id
				WHERE i.due_at <= now() AND u.active AND (i.user_id, i.issuer) IN (SELECT s.user_id, s.issuer`+grantsFrom+`
					AND (s.last_used_at > now() - $4::interval OR g.checked_at < now() - $5::interval))
				ORDER BY i.due_at LIMIT $2 FOR UPDATE OF i SKIP LOCKED),
			taken AS (UPDATE identities i SET due_at = now() + $3, checks = checks + 1 FROM due WHERE i.issuer = due.issuer AND i.subject = due.subject RETURNING i.*)
		SELECT i.issuer, i.subject, i.checks, coalesce(i.known, '') AS known, i.user_id, u.username, u.admin, g.session_id, g.token_hash, g.tokens
		FROM taken i JOIN users u ON u.id = i.user_id
		CROSS JOIN LATERAL (SELECT g.session_id, s.token_hash, g.tokens`+grantsFrom+` AND s.user_id = i.user_id AND s.issuer = i.issuer ORDER BY g.checked_at, g.session_id LIMIT 1) g`,
		provider, most, lease, usedWithin, idleCheck)
}

// ReplaceTokens stores tokens that a provider gave in place of others.
func ReplaceTokens(ctx context.Context, db *database.DB, c Check, tokens []byte) error {
	return db.Exec(ctx, `UPDATE session_grants SET tokens = $3 WHERE session_id = $1 AND tokens = $2`, c.SessionID, c.Tokens, tokens)
}

// DeleteTokens deletes tokens that are of no use any more. The session stays.
func DeleteTokens(ctx context.Context, db *database.DB, c Check) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `DELETE FROM session_grants WHERE session_id = $1`, c.SessionID); err != nil {
			return err
		}
		return checkNow(ctx, tx, c)
	})
}

// EndChecked ends the session of a check, because the provider has ended its tokens. The user's other
// sessions are checked at once. A session that has other tokens by now stays: another master got them.
func EndChecked(ctx context.Context, db *database.DB, c Check) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `DELETE FROM sessions WHERE NOT is_token AND id IN (SELECT session_id FROM session_grants WHERE session_id = $1 AND tokens = $2)`,
			c.SessionID, c.Tokens); err != nil {
			return err
		}
		return checkNow(ctx, tx, c)
	})
}

// checkNow lets the next session of a check's user be checked.
func checkNow(ctx context.Context, db *database.DB, c Check) error {
	return db.Exec(ctx, `UPDATE identities SET due_at = now() WHERE issuer = $1 AND subject = $2 AND checks = $3`, c.Issuer, c.Subject, c.Number)
}

// Checking reports whether no sign-in and no other check of the user has begun since a check began.
func Checking(ctx context.Context, db *database.DB, c Check) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM identities WHERE issuer = $1 AND subject = $2 AND checks = $3)`, c.Issuer, c.Subject, c.Number)
}

// EndCheck stores what the check applied, and when the next check of the user is due: after three quarters of a
// period to a whole one. If a sign-in or another check has begun meanwhile, it is unknown which of them was applied
// last. Then EndCheck forgets what was applied and makes the next check due at once; that check applies what the
// provider answers.
func EndCheck(ctx context.Context, db *database.DB, c Check, known []byte, period time.Duration) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		n, err := tx.Affect(ctx, `UPDATE identities SET known = $4, due_at = now() + $5::interval * (0.75 + 0.25 * random()) WHERE issuer = $1 AND subject = $2 AND checks = $3`,
			c.Issuer, c.Subject, c.Number, known, period)
		if err == nil && n == 0 {
			err = tx.Exec(ctx, `UPDATE identities SET known = NULL, due_at = now() WHERE issuer = $1 AND subject = $2 AND due_at IS NOT NULL`, c.Issuer, c.Subject)
		}
		if err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE session_grants SET checked_at = now() WHERE session_id = $1`, c.SessionID)
	})
}

// PutOffCheck makes a user due after a period, and changes nothing else. The user's other sessions are checked first.
func PutOffCheck(ctx context.Context, db *database.DB, c Check, period time.Duration) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `UPDATE identities SET due_at = now() + $4::interval * (0.75 + 0.25 * random()) WHERE issuer = $1 AND subject = $2 AND checks = $3`,
			c.Issuer, c.Subject, c.Number, period); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE session_grants SET checked_at = now() WHERE session_id = $1`, c.SessionID)
	})
}

// SignedIn notes what a sign-in applied, and when the user is due; a period of 0 is never.
func SignedIn(ctx context.Context, db *database.DB, issuer, subject string, known []byte, period time.Duration) error {
	return db.Exec(ctx, `UPDATE identities SET known = $3, checks = checks + 1, due_at = CASE WHEN $4::interval > '0' THEN now() + $4::interval * (0.75 + 0.25 * random()) END
		WHERE issuer = $1 AND subject = $2`, issuer, subject, known, period)
}
