package scim

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A User is an account that a SCIM client manages.
type User struct {
	ID          int       `db:"id"`
	Username    string    `db:"username"`
	Active      bool      `db:"active"`
	Kept        bool      `db:"kept"` // it has a password here, or is an administrator
	ExternalID  string    `db:"external_id"`
	Attributes  []byte    `db:"attributes"`  // JSON
	Deactivated bool      `db:"deactivated"` // the client deactivated it
	CreatedAt   time.Time `db:"created_at"`
	ModifiedAt  time.Time `db:"modified_at"`
}

// keptUser is a condition for users u whom a SCIM client does not take over: those with a password
// here, and administrators, by the mark or by the role ClusterAdmin.
const keptUser = `(NOT u.remote OR u.password_hash <> '' OR u.admin OR EXISTS (
	SELECT FROM role_assignments r WHERE r.role_id = 1 AND r.workspace_id IS NULL
		AND (r.user_id = u.id OR r.group_id IN (SELECT m.group_id FROM group_members m WHERE m.user_id = u.id))))`

const selectUsers = `SELECT u.id, u.username, u.active, ` + keptUser + ` AS kept, s.external_id, s.attributes, s.deactivated, s.created_at, s.modified_at
	FROM scim_users s JOIN users u ON u.id = s.user_id `

// A Filter chooses users or groups; nil and 0 choose all.
type Filter struct {
	ID, Member *int
	Name       *string // of a user in lower case, or of a group
	Shown      *string // the display name of a user
	ExternalID *string
	Email      *string
	Active     *bool
	Nothing    bool // a comparison that is never true
}

func (f Filter) args(offset, limit int) database.Args {
	return database.Args{"id": f.ID, "member": f.Member, "name": f.Name, "shown": f.Shown, "external": f.ExternalID, "email": f.Email, "active": f.Active, "nothing": f.Nothing,
		"offset": offset, "limit": limit}
}

const whereUsers = `WHERE s.deleted_at IS NULL AND NOT @nothing AND (@id::int IS NULL OR u.id = @id) AND (@name::text IS NULL OR u.username = @name)
	AND (@external::text IS NULL OR s.external_id = @external) AND (@active::boolean IS NULL OR u.active = @active)
	AND (@shown::text IS NULL OR lower(s.attributes->>'displayName') = lower(@shown))
	AND (@email::text IS NULL OR EXISTS (SELECT FROM jsonb_array_elements(coalesce(s.attributes->'emails', '[]')) e WHERE lower(e->>'value') = lower(@email)))`

// Users lists a page of the accounts that the SCIM client manages, and counts all that the
// filter chooses.
func Users(ctx context.Context, db *database.DB, f Filter, offset, limit int) ([]User, int, error) {
	args := f.args(offset, limit)
	total, err := database.Scalar[int](ctx, db, `SELECT count(*)::int FROM scim_users s JOIN users u ON u.id = s.user_id `+whereUsers, args)
	if err != nil || limit == 0 {
		return nil, total, err
	}
	list, err := database.Rows[User](ctx, db, selectUsers+whereUsers+` ORDER BY u.id OFFSET @offset LIMIT @limit`, args)
	return list, total, err
}

func noResource(id int) error { return fault.New(fault.NotFound, "resource %d not found", id) }

// UserByID reads an account that the SCIM client manages.
func UserByID(ctx context.Context, db *database.DB, id int) (User, error) {
	u, err := database.Row[User](ctx, db, "resource", selectUsers+`WHERE u.id = $1 AND s.deleted_at IS NULL`, id)
	return u, database.Missing(err, noResource(id))
}

// A Change is the state of an account that a SCIM client requests.
type Change struct {
	Username, ExternalID string
	ShownName            string // for other users
	Attributes           []byte
	Active               bool
}

