package accounts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Session is a sign-in of a user that has not ended. Access tokens and the sessions of tasks do not
// count as sessions.
type Session struct {
	ID         int        `db:"id"`
	UserID     int        `db:"user_id"`
	Username   string     `db:"username"`
	CreatedAt  time.Time  `db:"created_at"`
	ExpiresAt  time.Time  `db:"expires_at"`
	LastUsedAt *time.Time `db:"last_used_at"` // to the hour
	Address    string     `db:"address"`
	Agent      string     `db:"agent"`
	Issuer     string     `db:"issuer"` // "": a password
}

const sessionFrom = ` FROM sessions s JOIN users u ON u.id = s.user_id WHERE NOT s.is_token AND s.allocation_id IS NULL AND s.expires_at > now()`

const sessionSelect = `SELECT s.id, s.user_id, u.username, s.created_at, s.expires_at, s.last_used_at, s.address, s.agent, coalesce(s.issuer, '') AS issuer` + sessionFrom

// ofOne limits sessions to those of a user; 0 means all users.
const ofOne = ` AND ($1 = 0 OR s.user_id = $1)`

// CountSessions counts the sessions of a user.
func CountSessions(ctx context.Context, db *database.DB, user int) (int, error) {
	return database.Scalar[int](ctx, db, `SELECT count(*)::int`+sessionFrom+ofOne, user)
}

// Sessions lists a page of the sessions of a user, those that began last first.
func Sessions(ctx context.Context, db *database.DB, user, offset, limit int) ([]Session, error) {
	return database.Rows[Session](ctx, db, sessionSelect+ofOne+` ORDER BY s.id DESC OFFSET $2 LIMIT $3`, user, offset, limit)
}

// SessionByID finds a sign-in that has not ended.
func SessionByID(ctx context.Context, db *database.DB, id int) (Session, error) {
	s, err := database.Row[Session](ctx, db, "session", sessionSelect+` AND s.id = $1`, id)
	return s, database.Missing(err, fault.New(fault.NotFound, "session %d not found", id))
}

// A SignOut is a sign-out that an identity provider requests: of its session sid or, without a sid, of
// all sessions of a subject.
type SignOut struct {
	Issuer, ID   string // together never twice
	Subject, SID string
	Until        time.Duration // how long a repetition would be accepted
}

// EndSessionsOf ends the sessions to which a sign-out applies, and returns their users. It fails if the
// sign-out was carried out before. Sessions by a password or another provider and access tokens stay.
func EndSessionsOf(ctx context.Context, db *database.DB, s SignOut) (users []int, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `DELETE FROM sign_outs WHERE expires_at < now()`); err != nil {
			return err
		}
		if err := tx.Change(ctx, fault.New(fault.Invalid, "logout_token: this sign-out was sent before"), `INSERT INTO sign_outs (issuer, jti, expires_at) VALUES ($1, $2, now() + $3) ON CONFLICT DO NOTHING`, s.Issuer, s.ID, s.Until); err != nil {
			return err
		}
		users, err = database.Scalars[int](ctx, tx, `
			WITH gone AS (DELETE FROM sessions WHERE issuer = $1 AND NOT is_token AND ($2 = '' OR sid = $2)
				AND ($3 = '' OR user_id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $3)) RETURNING user_id)
			SELECT DISTINCT user_id FROM gone ORDER BY user_id`, s.Issuer, s.SID, s.Subject)
		return err
	})
	return users, err
}
