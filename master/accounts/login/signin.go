package login

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/nacl/box"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/oidc"
	"github.com/detent-ml/detent/master/proxy/headers"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxPollsPerAddress    = 600  // of device codes
	maxSignOutsPerAddress = 1200 // a provider signs all its users out from one address
	signInTime            = 10 * time.Minute
	maxSignInValue        = 4096
	// cliRelay is the relay state of det auth login. Such a sign-in ends at cliAddress, where
	// det listens, with the token: both are Determined's.
	cliRelay   = "cli"
	cliAddress = "http://localhost:49176/?token="
	// cliSealed is the path at which a sign-in of Detent's own det ends: the token is encrypted for the
	// key that det has sent. So no page can send det a token of another user, and another program that
	// listens at the address, or a browser's history, gets no usable token.
	cliSealed = "http://localhost:49176/?sealed="
)

// Offered lists the identity providers as clients know them.
func Offered(providers *oidc.Providers, publicURL string) []v1.SSOProvider {
	list := []v1.SSOProvider{}
	if providers == nil {
		return list
	}
	for i, p := range providers.List() {
		at := strings.TrimSuffix(publicURL, "/") + "/oidc/sso"
		if i > 0 {
			at += "/" + url.PathEscape(p.Name)
		}
		list = append(list, v1.SSOProvider{Name: p.Name, SsoURL: at, Type: "OIDC", AlwaysRedirect: p.AlwaysRedirect})
	}
	return list
}

// A pendingSignIn is a sign-in in a browser that has begun. The browser keeps it in a cookie, so
// that every master can complete it.
type pendingSignIn struct {
	oidc.Attempt
	Relay string `json:"relay"`
	Key   []byte `json:"key,omitempty"` // of det, for which the token is encrypted
	Until int64  `json:"until"`
}

// pendingCookie is the name of that cookie. With HTTPS its prefix guarantees that no script and no
// page of another host has set it.
func pendingCookie(c *rest.Call) string {
	if c.Secure() {
		return headers.SecureSignInCookie
	}
	return headers.SignInCookie
}

func setPending(c *rest.Call, value string, age time.Duration) {
	cookie := &http.Cookie{Name: pendingCookie(c), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.Secure(), MaxAge: int(age.Seconds())}
	if age <= 0 {
		cookie.Expires = time.Unix(1, 0)
	}
	c.SetCookie(cookie)
}

// provider limits the calls to identity providers, which anonymous callers can cause.
func (d Deps) provider(ctx context.Context, c *rest.Call, key string, most int) (end func(), err error) {
	if d.Providers == nil {
		return nil, fault.New(fault.NotFound, "no identity provider is configured; sign in with det user login")
	}
	return d.SignIns.Begin(ctx, c, key, most)
}

// startSignIn sends a browser to the provider. A sign-in of a program, which ends with the token
// at an address of the browser's machine, must be confirmed first: any page can link here.
func (d Deps) startSignIn(_ context.Context, c *rest.Call) error {
	relay, _ := c.Query("relayState")
	if relay == cliRelay {
		return sendPage(c, http.StatusOK, signInPage{Title: "Sign in det?",
			Text: "A program on this computer asks to sign in to the cluster " + d.ClusterName + " as you. Continue only if you have just started det auth login.", Button: "Continue"})
	}
	return d.redirectToProvider(c, relay)
}

func (d Deps) confirmSignIn(_ context.Context, c *rest.Call) error {
	if c.Get("Origin") == "" && c.Get("Sec-Fetch-Site") == "" {
		return fault.New(fault.Forbidden, "a browser can confirm a sign-in only on the master's own page")
	}
	if err := c.NotFromElsewhere(); err != nil {
		return err
	}
	return d.redirectToProvider(c, cliRelay)
}

func (d Deps) redirectToProvider(c *rest.Call, relay string) error {
	ctx, cancel := c.Within()
	defer cancel()
	key, err := cliKey(c)
	if err != nil {
		return failedSignIn(c, err)
	}
	end, err := d.provider(ctx, c, "oidc", accounts.MaxSignInsPerAddress)
	if err != nil {
		return failedSignIn(c, err)
	}
	defer end()
	return failedSignIn(c, d.beginAt(ctx, c, d.Providers.Start, c.Param("provider"), relay, key))
}