// CreateUser creates an account, or lets the client manage an existing one from now on: one
// that has no password here, is no administrator's, and is not managed yet.
func CreateUser(ctx context.Context, db *database.DB, roles accounts.Roles, want Change) (made User, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		// The first sign-in of the same user must not create the account too.
		if err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('identity ' || $1, 0))`, want.Username); err != nil {
			return err
		}
		if err := accounts.LockRoles(ctx, tx); err != nil {
			return err
		}
		u, err := accounts.UserByName(ctx, tx, want.Username)
		isNew := fault.Is(err, fault.NotFound)
		if isNew {
			u, err = accounts.CreateUser(ctx, tx, accounts.User{Username: want.Username, Active: want.Active, Remote: true})
		}
		if err != nil {
			return err
		}
		if err := mayManage(ctx, tx, u); err != nil {
			return err
		}
		if err := tx.Exec(ctx, `INSERT INTO scim_users (user_id, external_id, attributes, deactivated) VALUES ($1, $2, $3::text::jsonb, $4)
			ON CONFLICT (user_id) DO UPDATE SET deleted_at = NULL, external_id = excluded.external_id, attributes = excluded.attributes, modified_at = now()`,
			u.ID, want.ExternalID, string(want.Attributes), isNew && !want.Active); err != nil {
			return err
		}
		was, err := UserByID(ctx, tx, u.ID)
		if err != nil {
			return err
		}
		made, err = changeUser(ctx, tx, roles, was, want)
		return err
	})
	return made, err
}

// mayManage fails if a SCIM client may not begin to manage an account.
func mayManage(ctx context.Context, db *database.DB, u accounts.User) error {
	kept, err := database.Scalar[bool](ctx, db, `SELECT `+keptUser+` FROM users u WHERE u.id = $1`, u.ID)
	if err != nil {
		return err
	}
	if kept && u.Service {
		return fault.New(fault.Conflict, "the account %s is a service account, which SCIM cannot manage", u.Username)
	}
	if kept {
		return fault.New(fault.Conflict, "SCIM cannot manage the account %s, because it has a password on this cluster or belongs to an administrator; "+
			"if it belongs to no administrator, run det user edit %s --remote true as an administrator", u.Username, u.Username)
	}
	managed, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM scim_users WHERE user_id = $1 AND deleted_at IS NULL)`, u.ID)
	if err == nil && managed {
		err = fault.New(fault.Conflict, "user %s already exists", u.Username)
	}
	return err
}

// ChangeUser applies change to an account that the SCIM client manages.
func ChangeUser(ctx context.Context, db *database.DB, roles accounts.Roles, id int, change func(User) (Change, error)) (u User, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := accounts.LockRoles(ctx, tx); err != nil { // also one change of the account at a time
			return err
		}
		was, err := UserByID(ctx, tx, id)
		if err != nil {
			return err
		}
		want, err := change(was)
		if err != nil {
			return err
		}
		u, err = changeUser(ctx, tx, roles, was, want)
		return err
	})
	return u, err
}

func changeUser(ctx context.Context, db *database.DB, roles accounts.Roles, was User, want Change) (User, error) {
	var ch accounts.UserChange
	if want.Username != was.Username {
		if was.Kept {
			return was, fault.New(fault.Forbidden, "the account %s has a password on this cluster or is an administrator's: SCIM cannot rename it, because a name decides who may sign in the first time", was.Username)
		}
		ch.Username = &want.Username
	}
	if want.ShownName != "" && accounts.CheckDisplayName(ctx, db, was.ID, &want.ShownName) == nil { // else another user has the name
		ch.DisplayName = &want.ShownName
	}
	deactivated := was.Deactivated
	switch {
	case was.Active && !want.Active:
		ch.Active, deactivated = &want.Active, true
	case !was.Active && want.Active && was.Deactivated: // one that an administrator deactivated stays so
		ch.Active, deactivated = &want.Active, false
	}
	if _, err := accounts.ChangeUserIn(ctx, db, roles, was.ID, ch, 0); err != nil {
		return was, err
	}
	if ch.Active != nil && !*ch.Active {
		if err := accounts.RevokeTokens(ctx, db, was.ID); err != nil {
			return was, err
		}
	}
	if err := db.Exec(ctx, `UPDATE scim_users SET external_id = $2, attributes = $3::text::jsonb, deactivated = $4, modified_at = now() WHERE user_id = $1`,
		was.ID, want.ExternalID, string(want.Attributes), deactivated); err != nil {
		return was, err
	}
	return UserByID(ctx, db, was.ID)
}

// DeleteUser deactivates an account and removes it from the client's groups; the client no longer
// manages it. The user's experiments and other objects stay.
func DeleteUser(ctx context.Context, db *database.DB, roles accounts.Roles, id int) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := accounts.LockRoles(ctx, tx); err != nil {
			return err
		}
		was, err := UserByID(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := changeUser(ctx, tx, roles, was, Change{Username: was.Username, ExternalID: was.ExternalID, Attributes: was.Attributes}); err != nil {
			return err
		}
		if err := tx.Exec(ctx, `DELETE FROM group_members WHERE user_id = $1 AND origin = $2`, id, accounts.OriginSCIM); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE scim_users SET deleted_at = now() WHERE user_id = $1`, id)
	})
}
