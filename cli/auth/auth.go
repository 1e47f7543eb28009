// Package auth has the command det auth: signing in with an identity provider.
package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/nacl/box"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/browser"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/v1"
)

// listenAt is where a sign-in in a browser ends: the master redirects the browser to this address.
const listenAt = "localhost:49176"

// listenWait bounds how long det waits for the port: it is among those that systems give to outgoing connections, which are mostly short.
const listenWait = 3 * time.Second

// New is det auth.
func New(a *app.App) *cobra.Command {
	return noun.New("auth", "sign in with an identity provider", nil, nil, newLogin(a), newProviders(a), newSessions(a))
}

func newProviders(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "list-providers",
		Short: "list the identity providers",
		Args:  args.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, _, err := providers(cmd.Context(), a)
			if err != nil {
				return err
			}
			if format.Structured() || format.CSV {
				t := table.New("Name", "Type", "URL")
				for _, p := range list {
					t.Row(p.Name, p.Type, p.SSOURL)
				}
				return format.Print(a.IO, t, list)
			}
			if len(list) == 0 {
				a.Printf("No SSO providers found.\n")
				return nil
			}
			names := each.Of(list, func(p v1.InfoSSOProvider) string { return p.Name })
			a.Printf("Available providers: %s.\n", strings.Join(names, ", "))
			return nil
		},
	}
	format.Flags(cmd)
	return cmd
}

func providers(ctx context.Context, a *app.App) ([]v1.InfoSSOProvider, *client.Client, error) {
	c, err := a.Anonymous()
	if err != nil {
		return nil, nil, err
	}
	list, err := client.Call(ctx, c, v1.GetInfo)
	return list.SSOProviders, c, err
}

type loginOptions struct {
	provider         string
	headless, device bool
	identity         string // file
}

func newLogin(a *app.App) *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use:   "login",
		Short: "sign in with an identity provider; later commands act as this user",
		Long: `Signs in with an identity provider. Later commands act as this user.

det opens a browser, in which you sign in. With --headless you open the address yourself, and paste
the address to which the browser goes at the end. With --device you sign in on any machine with a
browser, with a code that det prints.

With --identity-file a job of Nomad signs in with its workload identity, without a person: as the service account that
job_sign_in in the master's configuration names for the job, until the identity expires.`,
		Args: args.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runLogin(cmd.Context(), a, o) },
	}
	cmd.Flags().StringVarP(&o.provider, "provider", "p", "", "name of the identity provider; needed if there are several")
	cmd.Flags().BoolVar(&o.headless, "headless", false, "do not open a browser; paste the address at which the sign-in ends")
	cmd.Flags().BoolVar(&o.device, "device", false, "sign in on another machine, with a code")
	cmd.Flags().StringVar(&o.identity, "identity-file", "", "sign a job of Nomad in with the workload identity in this file")
	cmd.MarkFlagsMutuallyExclusive("headless", "device", "identity-file")
	cmd.MarkFlagsMutuallyExclusive("provider", "identity-file")
	return cmd
}

// signInJob signs a job of Nomad in.
func signInJob(ctx context.Context, a *app.App, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "--identity-file: %v", err)
	}
	c, err := a.Anonymous()
	if err != nil {
		return err
	}
	in, err := c.LoginJob(ctx, strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	return a.SignIn(ctx, in.Token)
}

func runLogin(ctx context.Context, a *app.App, o loginOptions) error {
	if o.identity != "" {
		return signInJob(ctx, a, o.identity)
	}
	list, c, err := providers(ctx, a)
	if err != nil {
		return err
	}
	chosen, err := choose(list, o.provider)
	if err != nil {
		return err
	}
	var token string
	switch {
	case o.device:
		token, err = withCode(ctx, a, c, chosen)
	case o.headless:
		var expected reply
		if expected, err = newReply(chosen); err == nil {
			token, err = pasted(ctx, a, expected)
		}
	default:
		token, err = inBrowser(ctx, a, chosen)
	}
	if err != nil {
		return err
	}
	return a.SignIn(ctx, token)
}

// choose finds the provider with a name; without a name, the only one.
func choose(list []v1.InfoSSOProvider, name string) (v1.InfoSSOProvider, error) {
	var names []string
	for _, p := range list {
		if name != "" && strings.EqualFold(p.Name, name) || name == "" && len(list) == 1 {
			return p, nil
		}
		names = append(names, p.Name)
	}
	switch {
	case len(list) == 0:
		return v1.InfoSSOProvider{}, fault.New(fault.NotFound, "this cluster has no identity provider; sign in with det user login")
	case name == "":
		return v1.InfoSSOProvider{}, fault.New(fault.Invalid, "there are several identity providers; choose one with --provider: %s", strings.Join(names, ", "))
	}
	return v1.InfoSSOProvider{}, fault.New(fault.NotFound, "there is no identity provider %q; there is %s", name, strings.Join(names, ", "))
}

// A reply is the browser's request at the end of a sign-in. It contains the token, encrypted for a key
// of this sign-in. A page that the user opens meanwhile does not know the key, so it can neither send
// a token of another user nor read this one.
type reply struct {
	address        string // of the sign-in
	public, secret *[32]byte
}

