package accounts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
)

// A User is an account.
type User struct {
	ID           int        `db:"id"`
	Username     string     `db:"username"`
	DisplayName  string     `db:"display_name"`
	PasswordHash string     `db:"password_hash"`
	Admin        bool       `db:"admin"`
	Active       bool       `db:"active"`
	Remote       bool       `db:"remote"`
	Service      bool       `db:"service"`    // a program, which signs in with access tokens alone
	AgentUser    []byte     `db:"agent_user"` // JSON, or nil
	ModifiedAt   time.Time  `db:"modified_at"`
	LastAuthAt   *time.Time `db:"last_auth_at"`
	SessionEpoch int        `db:"session_epoch"` // rises when all sessions of the user end
}

// UserColumns are the columns of table users that a User has.
const UserColumns = `id, username, display_name, password_hash, admin, active, remote, service, agent_user, modified_at, last_auth_at, session_epoch`

// UserByID finds an account.
func UserByID(ctx context.Context, db *database.DB, id int) (User, error) {
	u, err := database.Row[User](ctx, db, "user", `SELECT `+UserColumns+` FROM users WHERE id = $1`, id)
	return u, database.Missing(err, fault.New(fault.NotFound, "user %d not found", id))
}

// UserByName finds an account by its lower-case name.
func UserByName(ctx context.Context, db *database.DB, username string) (User, error) {
	return database.Row[User](ctx, db, "user "+username, `SELECT `+UserColumns+` FROM users WHERE username = $1`, username)
}

// UserFilter chooses accounts.
type UserFilter struct {
	Name   string // part of the name or display name
	Active *bool
	Admin  *bool
	Sort   string // a key of userSorts; "" for id
	Desc   bool
	Limit  int // 0: all
	Offset int
}

var userSorts = database.Sorts{
	"": "id", "username": "username", "display_name": "lower(display_name)", "name": "lower(coalesce(nullif(display_name, ''), username))",
	"admin": "admin", "active": "active", "modified": "modified_at", "last_auth": "last_auth_at", "remote": "remote",
}

// Users lists a page of accounts, and counts all that the filter chooses.
func Users(ctx context.Context, db *database.DB, f UserFilter) ([]User, int, error) {
	order, err := userSorts.Order(f.Sort, f.Desc, "id")
	if err != nil {
		return nil, 0, err
	}
	args := database.Args{"name": f.Name, "active": f.Active, "admin": f.Admin, "limit": database.Unlimited(f.Limit), "offset": f.Offset}
	const where = ` FROM users
		WHERE (@name = '' OR position(lower(@name) IN username) > 0 OR position(lower(@name) IN lower(display_name)) > 0)
		AND (@active::boolean IS NULL OR active = @active) AND (@admin::boolean IS NULL OR admin = @admin)`
	total, err := database.Scalar[int](ctx, db, `SELECT count(*)`+where, args)
	if err != nil {
		return nil, 0, err
	}
	list, err := database.Rows[User](ctx, db, `SELECT `+UserColumns+where+order+` LIMIT @limit OFFSET @offset`, args)
	return list, total, err
}

// CreateUser inserts an account, and returns it.
func CreateUser(ctx context.Context, db *database.DB, u User) (User, error) {
	made, err := database.Row[User](ctx, db, "user", `
		INSERT INTO users (username, display_name, password_hash, admin, active, remote, service, agent_user)
		VALUES (@username, @display, @hash, @admin, @active, @remote, @service, @agent) RETURNING `+UserColumns,
		database.Args{"username": u.Username, "display": u.DisplayName, "hash": u.PasswordHash,
			"admin": u.Admin, "active": u.Active, "remote": u.Remote, "service": u.Service, "agent": database.JSONOrNull(u.AgentUser)})
	if fault.Is(err, fault.Conflict) {
		return u, fault.New(fault.Conflict, "user %s already exists", u.Username)
	}
	return made, err
}

// UserChange has the fields of an account to change; nil leaves a field unchanged.
type UserChange struct {
	Username     *string
	DisplayName  *string
	PasswordHash *string
	Admin        *bool
	Active       *bool
	Remote       *bool
	AgentUser    []byte
}

