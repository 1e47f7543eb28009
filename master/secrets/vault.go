package secrets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	callTime   = 5 * time.Second
	lookEvery  = 5 * time.Second // time between checks while Vault answers
	lookSooner = time.Second     // time between checks while Vault does not answer
)

// Config is the connection to Vault, and the settings of roles.
type Config struct {
	Address   string
	Namespace string
	CAFile    string
	// The master signs in with a token, with a token from a file, which may change, or with a
	// workload identity from a file, by the role AuthRole of the JWT method at AuthPath.
	Token     string
	TokenFile string
	JWTFile   string
	AuthPath  string
	AuthRole  string

	Engine     string // path of the AWS secrets engine
	RoleARN    string // the AWS role that Vault assumes
	ReaderRole string // role of the engine with which the master reads checkpoints
	TTL        time.Duration
	// RemoveEntities also removes the entity that Vault creates for a job that signed in.
	RemoveEntities bool

	ClusterID string
	// Processes returns the Nomad allocations of a job, by which Vault knows the job's processes.
	Processes func(ctx context.Context, job string) ([]string, error)
	// Changed is called when Vault becomes available or unavailable.
	Changed func()
	Log     *slog.Logger
}

// Vault is a client of Vault. It is safe for use by several goroutines.
type Vault struct {
	cfg  Config
	api  *api.Client
	away atomic.Pointer[string]

	mu       sync.Mutex        // protects the fields below
	until    time.Time         // when to renew the master's token
	accessor string            // of the JWT method
	granted  map[string]string // the roles that this master has written, by their jobs; "": the job needs none
	foreign  map[string]bool   // roles that other clusters have written
	reader   readerState
}

// New makes a client of Vault; it sends no request.
func New(cfg Config) (*Vault, error) {
	c := api.DefaultConfig()
	if c.Error != nil {
		return nil, fmt.Errorf("vault: %w", c.Error)
	}
	c.Address, c.Timeout, c.MaxRetries = cfg.Address, callTime, 0
	if cfg.CAFile != "" {
		if err := c.ConfigureTLS(&api.TLSConfig{CACert: cfg.CAFile}); err != nil {
			return nil, fmt.Errorf("vault.ca_file: %w", err)
		}
	}
	client, err := api.NewClient(c)
	if err != nil {
		return nil, fmt.Errorf("vault: %w", err)
	}
	client.ClearToken() // VAULT_TOKEN belongs to the user who started this program
	client.ClearNamespace()
	if cfg.Namespace != "" {
		client.SetNamespace(cfg.Namespace)
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	v := &Vault{cfg: cfg, api: client, granted: map[string]string{}, foreign: map[string]bool{}}
	unknown := "the master has not asked Vault yet"
	v.away.Store(&unknown)
	return v, nil
}

// Run checks regularly whether Vault is available, until ctx ends.
func (v *Vault) Run(ctx context.Context) {
	for {
		why := ""
		if err := v.look(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			why = reason(err)
		}
		if was := *v.away.Swap(&why); was != why {
			if why != "" {
				v.cfg.Log.Warn("Vault unavailable; attempts that need credentials wait", "address", v.cfg.Address, "reason", why)
			} else {
				v.cfg.Log.Info("Vault available", "address", v.cfg.Address)
			}
			v.cfg.Changed()
		}
		pause := lookEvery
		if why != "" {
			pause = lookSooner
		}
		if sleep.For(ctx, pause) != nil {
			return
		}
	}
}

// Away returns why Vault cannot issue credentials now; "" if it can.
func (v *Vault) Away() string {
	why := *v.away.Load()
	if why == "" {
		return ""
	}
	return fmt.Sprintf("waits for Vault at %s, which issues the credentials for its checkpoints: %s", v.cfg.Address, why)
}

// look asks Vault about the master's token, which fails if Vault is sealed or rejects the
// token.
func (v *Vault) look(ctx context.Context) error {
	return v.do(ctx, func(ctx context.Context) error {
		_, err := v.api.Logical().ReadWithContext(ctx, "auth/token/lookup-self")
		return err
	})
}

// do makes a call, signed in. It replaces an expired token once.
func (v *Vault) do(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	fresh, err := v.signIn(ctx, false)
	if err != nil {
		return asFault(err)
	}
	err = call(ctx)
	if statusOf(err) == http.StatusForbidden && !fresh {
		if _, err := v.signIn(ctx, true); err != nil {
			return asFault(err)
		}
		err = call(ctx)
	}
	return asFault(err)
}

// signIn ensures that the client has a token; fresh reports whether the token is new.
func (v *Vault) signIn(ctx context.Context, again bool) (fresh bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.cfg.Token != "":
		v.api.SetToken(v.cfg.Token)
		return true, nil
	case v.cfg.TokenFile != "":
		text, err := os.ReadFile(v.cfg.TokenFile)
		if err != nil {
			return false, fault.Wrap(fault.Unavailable, err, "vault.token_file: %v", err)
		}
		v.api.SetToken(strings.TrimSpace(string(text)))
		return true, nil
	case !again && time.Now().Before(v.until):
		return false, nil
	}
	jwt, err := os.ReadFile(v.cfg.JWTFile)
	if err != nil {
		return false, fault.Wrap(fault.Unavailable, err, "vault.jwt_file: %v", err)
	}
	v.api.ClearToken()
	got, err := v.api.Logical().WriteWithContext(ctx, "auth/"+v.cfg.AuthPath+"/login",
		map[string]any{"role": v.cfg.AuthRole, "jwt": strings.TrimSpace(string(jwt))})
	if err != nil {
		return false, err
	}
	if got == nil || got.Auth == nil {
		return false, fault.New(fault.Internal, "Vault returned no token for the role %s", v.cfg.AuthRole)
	}
	v.api.SetToken(got.Auth.ClientToken)
	v.until = time.Now().Add(time.Duration(got.Auth.LeaseDuration) * time.Second * 2 / 3)
	return true, nil
}

// forbidden reports whether Vault rejected a call because the master's policy does not allow it.
func forbidden(err error) bool { return statusOf(err) == http.StatusForbidden }

func statusOf(err error) int {
	if r, ok := errors.AsType[*api.ResponseError](err); ok {
		return r.StatusCode
	}
	return 0
}

// asFault classifies Vault's errors: missing permissions, invalid requests, and temporary
// failures.
func asFault(err error) error {
	var f *fault.Fault
	if err == nil || errors.As(err, &f) {
		return err
	}
	var r *api.ResponseError
	if !errors.As(err, &r) {
		return fault.Wrap(fault.Unavailable, err, "Vault does not answer: %v", fault.Root(err))
	}
	said := strings.Join(r.Errors, "; ")
	switch {
	case r.StatusCode == http.StatusForbidden:
		return fault.Wrap(fault.Unavailable, err, "Vault does not allow %s %s (%s): add the policy of nomad/vault/det-master.policy.hcl to the master's role", r.HTTPMethod, path(r.URL), said)
	case r.StatusCode/100 == 4 && r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusNotFound:
		return fault.Wrap(fault.Invalid, err, "Vault rejects %s: %s", path(r.URL), said)
	}
	return fault.Wrap(fault.Unavailable, err, "Vault answers %d: %s", r.StatusCode, said)
}

// reason is an error without the prefix "Vault ".
func reason(err error) string { return strings.TrimPrefix(err.Error(), "Vault ") }

func path(url string) string {
	_, rest, _ := strings.Cut(url, "/v1/")
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}
