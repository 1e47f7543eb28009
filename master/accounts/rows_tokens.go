package accounts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// MaxTokens is how many valid access tokens a user can have.
const MaxTokens = 100

// A Token is an access token: a session that programs keep.
type Token struct {
	ID          int        `db:"id"`
	UserID      int        `db:"user_id"`
	Description string     `db:"description"`
	ReadOnly    bool       `db:"read_only"`
	CreatedAt   time.Time  `db:"created_at"`
	Expiry      *time.Time `db:"token_expiry"` // nil: never
	RevokedAt   *time.Time `db:"revoked_at"`
	LastUsedAt  *time.Time `db:"last_used_at"`
}

const tokenColumns = "id, user_id, description, read_only, created_at, token_expiry, revoked_at, last_used_at"

// never is how long a session lasts that does not expire: a Duration ends at 292 years.
const never = 200 * 365 * 24 * time.Hour

// CreateToken stores the hash of an access token. A life of 0 means that the token does not expire. Tokens that
// ended long ago are forgotten.
func CreateToken(ctx context.Context, db *database.DB, t Token, hash []byte, life time.Duration) (int, error) {
	var expiry *time.Duration
	if life > 0 {
		expiry = &life
	} else {
		life = never
	}
	var id int
	err := db.Tx(ctx, func(tx *database.DB) error {
		// The lock makes requests at once count each other's tokens.
		active, err := database.Scalar[bool](ctx, tx, `SELECT active FROM users WHERE id = $1 FOR UPDATE`, t.UserID)
		if err != nil {
			return err
		}
		if !active {
			return fault.New(fault.Conflict, "user %d is deactivated and can have no access token", t.UserID)
		}
		if err := tx.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND is_token AND expires_at < now() - interval '90 days'`, t.UserID); err != nil {
			return err
		}
		n, err := database.Scalar[int](ctx, tx, `SELECT count(*) FROM sessions WHERE user_id = $1 AND is_token AND expires_at > now() - interval '1 day'`, t.UserID)
		if err != nil {
			return err
		}
		if n >= MaxTokens {
			return fault.New(fault.Conflict, "the user has %d access tokens that are valid or ended within a day, and %d is the limit; revoke one with det token revoke", n, MaxTokens)
		}
		id, err = database.Scalar[int](ctx, tx, `
			INSERT INTO sessions (user_id, token_hash, expires_at, is_token, description, read_only, token_expiry)
			VALUES (@user, @hash, now() + @life, true, @description, @read_only, now() + @expiry::interval) RETURNING id`,
			database.Args{"user": t.UserID, "hash": hash, "life": life, "description": t.Description, "read_only": t.ReadOnly, "expiry": expiry})
		return err
	})
	return id, err
}

// TokenFilter chooses access tokens.
type TokenFilter struct {
	UserID   int // 0: of all users
	Username string
	IDs      []int // nil: all
	Inactive bool  // also those that expired or were revoked
	Sort     string
	Desc     bool
}

var tokenSorts = database.Sorts{"": "s.id", "user": "s.user_id", "expiry": "s.expires_at", "created": "s.created_at", "type": "s.is_token",
	"revoked": "s.revoked_at", "description": "lower(s.description)"}

const tokensWhere = ` FROM sessions s JOIN users u ON u.id = s.user_id
	WHERE s.is_token AND (@user = 0 OR s.user_id = @user) AND (@name = '' OR u.username = lower(@name))
	AND (@ids::bigint[] IS NULL OR s.id = ANY(@ids)) AND (@inactive OR s.expires_at > now())`

func (f TokenFilter) args() database.Args {
	return database.Args{"user": f.UserID, "name": f.Username, "ids": f.IDs, "inactive": f.Inactive}
}

// CountTokens counts access tokens.
func CountTokens(ctx context.Context, db *database.DB, f TokenFilter) (int, error) {
	return database.Scalar[int](ctx, db, `SELECT count(*)`+tokensWhere, f.args())
}

// Tokens lists a page of access tokens.
func Tokens(ctx context.Context, db *database.DB, f TokenFilter, offset, limit int) ([]Token, error) {
	order, err := tokenSorts.Order(f.Sort, f.Desc, "s.id")
	if err != nil {
		return nil, err
	}
	args := f.args()
	args["offset"], args["limit"] = offset, limit
	return database.Rows[Token](ctx, db, `SELECT s.id, s.user_id, s.description, s.read_only, s.created_at, s.token_expiry, s.revoked_at, s.last_used_at`+
		tokensWhere+order+` LIMIT @limit OFFSET @offset`, args)
}

// TokenByID finds an access token.
func TokenByID(ctx context.Context, db *database.DB, id int) (Token, error) {
	return database.Row[Token](ctx, db, "access token", `SELECT `+tokenColumns+` FROM sessions WHERE id = $1 AND is_token`, id)
}

// ChangeToken sets the description of an access token, unless it is nil, and revokes the token if revoke is true.
// A revoked token stays revoked.
func ChangeToken(ctx context.Context, db *database.DB, id int, description *string, revoke bool) (Token, error) {
	return database.Row[Token](ctx, db, "access token", `
		UPDATE sessions SET description = coalesce(@description, description),
			revoked_at = CASE WHEN @revoke THEN coalesce(revoked_at, now()) ELSE revoked_at END,
			expires_at = CASE WHEN @revoke THEN least(expires_at, now()) ELSE expires_at END
		WHERE id = @id AND is_token RETURNING `+tokenColumns,
		database.Args{"id": id, "description": description, "revoke": revoke})
}

// TokenUsed notes that a session or an access token is used, once an hour.
func TokenUsed(ctx context.Context, db *database.DB, id int64) error {
	return db.Exec(ctx, `UPDATE sessions SET last_used_at = now() WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 hour')`, id)
}

// RevokeTokens revokes all access tokens of a user.
func RevokeTokens(ctx context.Context, db *database.DB, userID int) error {
	return db.Exec(ctx, `UPDATE sessions SET revoked_at = coalesce(revoked_at, now()), expires_at = least(expires_at, now()) WHERE user_id = $1 AND is_token AND expires_at > now()`, userID)
}
