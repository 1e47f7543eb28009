// Package oidc lets users sign in with identity providers that implement OpenID Connect: in a
// browser (authorization code with PKCE), or on a machine without one (device code). It talks to
// the providers, checks what they answer, and returns who signed in; accounts/login creates the session.
package oidc

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

const (
	requestTimeout = 10 * time.Second
	maxResponse    = 1 << 20
	retryAfter     = 5 * time.Second // after a provider's description could not be read
	maxClaim       = 200             // bytes of a name
)

// Config describes a provider.
type Config struct {
	Name         string
	Issuer       string
	ClientID     string
	ClientSecret string
	Scopes       []string // in addition to openid
	// The claims that have the username, the name that is shown, and the groups; "": none.
	UsernameClaim, DisplayNameClaim, GroupsClaim string
	// AdminGroups are the groups whose members are admins; empty: the provider does not decide it.
	AdminGroups []string
	// Sync says which groups here a user joins and leaves at a sign-in.
	Sync GroupSync
	// CreateUsers: a user who signs in the first time gets an account.
	CreateUsers    bool
	AlwaysRedirect bool
	SessionLife    time.Duration
	// Recheck is how often the master asks the provider about users who are signed in; 0: never.
	Recheck time.Duration
	// Offline says whether a sign-in asks for a refresh token.
	Offline Offline
}

// Offline says when a sign-in asks for the scope offline_access, for which providers give refresh tokens.
type Offline string

// With OfflineAuto a sign-in asks for the scope if the provider lists it. With OfflineConsent it also asks the
// provider to show its page of consent, because some providers issue refresh tokens only then.
const (
	OfflineAuto    Offline = "auto"
	OfflineConsent Offline = "consent"
	OfflineNever   Offline = "never"
)

// An Identity is a user as a provider describes it.
type Identity struct {
	Issuer, Subject       string // identify the user for ever
	SID                   string // of the session at the provider; "": unknown
	Username, DisplayName string
	Groups                []string // by the provider's names
	Admin                 *bool    // nil: the provider does not decide it
	Unknown               bool     // a recheck learned nothing about the groups
	Grant                 Grant    // of a sign-in, or of a recheck that learned nothing
}

// An Attempt is a sign-in in a browser that has begun. Its values are secret and belong to that
// browser.
type Attempt struct {
	Provider string `json:"provider"`
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // of PKCE
	Offline  bool   `json:"offline"`  // asked for a refresh token
}

// Began reports whether a provider's answer with this state belongs to the attempt.
func (a Attempt) Began(state string) bool {
	return a.State != "" && subtle.ConstantTimeCompare([]byte(state), []byte(a.State)) == 1
}

// A Device is a sign-in with a device code that has begun. DeviceCode is secret.
type Device struct {
	DeviceCode, UserCode, URL, CompleteURL string
	Interval, ExpiresIn                    time.Duration
}

// ErrPending is returned while the user has not confirmed a device code yet. ErrSlower also asks
// for a longer interval.
var (
	ErrPending = errors.New("the user has not signed in yet")
	ErrSlower  = fmt.Errorf("%w; poll less often", ErrPending)
)

// Providers are the identity providers of a cluster.
type Providers struct {
	list []*provider
}

type provider struct {
	Config
	callback string
	client   *http.Client

	mu     sync.Mutex // guards the fields below
	found  *oidc.Provider
	failed error
	at     time.Time // of the failure

	inBody    atomic.Bool // the provider accepts the client's secret in the body alone
	noOffline atomic.Bool // the provider rejected offline_access
}

// New returns providers that send browsers back to the address callback. It contacts none of them.
func New(configs []Config, callback string) *Providers {
	client := &http.Client{Timeout: requestTimeout, Transport: bounded{http.DefaultTransport}}
	return &Providers{list: each.Of(configs, func(c Config) *provider { return &provider{Config: c, callback: callback, client: client} })}
}

// bounded limits the bodies of responses.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxResponse), resp.Body}
	}
	return resp, err
}

// List returns the providers' descriptions.
func (p *Providers) List() []Config {
	return each.Of(p.list, func(one *provider) Config { return one.Config })
}