func newReply(p v1.InfoSSOProvider) (reply, error) {
	public, secret, err := box.GenerateKey(rand.Reader)
	if err != nil {
		return reply{}, err
	}
	return reply{p.SSOURL + "?relayState=cli&cliKey=" + base64.RawURLEncoding.EncodeToString(public[:]), public, secret}, nil
}

// token reads the query of the address at which a sign-in ends.
func (r reply) token(query url.Values) (string, bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(query.Get("sealed"))
	if err != nil {
		return "", false
	}
	token, ok := box.OpenAnonymous(nil, sealed, r.public, r.secret)
	return string(token), ok
}

// inBrowser opens a browser, and waits until the browser sends the token.
func inBrowser(ctx context.Context, a *app.App, p v1.InfoSSOProvider) (string, error) {
	expected, err := newReply(p)
	if err != nil {
		return "", err
	}
	listeners, err := listen(ctx)
	if err != nil {
		a.Printf("Cannot listen at %s, where the browser ends the sign-in: %v. Falling back to --headless.\n", listenAt, err)
		return pasted(ctx, a, expected)
	}
	if err := browser.Open(ctx, a.Env, expected.address); err != nil {
		a.Printf("%v. Falling back to --headless.\n", err)
		for _, l := range listeners {
			_ = l.Close()
		}
		return pasted(ctx, a, expected)
	}
	a.Printf("Your browser should open and prompt you to sign on; if it did not, please visit %s\n", expected.address)
	tokens := make(chan string, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := expected.token(r.URL.Query())
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintln(w, "You can close this window now.")
		select {
		case tokens <- token:
		default:
		}
	})}
	for _, l := range listeners {
		go func() { _ = server.Serve(l) }() // ends with Shutdown
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // else the browser does not get its page
	}()
	select {
	case token := <-tokens:
		return token, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// listen listens at each address of this machine that a browser may try for listenAt. It waits for an
// address that something else uses; then one is enough.
func listen(ctx context.Context) ([]net.Listener, error) {
	_, port, err := net.SplitHostPort(listenAt)
	if err != nil {
		return nil, err
	}
	var listeners []net.Listener
	var failed error
	missing := []string{"::1", "127.0.0.1"}
	for deadline := time.Now().Add(listenWait); ; {
		var used []string
		for _, host := range missing {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
			switch {
			case err == nil:
				listeners = append(listeners, l)
			case errors.Is(err, syscall.EADDRINUSE):
				used = append(used, host)
				failed = err
			default:
				failed = cmp.Or(failed, err)
			}
		}
		missing = used
		if done := time.Now().After(deadline); len(missing) == 0 || done {
			if len(listeners) > 0 {
				return listeners, nil
			}
			return nil, failed
		}
		if err := sleep.For(ctx, 100*time.Millisecond); err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, err
		}
	}
}

// pasted asks for the address at which the sign-in ends.
func pasted(ctx context.Context, a *app.App, expected reply) (string, error) {
	a.Printf("Please open this URL in your browser: '%s'\nAfter authenticating, copy/paste the localhost URL from your browser into the prompt.\n", expected.address)
	for {
		text, err := a.IO.Secret(ctx, "\n(hidden) localhost URL? ")
		if err != nil {
			return "", err
		}
		if u, err := url.Parse(strings.TrimSpace(text)); err == nil {
			if token, ok := expected.token(u.Query()); ok {
				return token, nil
			}
		}
		if !a.IO.InTTY {
			return "", fault.New(fault.Invalid, "the address is not that of this sign-in; expected one such as http://%s/?sealed=…", listenAt)
		}
		a.Printf("This is not the localhost URL of this sign-in. Example: 'http://%s/?sealed=…'\n", listenAt)
	}
}

// withCode prints a code, and waits until the user has signed in with it.
func withCode(ctx context.Context, a *app.App, c *client.Client, p v1.InfoSSOProvider) (string, error) {
	d, err := client.Send(ctx, c, v1.StartDeviceSignIn, v1.StartDeviceSignInRequest{Provider: p.Name})
	if err != nil {
		return "", err
	}
	a.Printf("Open %s in a browser, and enter the code %s\n", d.URL, d.UserCode)
	interval := time.Duration(max(d.Interval, 1)) * time.Second
	for deadline := time.Now().Add(time.Duration(d.ExpiresIn) * time.Second); time.Now().Before(deadline); {
		if err := sleep.For(ctx, interval); err != nil {
			return "", err
		}
		r, err := client.Send(ctx, c, v1.FinishDeviceSignIn, v1.FinishDeviceSignInRequest{Provider: p.Name, DeviceCode: d.DeviceCode})
		switch {
		case fault.Is(err, fault.Unavailable), fault.Is(err, fault.TooMany):
			continue // until the code expires
		case err != nil:
			return "", err
		case !r.Pending:
			return r.Token, nil
		case r.Slower:
			interval += 5 * time.Second
		}
	}
	return "", fault.New(fault.Unauthenticated, "the code %s has expired; run det auth login --device again", d.UserCode)
}
