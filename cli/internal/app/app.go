// Package app is the context of every command of det: the terminal, the environment, the global
// flags, and a client that signs in at its first use. A command that needs no master, such as
// --version, reads no file.
package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"github.com/detent-ml/detent/cli/internal/session"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/cli/internal/tokens"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// App is the context of a command.
type App struct {
	IO     *term.IO
	Lookup func(name string) (value string, set bool) // reads an environment variable
	Now    func() time.Time

	Master string // -m; "": from the environment
	User   string // -u; "": the signed-in user

	sess *session.Session
}

// New makes the App of a process.
func New() *App {
	return &App{IO: term.System(os.Getenv), Lookup: os.LookupEnv, Now: time.Now}
}

// Env returns an environment variable; "" if it is not set.
func (a *App) Env(name string) string {
	value, _ := a.Lookup(name)
	return value
}

// Address is the address of the master, in canonical form.
func (a *App) Address() (string, error) {
	return client.Canonical(cmp.Or(a.Master, client.MasterFromEnv(a.Env)))
}

// Store is the file of sessions.
func (a *App) Store() (*tokens.Store, error) {
	address, err := a.Address()
	if err != nil {
		return nil, err
	}
	dir, err := tokens.ConfigDir(a.Env)
	if err != nil {
		return nil, err
	}
	return tokens.Open(dir, address)
}

// Options are the options of a client of the master, without a user.
func (a *App) Options() (client.Options, error) {
	address, err := a.Address()
	if err != nil {
		return client.Options{}, err
	}
	trust, err := a.trust(address)
	if err != nil {
		return client.Options{}, err
	}
	return client.Options{
		Master: address, TLS: trust, UserAgent: "det/" + v1.Version, OnRetry: a.notice(),
	}, nil
}

// trust is the trusted certificates: those in the environment, and those that Determined's
// client stores for this master.
func (a *App) trust(address string) (*tls.Config, error) {
	file, name := a.Env("DET_MASTER_CERT_FILE"), a.Env("DET_MASTER_CERT_NAME")
	var stored []byte
	if file == "" {
		dir, err := tokens.ConfigDir(a.Env)
		if err == nil {
			stored = tokens.Certificate(dir, address)
		}
	}
	return client.TLSConfig(file, stored, name)
}

// notice prints once per outage why a call is being repeated, if that takes longer than a
// moment.
func (a *App) notice() func(error, time.Duration) {
	var last time.Time
	return func(err error, _ time.Duration) {
		if now := a.Now(); now.Sub(last) > 30*time.Second {
			a.IO.Warn("%s; trying again…", err)
			last = now
		}
	}
}

// Anonymous returns a client without a user.
func (a *App) Anonymous() (*client.Client, error) { return a.WithToken("") }

// WithToken returns a client for the user of a token.
func (a *App) WithToken(token string) (*client.Client, error) {
	o, err := a.Options()
	if err != nil {
		return nil, err
	}
	o.Token = token
	return client.New(o)
}

// Session returns the session of the user, and signs in if necessary.
func (a *App) Session(ctx context.Context) (*session.Session, error) {
	if a.sess != nil {
		return a.sess, nil
	}
	o, err := a.Options()
	if err != nil {
		return nil, err
	}
	store, err := a.Store()
	if err != nil {
		return nil, err
	}
	a.sess, err = session.Open(ctx, session.Options{
		Client: o, Store: store, User: a.User, Lookup: a.Lookup, IO: a.IO,
	})
	return a.sess, err
}

// Client returns a client that is signed in.
func (a *App) Client(ctx context.Context) (*client.Client, error) {
	s, err := a.Session(ctx)
	if err != nil {
		return nil, err
	}
	return s.Client, nil
}

// SignIn stores a token, and makes its user the one of later commands.
func (a *App) SignIn(ctx context.Context, token string) error {
	c, err := a.WithToken(token)
	if err != nil {
		return err
	}
	me, err := c.Me(ctx)
	if fault.Is(err, fault.Unauthenticated) {
		return fault.Wrap(fault.Unauthenticated, err, "%s rejected the token: it is unknown, has expired or was revoked", c.Master())
	}
	if err != nil {
		return err
	}
	store, err := a.Store()
	if err != nil {
		return err
	}
	if err := store.SetToken(me.Username, token, true); err != nil {
		return err
	}
	a.Printf("Authenticated as %s.\n", me.Username)
	return nil
}

// Printf prints to the standard output.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.IO.Out, format, args...) }