// beginAt sends a browser to a provider's page.
func (d Deps) beginAt(ctx context.Context, c *rest.Call, start func(context.Context, string) (oidc.Attempt, string, error), provider, relay string, key []byte) error {
	attempt, address, err := start(ctx, provider)
	if err != nil {
		return err
	}
	b, err := json.Marshal(pendingSignIn{Attempt: attempt, Relay: fault.Clip(relay), Key: key, Until: time.Now().Add(signInTime).Unix()})
	if err != nil {
		return err
	}
	setPending(c, base64.RawURLEncoding.EncodeToString(b), signInTime)
	c.Set("Cache-Control", "no-store")
	return c.Redirect(address, http.StatusSeeOther)
}

// cliKey is the public key of det, if the address of a sign-in has one.
func cliKey(c *rest.Call) ([]byte, error) {
	text, given := c.Query("cliKey")
	if !given {
		return nil, nil
	}
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(key) != 32 {
		return nil, fault.New(fault.Invalid, "cliKey: expected a public key of 32 bytes in base64url")
	}
	return key, nil
}

// finishSignIn creates the session of a user whom the provider has sent back. An address that
// does not belong to the sign-in of this browser does not end it.
func (d Deps) finishSignIn(_ context.Context, c *rest.Call) error {
	pending, err := d.pendingOf(c)
	if err == nil {
		setPending(c, "", -1)
		err = d.completeSignIn(c, pending)
	}
	return failedSignIn(c, err)
}

// pendingOf reads the cookie of the sign-in that the provider answers.
func (d Deps) pendingOf(c *rest.Call) (p pendingSignIn, err error) {
	value := c.OnlyCookie(pendingCookie(c))
	b, err := base64.RawURLEncoding.DecodeString(value)
	state, _ := c.Query("state")
	if err != nil || len(value) > maxSignInValue || json.Unmarshal(b, &p) != nil || time.Now().Unix() > p.Until || !p.Began(state) {
		return p, fault.New(fault.Unauthenticated, "this sign-in did not begin in this browser, or took longer than %s; begin again", signInTime)
	}
	return p, nil
}

func (d Deps) completeSignIn(c *rest.Call, p pendingSignIn) error {
	ctx, cancel := c.Within()
	defer cancel()
	end, err := d.provider(ctx, c, "oidc", accounts.MaxSignInsPerAddress)
	if err != nil {
		return err
	}
	defer end()
	if code, failed := c.Query("error"); failed {
		if d.Providers.Again(p.Attempt, code) {
			return d.beginAt(ctx, c, d.Providers.StartPlain, p.Provider, p.Relay, p.Key)
		}
		why, _ := c.Query("error_description")
		return fault.New(fault.Unauthenticated, "the identity provider %s rejected the sign-in: %s %s", p.Provider, fault.Clip(code), fault.Clip(why))
	}
	state, _ := c.Query("state")
	code, _ := c.Query("code")
	who, cfg, err := d.Providers.Finish(ctx, p.Attempt, state, code)
	if err != nil {
		return err
	}
	_, token, err := d.signedInAs(ctx, c, who, cfg)
	if err != nil {
		return err
	}
	c.Set("Cache-Control", "no-store")
	if p.Relay == cliRelay {
		to, err := cliEnd(p, token)
		if err != nil {
			return err
		}
		return c.Redirect(to, http.StatusSeeOther)
	}
	c.SetCookie(accounts.SessionCookie(c, token, int(cfg.SessionLife.Seconds())))
	// A redirect would continue the provider's navigation, to which browsers do not add the
	// session's cookie; a page of our own begins a new one.
	return sendPage(c, http.StatusOK, signInPage{Title: "Signed in", Text: "You are signed in as " + who.Username + ".", Next: d.AskFirst(ownPath(p.Relay))})
}

// cliEnd returns the address at which a sign-in of det ends.
func cliEnd(p pendingSignIn, token string) (string, error) {
	if p.Key == nil {
		return cliAddress + url.QueryEscape(token), nil
	}
	sealed, err := box.SealAnonymous(nil, []byte(token), (*[32]byte)(p.Key), nil)
	if err != nil {
		return "", err
	}
	return cliSealed + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// ownPath is a path of the master's pages, for the page after a sign-in. A browser removes the
// segments . and .. in every encoding, so a path with them would lead elsewhere than it states.
func ownPath(path string) string {
	segments := strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(path), "%2e", "."), func(r rune) bool { return r == '/' || r == '?' || r == '#' })
	dots := slices.ContainsFunc(segments, func(s string) bool { return s == "." || s == ".." })
	if len(path) > 1 && path[0] == '/' && path[1] != '/' && !dots && !strings.ContainsAny(path, "\\\r\n\t") {
		return path
	}
	return "/experiments"
}