// endsSessions reports whether a change ends the user's sessions.
func (ch UserChange) endsSessions() bool {
	return ch.PasswordHash != nil || ch.Active != nil && !*ch.Active
}

// CheckDisplayName rejects a name by which users know another user.
func CheckDisplayName(ctx context.Context, db *database.DB, id int, name *string) error {
	if optional.Value(name) == "" {
		return nil
	}
	taken, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM users WHERE id <> $1 AND lower($2) IN (lower(username), lower(display_name)))`, id, *name)
	if err == nil && taken {
		return fault.New(fault.Invalid, "can not change display name to %s found a similar username or display name", fault.Clip(*name))
	}
	return err
}

// ChangeUser changes an account. It rejects a change that would leave no active admin,
// because nobody could undo it. A new password and a deactivation end the user's sessions,
// except the session `keep`.
func ChangeUser(ctx context.Context, db *database.DB, roles Roles, id int, ch UserChange, keep int64) (User, error) {
	var u User
	err := db.Tx(ctx, func(tx *database.DB) error {
		var err error
		u, err = ChangeUserIn(ctx, tx, roles, id, ch, keep)
		return err
	})
	return u, err
}

// ChangeUserIn is ChangeUser in a transaction.
func ChangeUserIn(ctx context.Context, db *database.DB, roles Roles, id int, ch UserChange, keep int64) (u User, err error) {
	// One change of admins at a time, so that two admins cannot demote each other at once.
	if ch.Admin != nil || ch.Active != nil {
		if err := LockRoles(ctx, db); err != nil {
			return u, err
		}
		if err := db.Exec(ctx, `SELECT FROM users WHERE admin AND active ORDER BY id FOR UPDATE`); err != nil {
			return u, err
		}
	}
	if err := CheckDisplayName(ctx, db, id, ch.DisplayName); err != nil {
		return u, err
	}
	u, err = database.Row[User](ctx, db, "user", `
		UPDATE users SET username = coalesce(@username, username), display_name = coalesce(@display, display_name),
			password_hash = coalesce(@hash, password_hash), admin = coalesce(@admin, admin),
			active = coalesce(@active, active), remote = coalesce(@remote, remote),
			agent_user = coalesce(@agent::jsonb, agent_user), modified_at = now()
		WHERE id = @id RETURNING `+UserColumns,
		database.Args{"id": id, "username": ch.Username, "display": ch.DisplayName, "hash": ch.PasswordHash,
			"admin": ch.Admin, "active": ch.Active, "remote": ch.Remote, "agent": database.JSONOrNull(ch.AgentUser)})
	switch {
	case fault.Is(err, fault.NotFound):
		return u, fault.New(fault.NotFound, "user %d not found", id)
	case fault.Is(err, fault.Conflict):
		return u, fault.New(fault.Conflict, "user %s already exists", *ch.Username)
	case err != nil:
		return u, err
	}
	if ch.Active != nil && !*ch.Active {
		if err := KeepClusterAdmin(ctx, db, roles); err != nil { // first: while roles are in use, it says what helps
			return u, err
		}
	}
	left, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM users WHERE admin AND active)`)
	if err == nil && !left {
		return u, fault.New(fault.Conflict, "%s is the last active admin; make another user an admin first (det user edit NAME --admin true)", u.Username)
	}
	ends := ch.endsSessions()
	if err == nil && ch.Remote != nil && !*ch.Remote {
		// Its identities at providers open nothing any more, nor do the sessions that they began.
		var had int64
		had, err = db.Affect(ctx, `DELETE FROM identities WHERE user_id = $1`, id)
		ends = ends || had > 0
	}
	if err == nil && ends {
		err = EndSessions(ctx, db, id, keep)
	}
	return u, err
}

// replaceForeignHash stores our hash of the password of an imported user in place of Determined's.
func replaceForeignHash(ctx context.Context, db *database.DB, u User, hash string) error {
	return db.Exec(ctx, `UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2`, u.ID, u.PasswordHash, hash)
}
