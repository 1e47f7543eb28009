package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A SCIMUser is an account that a SCIM client manages.
type SCIMUser struct {
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

const scimUserSelect = `SELECT u.id, u.username, u.active, ` + keptUser + ` AS kept, s.external_id, s.attributes, s.deactivated, s.created_at, s.modified_at
	FROM scim_users s JOIN users u ON u.id = s.user_id `

// A SCIMFilter chooses users or groups; nil and 0 choose all.
type SCIMFilter struct {
	ID, Member *int
	Name       *string // of a user in lower case, or of a group
	Shown      *string // the display name of a user
	ExternalID *string
	Email      *string
	Active     *bool
	Nothing    bool // a comparison that is never true
}

func (f SCIMFilter) args(offset, limit int) database.Args {
	return database.Args{"id": f.ID, "member": f.Member, "name": f.Name, "shown": f.Shown, "external": f.ExternalID, "email": f.Email, "active": f.Active, "nothing": f.Nothing,
		"offset": offset, "limit": limit}
}

const scimUsersWhere = `WHERE s.deleted_at IS NULL AND NOT @nothing AND (@id::int IS NULL OR u.id = @id) AND (@name::text IS NULL OR u.username = @name)
	AND (@external::text IS NULL OR s.external_id = @external) AND (@active::boolean IS NULL OR u.active = @active)
	AND (@shown::text IS NULL OR lower(s.attributes->>'displayName') = lower(@shown))
	AND (@email::text IS NULL OR EXISTS (SELECT FROM jsonb_array_elements(coalesce(s.attributes->'emails', '[]')) e WHERE lower(e->>'value') = lower(@email)))`

// SCIMUsers lists a page of the accounts that the SCIM client manages, and counts all that the
// filter chooses.
func (db *DB) SCIMUsers(ctx context.Context, f SCIMFilter, offset, limit int) ([]SCIMUser, int, error) {
	args := f.args(offset, limit)
	total, err := database.Scalar[int](ctx, db.DB, `SELECT count(*)::int FROM scim_users s JOIN users u ON u.id = s.user_id `+scimUsersWhere, args)
	if err != nil || limit == 0 {
		return nil, total, err
	}
	list, err := database.Rows[SCIMUser](ctx, db.DB, scimUserSelect+scimUsersWhere+` ORDER BY u.id OFFSET @offset LIMIT @limit`, args)
	return list, total, err
}

func noResource(id int) error { return fault.New(fault.NotFound, "resource %d not found", id) }

// SCIMUser reads an account that the SCIM client manages.
func (db *DB) SCIMUser(ctx context.Context, id int) (SCIMUser, error) {
	u, err := database.Row[SCIMUser](ctx, db.DB, "resource", scimUserSelect+`WHERE u.id = $1 AND s.deleted_at IS NULL`, id)
	return u, database.Missing(err, noResource(id))
}

// A SCIMChange is the state of an account that a SCIM client requests.
type SCIMChange struct {
	Username, ExternalID string
	ShownName            string // for other users
	Attributes           []byte
	Active               bool
}

// CreateSCIMUser creates an account, or lets the client manage an existing one from now on: one
// that has no password here, is no administrator's, and is not managed yet.
func (db *DB) CreateSCIMUser(ctx context.Context, want SCIMChange) (made SCIMUser, err error) {
	err = db.Tx(ctx, func(tx *DB) error {
		// The first sign-in of the same user must not create the account too.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('identity ' || $1, 0))`, want.Username); err != nil {
			return err
		}
		if err := tx.lockRoles(ctx); err != nil {
			return err
		}
		u, err := tx.UserByName(ctx, want.Username)
		isNew := fault.Is(err, fault.NotFound)
		if isNew {
			u, err = tx.CreateUser(ctx, User{Username: want.Username, Active: want.Active, Remote: true})
		}
		if err != nil {
			return err
		}
		if err := tx.mayManage(ctx, u); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO scim_users (user_id, external_id, attributes, deactivated) VALUES ($1, $2, $3::text::jsonb, $4)
			ON CONFLICT (user_id) DO UPDATE SET deleted_at = NULL, external_id = excluded.external_id, attributes = excluded.attributes, modified_at = now()`,
			u.ID, want.ExternalID, string(want.Attributes), isNew && !want.Active); err != nil {
			return err
		}
		was, err := tx.SCIMUser(ctx, u.ID)
		if err != nil {
			return err
		}
		made, err = tx.changeSCIMUser(ctx, was, want)
		return err
	})
	return made, err
}

// mayManage fails if a SCIM client may not begin to manage an account.
func (db *DB) mayManage(ctx context.Context, u User) error {
	kept, err := database.Scalar[bool](ctx, db.DB, `SELECT `+keptUser+` FROM users u WHERE u.id = $1`, u.ID)
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
	managed, err := database.Scalar[bool](ctx, db.DB, `SELECT EXISTS (SELECT FROM scim_users WHERE user_id = $1 AND deleted_at IS NULL)`, u.ID)
	if err == nil && managed {
		err = fault.New(fault.Conflict, "user %s already exists", u.Username)
	}
	return err
}

// ChangeSCIMUser applies change to an account that the SCIM client manages.
func (db *DB) ChangeSCIMUser(ctx context.Context, id int, change func(SCIMUser) (SCIMChange, error)) (u SCIMUser, err error) {
	err = db.Tx(ctx, func(tx *DB) error {
		if err := tx.lockRoles(ctx); err != nil { // also one change of the account at a time
			return err
		}
		was, err := tx.SCIMUser(ctx, id)
		if err != nil {
			return err
		}
		want, err := change(was)
		if err != nil {
			return err
		}
		u, err = tx.changeSCIMUser(ctx, was, want)
		return err
	})
	return u, err
}

func (db *DB) changeSCIMUser(ctx context.Context, was SCIMUser, want SCIMChange) (SCIMUser, error) {
	var ch UserChange
	if want.Username != was.Username {
		if was.Kept {
			return was, fault.New(fault.Forbidden, "the account %s has a password on this cluster or is an administrator's: SCIM cannot rename it, because a name decides who may sign in the first time", was.Username)
		}
		ch.Username = &want.Username
	}
	if want.ShownName != "" && db.checkDisplayName(ctx, was.ID, &want.ShownName) == nil { // else another user has the name
		ch.DisplayName = &want.ShownName
	}
	deactivated := was.Deactivated
	switch {
	case was.Active && !want.Active:
		ch.Active, deactivated = &want.Active, true
	case !was.Active && want.Active && was.Deactivated: // one that an administrator deactivated stays so
		ch.Active, deactivated = &want.Active, false
	}
	if _, err := db.changeUser(ctx, was.ID, ch, 0); err != nil {
		return was, err
	}
	if ch.Active != nil && !*ch.Active {
		if err := db.revokeTokens(ctx, was.ID); err != nil {
			return was, err
		}
	}
	if _, err := db.Exec(ctx, `UPDATE scim_users SET external_id = $2, attributes = $3::text::jsonb, deactivated = $4, modified_at = now() WHERE user_id = $1`,
		was.ID, want.ExternalID, string(want.Attributes), deactivated); err != nil {
		return was, err
	}
	return db.SCIMUser(ctx, was.ID)
}

// revokeTokens revokes all access tokens of a user.
func (db *DB) revokeTokens(ctx context.Context, userID int) error {
	_, err := db.Exec(ctx, `UPDATE sessions SET revoked_at = coalesce(revoked_at, now()), expires_at = least(expires_at, now()) WHERE user_id = $1 AND is_token AND expires_at > now()`, userID)
	return err
}

// DeleteSCIMUser deactivates an account and removes it from the client's groups; the client no longer
// manages it. The user's experiments and other objects stay.
func (db *DB) DeleteSCIMUser(ctx context.Context, id int) error {
	return db.Tx(ctx, func(tx *DB) error {
		if err := tx.lockRoles(ctx); err != nil {
			return err
		}
		was, err := tx.SCIMUser(ctx, id)
		if err != nil {
			return err
		}
		if _, err := tx.changeSCIMUser(ctx, was, SCIMChange{Username: was.Username, ExternalID: was.ExternalID, Attributes: was.Attributes}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM group_members WHERE user_id = $1 AND origin = $2`, id, scimOrigin); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE scim_users SET deleted_at = now() WHERE user_id = $1`, id)
		return err
	})
}