// NameOf returns the name of the provider with an issuer, or the issuer itself if the configuration does not have this provider any more.
func (p *Providers) NameOf(issuer string) string {
	if p != nil && issuer != "" {
		for _, one := range p.list {
			if one.Issuer == issuer {
				return one.Name
			}
		}
	}
	return issuer
}

// named finds a provider; "" is the first one.
func (p *Providers) named(name string) (*provider, error) {
	for _, one := range p.list {
		if name == "" || strings.EqualFold(one.Name, name) {
			return one, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no identity provider %q", fault.Clip(name))
}

// reach finds a provider, and what it says about itself.
func (p *Providers) reach(ctx context.Context, name string) (one *provider, cfg *oauth2.Config, found *oidc.Provider, err error) {
	if one, err = p.named(name); err == nil {
		cfg, found, err = one.oauth(ctx)
	}
	return one, cfg, found, err
}

// Start begins a sign-in in a browser, and returns the address of the provider's page.
func (p *Providers) Start(ctx context.Context, name string) (Attempt, string, error) {
	return p.start(ctx, name, true)
}

// StartPlain is Start without offline_access.
func (p *Providers) StartPlain(ctx context.Context, name string) (Attempt, string, error) {
	return p.start(ctx, name, false)
}

func (p *Providers) start(ctx context.Context, name string, offline bool) (Attempt, string, error) {
	one, cfg, found, err := p.reach(ctx, name)
	if err != nil {
		return Attempt{}, "", err
	}
	a := Attempt{Provider: one.Name, State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), Offline: offline && one.asksOffline(found)}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if a.Offline {
		cfg.Scopes = append(cfg.Scopes, oidc.ScopeOfflineAccess)
		if one.Offline == OfflineConsent {
			options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
		}
	}
	return a, cfg.AuthCodeURL(a.State, options...), nil
}

// asksOffline reports whether a sign-in asks for a refresh token, in addition to the configured scopes.
func (p *provider) asksOffline(found *oidc.Provider) bool {
	return p.givesRefresh(found) && !slices.Contains(p.Scopes, oidc.ScopeOfflineAccess)
}

// givesRefresh reports whether the provider gives refresh tokens to those who ask, and the master wants them.
func (p *provider) givesRefresh(found *oidc.Provider) bool {
	var described struct {
		Scopes []string `json:"scopes_supported"`
	}
	return p.Recheck > 0 && p.Offline != OfflineNever && !p.noOffline.Load() &&
		found.Claims(&described) == nil && slices.Contains(described.Scopes, oidc.ScopeOfflineAccess)
}

// Again reports whether a sign-in that a provider rejected should begin again, with StartPlain. The answer came
// through a browser, where anybody can make it up: so it holds for this sign-in alone.
func (p *Providers) Again(a Attempt, code string) bool {
	return a.Offline && code == "invalid_scope"
}

// Finish completes a sign-in in a browser with the state and the code that the provider sent.
func (p *Providers) Finish(ctx context.Context, a Attempt, state, code string) (Identity, Config, error) {
	one, err := p.named(a.Provider)
	if err != nil {
		return Identity{}, Config{}, err
	}
	if !a.Began(state) {
		return Identity{}, Config{}, fault.New(fault.Unauthenticated, "this sign-in did not begin in this browser; begin again")
	}
	cfg, found, err := one.oauth(ctx)
	if err != nil {
		return Identity{}, Config{}, err
	}
	token, err := cfg.Exchange(one.with(ctx), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Identity{}, Config{}, one.rejected(err)
	}
	who, err := one.identity(ctx, found, token, a.Nonce)
	return who, one.Config, err
}

// StartDevice begins a sign-in with a device code.
func (p *Providers) StartDevice(ctx context.Context, name string) (Device, error) {
	one, cfg, found, err := p.reach(ctx, name)
	if err != nil {
		return Device{}, err
	}
	if cfg.Endpoint.DeviceAuthURL == "" {
		return Device{}, fault.New(fault.Invalid, "%s does not support device codes; sign in with a browser", one.Name)
	}
	plain := cfg.Scopes
	if one.asksOffline(found) {
		cfg.Scopes = append(slices.Clone(plain), oidc.ScopeOfflineAccess)
	}
	d, err := one.deviceAuth(ctx, cfg)
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.ErrorCode == "invalid_scope" && len(cfg.Scopes) > len(plain) {
		one.noOffline.Store(true)
		cfg.Scopes = plain
		d, err = one.deviceAuth(ctx, cfg)
	}
	return d, err
}

// deviceAuth requests a device code, with the client's secret in a header or, for providers that
// do not accept it there, in the body. (The library sends no secret with this request.)
func (p *provider) deviceAuth(ctx context.Context, cfg *oauth2.Config) (Device, error) {
	form := url.Values{"client_id": {cfg.ClientID}, "scope": {strings.Join(cfg.Scopes, " ")}}
	resp, err := p.post(ctx, cfg.Endpoint.DeviceAuthURL, form, true)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		_ = resp.Body.Close()
		form.Set("client_secret", cfg.ClientSecret)
		resp, err = p.post(ctx, cfg.Endpoint.DeviceAuthURL, form, false)
	}
	if err != nil {
		return Device{}, p.rejected(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		DeviceCode  string `json:"device_code"`
		UserCode    string `json:"user_code"`
		URL         string `json:"verification_uri"`
		CompleteURL string `json:"verification_uri_complete"`
		ExpiresIn   int    `json:"expires_in"`
		Interval    int    `json:"interval"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return Device{}, p.rejected(err)
	}
	if answer.Error != "" || answer.DeviceCode == "" || answer.UserCode == "" {
		return Device{}, p.rejected(&oauth2.RetrieveError{ErrorCode: cmp.Or(answer.Error, "no device code"), ErrorDescription: answer.Description})
	}
	return Device{DeviceCode: answer.DeviceCode, UserCode: answer.UserCode, URL: answer.URL, CompleteURL: answer.CompleteURL,
		Interval: time.Duration(max(answer.Interval, 1)) * time.Second, ExpiresIn: time.Duration(answer.ExpiresIn) * time.Second}, nil
}

func (p *provider) post(ctx context.Context, to string, form url.Values, basic bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic && p.ClientSecret != "" {
		req.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.ClientSecret))
	}
	return p.client.Do(req)
}

// FinishDevice asks once whether the user has confirmed a device code; ErrPending if not.
func (p *Providers) FinishDevice(ctx context.Context, name, deviceCode string) (Identity, Config, error) {
	one, cfg, found, err := p.reach(ctx, name)
	if err != nil {
		return Identity{}, Config{}, err
	}
	token, err := cfg.Exchange(one.with(ctx), "", oauth2.SetAuthURLParam("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
		oauth2.SetAuthURLParam("device_code", deviceCode))
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		switch answer.ErrorCode {
		case "authorization_pending":
			return Identity{}, Config{}, ErrPending
		case "slow_down":
			return Identity{}, Config{}, ErrSlower
		}
	}
	if err != nil {
		return Identity{}, Config{}, one.rejected(err)
	}
	who, err := one.identity(ctx, found, token, "")
	return who, one.Config, err
}

// with lets the libraries use the provider's HTTP client.
func (p *provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// oauth reads the provider's description the first time.
func (p *provider) oauth(ctx context.Context) (*oauth2.Config, *oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		if time.Since(p.at) < retryAfter {
			return nil, nil, p.failed
		}
		// The library keeps the context for the provider's keys, so it must not end with the call.
		found, err := oidc.NewProvider(p.with(context.WithoutCancel(ctx)), p.Issuer)
		if err != nil {
			p.failed, p.at = fault.Wrap(fault.Unavailable, err, "the identity provider %s sent no valid answer; try again", p.Name), time.Now()
			return nil, nil, p.failed
		}
		p.found = found
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: p.found.Endpoint(), RedirectURL: p.callback,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}, p.found, nil
}

// rejected is the error for a request that the provider did not accept.
func (p *provider) rejected(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.ErrorCode != "" {
		return fault.Wrap(fault.Unauthenticated, err, "the identity provider %s rejected the sign-in: %s", p.Name, fault.Clip(cmp.Or(answer.ErrorDescription, answer.ErrorCode)))
	}
	return fault.Wrap(fault.Unavailable, err, "the identity provider %s sent no valid answer; try again", p.Name)
}

// identity checks the ID token, and reads the claims in it. Claims that are missing there are
// read from the provider.
func (p *provider) identity(ctx context.Context, found *oidc.Provider, token *oauth2.Token, nonce string) (Identity, error) {
	raw, _ := token.Extra("id_token").(string)
	checked, err := found.VerifierContext(p.with(ctx), &oidc.Config{ClientID: p.ClientID}).Verify(p.with(ctx), raw)
	if err != nil {
		return Identity{}, fault.Wrap(fault.Unauthenticated, err, "the identity provider %s sent no valid identity", p.Name)
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(nonce)) != 1 {
		return Identity{}, fault.New(fault.Unauthenticated, "the identity provider %s answered another sign-in; begin again", p.Name)
	}
	claims := map[string]any{}
	if err := checked.Claims(&claims); err != nil {
		return Identity{}, fault.Wrap(fault.Unauthenticated, err, "the identity provider %s sent no valid identity", p.Name)
	}
	_, inIDToken := claims[p.GroupsClaim]
	if p.misses(claims) && found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(p.with(ctx), oauth2.StaticTokenSource(token))
		if err != nil {
			return Identity{}, p.rejected(err)
		}
		if info.Subject != checked.Subject {
			return Identity{}, fault.New(fault.Unauthenticated, "the identity provider %s answered for another user", p.Name)
		}
		more := map[string]any{}
		if err := info.Claims(&more); err != nil {
			return Identity{}, p.rejected(err)
		}
		for name, value := range more {
			if _, has := claims[name]; !has {
				claims[name] = value
			}
		}
	}
	who, err := p.read(checked.Issuer, checked.Subject, claims)
	who.Grant = grantOf(checked.Issuer, checked.Subject, token, inIDToken)
	who.Grant.Short = token.RefreshToken == "" && p.givesRefresh(found)
	return who, err
}

func (p *provider) misses(claims map[string]any) bool {
	wanted := []string{p.UsernameClaim, p.DisplayNameClaim, p.GroupsClaim}
	if p.UsernameClaim == "email" {
		wanted = append(wanted, "email_verified")
	}
	return slices.ContainsFunc(wanted, func(name string) bool {
		_, has := claims[name]
		return name != "" && !has
	})
}

// read makes an identity from claims.
func (p *provider) read(issuer, subject string, claims map[string]any) (Identity, error) {
	who := Identity{Issuer: issuer, Subject: subject}
	who.Username, _ = claims[p.UsernameClaim].(string)
	who.Username = strings.ToLower(strings.TrimSpace(who.Username))
	switch verified, has := claims["email_verified"]; {
	case who.Username == "" || len(who.Username) > maxClaim:
		return who, fault.New(fault.Forbidden, "the identity provider %s sent no username in the claim %q; an administrator can choose another claim with username_claim", p.Name, p.UsernameClaim)
	case p.UsernameClaim == "email" && !has:
		return who, fault.New(fault.Forbidden, "the identity provider %s does not say whether it has verified the address %s (email_verified); an administrator can choose another claim with username_claim", p.Name, fault.Clip(who.Username))
	case p.UsernameClaim == "email" && verified != true && verified != "true":
		return who, fault.New(fault.Forbidden, "the identity provider %s has not verified the address %s", p.Name, fault.Clip(who.Username))
	case len(subject) > maxClaim:
		return who, fault.New(fault.Forbidden, "the subject of the identity provider %s has %d bytes; %d are allowed", p.Name, len(subject), maxClaim)
	}
	if sid, _ := claims["sid"].(string); len(sid) <= maxClaim {
		who.SID = sid
	}
	name, _ := claims[p.DisplayNameClaim].(string)
	who.DisplayName = fault.ClipTo(strings.TrimSpace(name), maxClaim-3)
	err := p.readGroups(&who, claims)
	return who, err
}

// readGroups reads the groups of an identity, and whether it is an admin.
func (p *provider) readGroups(who *Identity, claims map[string]any) error {
	if p.GroupsClaim != "" {
		groups, err := groupsIn(claims[p.GroupsClaim])
		if err != nil {
			return fault.New(fault.Forbidden, "the claim %q of the identity provider %s: %v", p.GroupsClaim, p.Name, err)
		}
		who.Groups = groups
	}
	if len(p.AdminGroups) > 0 {
		admin := slices.ContainsFunc(p.AdminGroups, func(g string) bool { return slices.Contains(who.Groups, g) })
		who.Admin = &admin
	}
	return nil
}