// signedInAs finds the user of an identity, and creates a session.
func (d Deps) signedInAs(ctx context.Context, c *rest.Call, who oidc.Identity, cfg oidc.Config) (accounts.User, string, error) {
	audit.NoteUser(c, nil, who.Username)
	name, err := accounts.CheckUsername(who.Username)
	if err != nil {
		return accounts.User{}, "", err
	}
	u, err := SignIn(ctx, d.DB, d.Roles, Identity{Issuer: who.Issuer, Subject: who.Subject, Username: name, DisplayName: who.DisplayName, Admin: who.Admin, Create: cfg.CreateUsers})
	if err != nil {
		return u, "", err
	}
	audit.NoteUser(c, &u.ID, u.Username)
	if !u.Active {
		return u, "", fault.New(fault.Forbidden, "user is not active: an admin can activate %s with det user activate %s", u.Username, u.Username)
	}
	joined, left, err := d.syncGroups(ctx, u.ID, u.Username, who, cfg)
	if err != nil {
		return u, "", err
	}
	if len(joined)+len(left) > 0 {
		audit.Note(c, map[string]any{"joinedGroups": joined, "leftGroups": left})
	}
	token, hash := auth.NewToken()
	at := accounts.PlaceOf(c)
	at.Issuer, at.SID = who.Issuer, who.SID
	at.Provider, at.Tokens = cfg.Name, d.tokensFor(who, cfg, hash)
	life := who.Grant.Life(cfg.SessionLife, time.Now())
	if err := accounts.BeginSession(ctx, c, d.DB, u, hash, life, at); err != nil {
		return u, "", err
	}
	if life < cfg.SessionLife {
		d.Log.Warn("the identity provider gave no refresh token, so a session is short: allow the client to have refresh tokens, or set offline_access: never",
			"provider", cfg.Name, "username", u.Username, "lasts", life.Round(time.Second))
	}
	if err := SignedIn(ctx, d.DB, who.Issuer, who.Subject, knownOf(who, cfg), cfg.Recheck); err != nil {
		return u, "", err
	}
	d.Callers.Forget(u.ID) // the provider may have changed the admin mark
	return u, token, nil
}

// memberships are the groups here that a provider gives a user, and how many of its names no group here
// can have.
func memberships(who oidc.Identity, cfg oidc.Config) (m accounts.Memberships, unusable int) {
	m = accounts.Memberships{Provider: cfg.Name, Create: cfg.Sync.Create}
	here, unusable := cfg.Sync.Here(who.Groups)
	for _, g := range here {
		m.Groups = append(m.Groups, accounts.ProviderGroup{Name: g.Name, Ours: g.Ours})
	}
	return m, unusable
}

// syncGroups lets a user join and leave groups, as the provider says.
func (d Deps) syncGroups(ctx context.Context, userID int, username string, who oidc.Identity, cfg oidc.Config) (joined, left []string, err error) {
	if !cfg.Sync.On() {
		return nil, nil, nil
	}
	m, unusable := memberships(who, cfg)
	joined, left, err = accounts.SyncMemberships(ctx, d.DB, d.Roles, userID, m)
	if err != nil {
		return nil, nil, err
	}
	if unusable > 0 {
		d.Log.Warn("an identity provider sent names that groups of this cluster cannot have", "provider", cfg.Name, "username", username, "names", unusable)
	}
	if len(joined)+len(left) > 0 {
		d.Callers.RolesChanged()
	}
	return joined, left, nil
}

func (d Deps) startDevice(ctx context.Context, c *rest.Call, req *v1.StartDeviceSignInRequest) (*v1.StartDeviceSignInResponse, error) {
	if err := c.NotFromElsewhere(); err != nil {
		return nil, err
	}
	end, err := d.provider(ctx, c, "oidc", accounts.MaxSignInsPerAddress)
	if err != nil {
		return nil, err
	}
	defer end()
	code, err := d.Providers.StartDevice(ctx, req.Provider)
	if err != nil {
		return nil, err
	}
	return &v1.StartDeviceSignInResponse{DeviceCode: code.DeviceCode, UserCode: code.UserCode, URL: code.URL, CompleteURL: code.CompleteURL,
		Interval: int(code.Interval.Seconds()), ExpiresIn: int(code.ExpiresIn.Seconds())}, nil
}

