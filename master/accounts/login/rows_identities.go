package login

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// An Identity is an account at an identity provider that signs in.
type Identity struct {
	Issuer, Subject       string
	Username, DisplayName string
	Admin                 *bool // nil: the provider does not decide it
	Create                bool  // the user gets an account here at the first sign-in
}

// SignIn returns the user of an identity. At the first sign-in, it connects the identity with the
// user of its name, if an administrator has marked that user as remote, or creates the user. A
// user with a password here is never connected, because the provider's users may be able to
// choose their names.
func SignIn(ctx context.Context, db *database.DB, roles accounts.Roles, i Identity) (accounts.User, error) {
	var u accounts.User
	err := db.Tx(ctx, func(tx *database.DB) error {
		// Two first sign-ins at once must not both create the user.
		if err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('identity ' || $1, 0))`, i.Username); err != nil {
			return err
		}
		var err error
		u, err = database.Row[accounts.User](ctx, tx, "user", `SELECT `+accounts.UserColumns+` FROM users WHERE id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)`, i.Issuer, i.Subject)
		if fault.Is(err, fault.NotFound) {
			u, err = connect(ctx, tx, i)
		} else if err == nil && !u.Remote { // an administrator has ended it, with a release that left the identity
			err = hasPassword(i.Username)
		}
		return err
	})
	if err != nil || !u.Active {
		return u, err
	}
	if i.DisplayName != "" && i.DisplayName != u.DisplayName {
		named, err := accounts.ChangeUser(ctx, db, roles, u.ID, accounts.UserChange{DisplayName: &i.DisplayName}, 0)
		switch {
		case err == nil:
			u = named
		case !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid): // else another user has the name
			return u, err
		}
	}
	if i.Admin != nil && *i.Admin != u.Admin {
		return accounts.ChangeUser(ctx, db, roles, u.ID, accounts.UserChange{Admin: i.Admin}, 0)
	}
	return u, nil
}

func hasPassword(username string) error {
	return fault.New(fault.Forbidden, "the account %s has a password on this cluster; an administrator can let the identity provider sign it in with det user edit %s --remote true", username, username)
}

// connect connects an identity with a user.
func connect(ctx context.Context, db *database.DB, i Identity) (accounts.User, error) {
	u, err := accounts.UserByName(ctx, db, i.Username)
	switch {
	case fault.Is(err, fault.NotFound) && i.Create:
		u, err = accounts.CreateUser(ctx, db, accounts.User{Username: i.Username, Active: true, Remote: true})
	case fault.Is(err, fault.NotFound):
		return u, fault.New(fault.Forbidden, "%s has no account on this cluster; an administrator can create one with det user create %s --remote", i.Username, i.Username)
	case err == nil && u.Service:
		return u, fault.New(fault.Forbidden, "the account %s is a service account, which signs in with access tokens alone", i.Username)
	case err == nil && !u.Remote:
		return u, hasPassword(i.Username)
	}
	if err != nil {
		return u, err
	}
	err = db.Exec(ctx, `INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $2, $3)`, i.Issuer, i.Subject, u.ID)
	return u, database.Taken(err, fault.New(fault.Forbidden, "the account %s belongs to another user of the identity provider", i.Username))
}
