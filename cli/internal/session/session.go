// Package session decides as which user det calls the master.
//
// In this order: the user named with -u; DET_USER with DET_PASS; the user who signed in last;
// and if nobody ever signed in, the user "determined" with a blank password, which new clusters
// have. A stored session is used without checking it: if the master rejects the first call, det
// asks for the password again. Inside a task, DET_USER and DET_USER_TOKEN are a session that
// needs no password.
package session

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/cli/internal/tokens"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// DefaultUser is tried with a blank password if nobody ever signed in.
const DefaultUser = "determined"

// Options are the inputs of the decision.
type Options struct {
	Client client.Options
	Store  *tokens.Store
	User   string                                     // named on the command line
	Lookup func(name string) (value string, set bool) // of the environment
	IO     *term.IO
}

// Session is a client and its user.
type Session struct {
	Client *client.Client
	User   string
}

// A choice is a user, and possibly a password.
type choice struct {
	user     string
	password *string
	fallback bool // no user was named: the default user
}

func (o Options) choose(stored tokens.Sessions) choice {
	var password *string
	if p, set := o.Lookup("DET_PASS"); set { // a blank password counts as set
		password = &p
	}
	named, _ := o.Lookup("DET_USER")
	switch {
	case o.User != "":
		return choice{user: o.User, password: password}
	case named != "" && password != nil:
		return choice{user: named, password: password}
	case stored.Active != "":
		return choice{user: stored.Active, password: password}
	}
	return choice{user: DefaultUser, password: new(""), fallback: true}
}

// Open returns a stored session, or signs in.
func Open(ctx context.Context, o Options) (*Session, error) {
	stored, err := o.Store.Read()
	if err != nil {
		o.IO.Warn("%s", err)
	}
	who := o.choose(stored)
	token := stored.Tokens[who.user]
	if token == "" {
		if user, t := o.taskUser(); t != "" && (o.User == "" || o.User == user) {
			who.user, token = user, t
		}
	}
	if token == "" {
		if token, err = o.signIn(ctx, who); err != nil {
			return nil, err
		}
	}
	co := o.Client
	co.Token = token
	co.Refresh = func(ctx context.Context, refused string) (string, error) { return o.refresh(ctx, who, refused) }
	c, err := client.New(co)
	if err != nil {
		return nil, err
	}
	return &Session{Client: c, User: who.user}, nil
}

// taskUser is the session that the master gives to the tasks of a user.
func (o Options) taskUser() (user, token string) {
	user, _ = o.Lookup("DET_USER")
	token, _ = o.Lookup("DET_USER_TOKEN")
	if user == "" {
		return "", ""
	}
	return user, token
}

// refresh replaces a session that the master rejected.
func (o Options) refresh(ctx context.Context, who choice, refused string) (string, error) {
	if err := o.Store.DropToken(who.user, refused); err != nil {
		o.IO.Warn("%s", err)
	}
	return o.signIn(ctx, who)
}

// signIn signs in with a password and stores the session.
func (o Options) signIn(ctx context.Context, who choice) (string, error) {
	if who.password == nil {
		if !o.IO.InTTY {
			return "", fault.New(fault.Unauthenticated,
				"user %q is not signed in at %s", who.user, o.Client.Master)
		}
		p, err := o.IO.Secret(ctx, fmt.Sprintf("Password for user '%s': ", who.user))
		if err != nil {
			return "", err
		}
		who.password = &p
	}
	token, err := o.login(ctx, who.user, *who.password)
	if refused(err) && who.fallback {
		return "", fault.Wrap(fault.Unauthenticated, err, "you are not signed in at %s", o.Client.Master)
	}
	if err != nil {
		return "", err
	}
	if err := o.Store.SetToken(who.user, token, false); err != nil {
		o.IO.Warn("%s", err)
	}
	return token, nil
}

func refused(err error) bool {
	return fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden)
}

func (o Options) login(ctx context.Context, user, password string) (string, error) {
	c, err := client.New(o.Client)
	if err != nil {
		return "", err
	}
	defer c.Close()
	resp, err := c.Login(ctx, user, password)
	if err != nil {
		return "", err
	}
	return resp.Token, nil
}