func (d Deps) finishDevice(ctx context.Context, c *rest.Call, req *v1.FinishDeviceSignInRequest) (*v1.FinishDeviceSignInResponse, error) {
	if err := c.NotFromElsewhere(); err != nil {
		return nil, err
	}
	if req.DeviceCode == "" || len(req.DeviceCode) > maxSignInValue {
		return nil, fault.New(fault.Invalid, "deviceCode: expected a code of 1 to %d bytes", maxSignInValue)
	}
	end, err := d.provider(ctx, c, "device", maxPollsPerAddress)
	if err != nil {
		return nil, err
	}
	defer end()
	who, cfg, err := d.Providers.FinishDevice(ctx, req.Provider, req.DeviceCode)
	if errors.Is(err, oidc.ErrPending) {
		audit.Drop(c) // without an entry, because nothing has happened yet
		return &v1.FinishDeviceSignInResponse{Pending: true, Slower: errors.Is(err, oidc.ErrSlower)}, nil
	}
	if err != nil {
		return nil, err
	}
	u, token, err := d.signedInAs(ctx, c, who, cfg)
	if err != nil {
		return nil, err
	}
	return &v1.FinishDeviceSignInResponse{Token: token, User: new(accounts.WireUser(u))}, nil
}

// A signInPage is a page of a sign-in, without scripts.
type signInPage struct {
	Title, Text string
	Button      string // of a form that confirms; "": none
	Next        string // the page that follows at once; "": none
}

var signInPages = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
{{if .Next}}<meta http-equiv="refresh" content="0; url={{.Next}}">{{end}}
<title>{{.Title}} · Detent</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;display:grid;place-content:center;min-height:100vh;margin:0;padding:1rem;box-sizing:border-box}main{max-width:26rem}h1{font-size:1.3rem}button{font:inherit;padding:.5rem 1.2rem}</style>
</head><body><main><h1>{{.Title}}</h1><p>{{.Text}}</p>
{{if .Button}}<form method="post"><button>{{.Button}}</button></form>{{else if .Next}}<p><a href="{{.Next}}">Continue</a></p>{{else}}<p><a href="/login">Sign in again</a></p>{{end}}
</main></body></html>
`))

func sendPage(c *rest.Call, status int, p signInPage) error {
	c.Set("Content-Type", "text/html; charset=utf-8")
	c.Set("Cache-Control", "no-store")
	c.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	c.Set("Referrer-Policy", "no-referrer")
	c.Status(status)
	return signInPages.Execute(c, p)
}

// failedSignIn shows an error as a page to browsers, and returns it for the audit trail and
// programs; nil stays nil.
func failedSignIn(c *rest.Call, err error) error {
	if err == nil || !c.WantsPage() {
		return err
	}
	if e := audit.Of(c); e != nil {
		e.Error = err.Error()
	}
	message := err.Error()
	if fault.CodeOf(err) == fault.Internal {
		message = "Internal error; the master's log has the details"
	}
	status, _ := rest.StatusOf(err)
	return sendPage(c, status, signInPage{Title: "You are not signed in", Text: strings.ToUpper(message[:1]) + message[1:]})
}

// providerSignOut ends the sessions of a user who has signed out at the provider.
func (d Deps) providerSignOut(_ context.Context, c *rest.Call) error {
	c.Set("Cache-Control", "no-store")
	body, err := c.ReadBody(v1.PublicBody)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["logout_token"]) != 1 {
		return fault.New(fault.Invalid, "logout_token: expected one, in a form")
	}
	ctx, cancel := c.Within()
	defer cancel()
	end, err := d.provider(ctx, c, "sign-out", maxSignOutsPerAddress)
	if err != nil {
		return err
	}
	defer end()
	l, err := d.Providers.Logout(ctx, form.Get("logout_token"), time.Now())
	if err != nil {
		return err
	}
	users, err := accounts.EndSessionsOf(ctx, d.DB, accounts.SignOut{Issuer: l.Issuer, ID: l.ID, Subject: l.Subject, SID: l.SID, Until: oidc.LogoutRepeats})
	if err != nil {
		return err
	}
	for _, id := range users {
		u, err := accounts.UserByID(ctx, d.DB, id)
		if err != nil {
			return err
		}
		audit.NoteUser(c, &u.ID, u.Username)
		d.Callers.AccountChanged(id)
	}
	return c.SendStatus(http.StatusOK)
}
