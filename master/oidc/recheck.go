package oidc

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/detent-ml/detent/master/fault"
)

// ErrEnded means that the provider has ended a grant: it disabled the user, or ended the user's
// session or the consent. ErrSpent means that the master can ask no more: the access token has expired,
// and the provider gave no refresh token.
var (
	ErrEnded = errors.New("the identity provider has ended the sign-in")
	ErrSpent = errors.New("the access token has expired, and the identity provider gave no refresh token")
)

// Recheck asks a provider again about the user of a grant. keep stores a grant that replaces this
// one; the provider may accept the old one no more, so keep is called before anything else is asked.
// While the provider is away, the error is fault.Unavailable.
//
// A valid access token is enough to read the claims, unless the groups are in the ID token. Otherwise,
// and when the provider rejects the access token, the refresh token decides.
func (p *Providers) Recheck(ctx context.Context, name string, g Grant, keep func(Grant) error) (Identity, error) {
	one, cfg, found, err := p.reach(ctx, name)
	if err != nil {
		return Identity{}, err
	}
	if found.UserInfoEndpoint() != "" && g.usable(time.Now()) && (!g.InIDToken || g.Refresh == "") {
		who, err := one.ask(ctx, found, g, nil)
		if !errors.Is(err, errRejected) {
			return who, err
		}
		if g.Refresh == "" {
			return who, ErrEnded
		}
	}
	if g.Refresh == "" {
		return Identity{}, ErrSpent
	}
	return one.renew(ctx, cfg, found, g, keep)
}

// renew uses the refresh token. A provider may accept it only once, so that its answer is stored even
// if the master is stopping.
func (p *provider) renew(ctx context.Context, cfg *oauth2.Config, found *oidc.Provider, g Grant, keep func(Grant) error) (Identity, error) {
	if err := ctx.Err(); err != nil {
		return Identity{}, p.away(err)
	}
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	token, err := p.refresh(once, cfg, g.Refresh)
	if err != nil {
		return Identity{}, err
	}
	next := grantOf(g.Issuer, g.Subject, token, g.InIDToken)
	if err := keep(next); err != nil {
		return Identity{}, err
	}
	raw, has := token.Extra("id_token").(string)
	if !has || raw == "" {
		return p.ask(ctx, found, next, nil)
	}
	checked, err := found.VerifierContext(p.withoutRedirects(ctx), &oidc.Config{ClientID: p.ClientID}).Verify(p.withoutRedirects(ctx), raw)
	if err != nil {
		return Identity{}, fault.Wrap(fault.Unauthenticated, err, "the identity provider %s sent no valid identity", p.Name)
	}
	claims := map[string]any{}
	if checked.Subject != g.Subject {
		return Identity{}, p.another()
	}
	if err := checked.Claims(&claims); err != nil {
		return Identity{}, fault.Wrap(fault.Unauthenticated, err, "the identity provider %s sent no valid identity", p.Name)
	}
	if !p.misses(claims) || found.UserInfoEndpoint() == "" {
		return p.rights(g, claims, true)
	}
	return p.ask(ctx, found, next, claims)
}

// refresh sends the refresh token with the client's secret in a header or, if the provider does not
// accept it there, in the body. (The library would try the second after each failure, whose error would
// hide that of the first.)
func (p *provider) refresh(ctx context.Context, cfg *oauth2.Config, token string) (*oauth2.Token, error) {
	styles := []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams}
	if p.inBody.Load() {
		slices.Reverse(styles)
	}
	var failed error
	for _, style := range styles {
		cfg.Endpoint.AuthStyle = style
		got, err := cfg.TokenSource(p.withoutRedirects(ctx), &oauth2.Token{RefreshToken: token}).Token()
		var answer *oauth2.RetrieveError
		switch {
		case err == nil:
			p.inBody.Store(style == oauth2.AuthStyleInParams)
			return got, nil
		case errors.As(err, &answer) && answer.ErrorCode == "invalid_grant":
			return nil, ErrEnded
		case !errors.As(err, &answer) || answer.ErrorCode != "invalid_client":
			return nil, p.away(err)
		}
		failed = err
	}
	return nil, p.away(failed)
}

func (p *provider) away(err error) error {
	return fault.Wrap(fault.Unavailable, err, "the identity provider %s sent no valid answer", p.Name)
}

func (p *provider) another() error {
	return fault.New(fault.Unauthenticated, "the identity provider %s answered for another user", p.Name)
}

// errRejected means that the provider does not accept an access token.
var errRejected = errors.New("the identity provider rejected the access token")

// ask reads the claims that a provider serves for an access token. Those of an ID token, if there is
// one, come first.
func (p *provider) ask(ctx context.Context, found *oidc.Provider, g Grant, claims map[string]any) (Identity, error) {
	withID := claims != nil
	if found.UserInfoEndpoint() == "" {
		return Identity{}, fault.New(fault.Invalid, "the identity provider %s has no userinfo_endpoint, at which the master could ask about users", p.Name)
	}
	seen := &statusSeen{RoundTripper: p.client.Transport}
	client := &http.Client{Timeout: requestTimeout, Transport: seen, CheckRedirect: stay}
	info, err := found.UserInfo(oidc.ClientContext(ctx, client), oauth2.StaticTokenSource(&oauth2.Token{AccessToken: g.Access}))
	switch {
	case err != nil && seen.status == http.StatusUnauthorized:
		return Identity{}, errRejected
	case err != nil:
		return Identity{}, p.away(err)
	case info.Subject != g.Subject:
		return Identity{}, p.another()
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return Identity{}, p.away(err)
	}
	maps.Copy(more, claims)
	return p.rights(g, more, withID)
}

// rights reads what claims say about groups. Unknown is set if they say nothing about groups, while
// the ID token of the sign-in did.
func (p *provider) rights(g Grant, claims map[string]any, withID bool) (Identity, error) {
	who := Identity{Issuer: g.Issuer, Subject: g.Subject}
	if _, has := claims[p.GroupsClaim]; !has && g.InIDToken && !withID {
		who.Unknown, who.Grant = true, g
		return who, nil
	}
	err := p.readGroups(&who, claims)
	return who, err
}

// withoutRedirects lets the libraries use the provider's HTTP client, which follows no redirect: a
// recheck sends tokens.
func (p *provider) withoutRedirects(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, &http.Client{Timeout: requestTimeout, Transport: p.client.Transport, CheckRedirect: stay})
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// statusSeen notes the status of the last response.
type statusSeen struct {
	http.RoundTripper
	status int
}

func (s *statusSeen) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		s.status = resp.StatusCode
	}
	return resp, err
}
