package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/signin"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxAgent              = 200
	maxSignOutsPerAddress = 1200 // a provider signs all its users out from one address
)

func (a *API) registerSessions() {
	rest.Serve(a.router, v1.ListSessions, a.listSessions)
	rest.ServeOn(a.router, v1.EndSession, a.onSession(), a.endSession)
	rest.Raw(a.router, v1.ProviderSignOut, a.providerSignOut)
}

func ofSession(s accounts.Session) auth.Object {
	return auth.Object{Kind: v1.KindSession, Name: called(v1.KindSession, s.ID), OwnerID: s.UserID}
}

// onSession finds the session that the path names. Other users' sessions are not found.
func (a *API) onSession() rest.Object[accounts.Session] {
	o := rest.On("id", func(ctx context.Context, id int) (accounts.Session, error) {
		return accounts.SessionByID(ctx, a.db.DB, id)
	}, ofSession)
	o.Refusal = func(_ *rest.Call, _ auth.Verb, s accounts.Session) error {
		return fault.New(fault.NotFound, "session %d not found", s.ID)
	}
	return o
}

// place returns the address and the program with which a session begins.
func (a *API) place(c *rest.Call) accounts.Place {
	p := accounts.Place{Agent: agentOf(c.Get("User-Agent"))}
	if from, ok := c.Client(); ok {
		p.Address = from.WithZone("").String()
	}
	return p
}

// agentOf returns the name of a program without characters that cannot be shown.
func agentOf(header string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(header, ""))
	return fault.ClipTo(clean, maxAgent-len("…"))
}

func (a *API) listSessions(ctx context.Context, c *rest.Call, req *v1.GetSessionsRequest) (*v1.GetSessionsResponse, error) {
	user, err := a.sessionsOf(ctx, c, req)
	if err != nil {
		return nil, err
	}
	_, total, err := accounts.Sessions(ctx, a.db.DB, user, 0, 0)
	if err != nil {
		return nil, err
	}
	p, err := rest.Locate(req.Window, total)
	if err != nil {
		return nil, err
	}
	list, _, err := accounts.Sessions(ctx, a.db.DB, user, p.StartIndex, p.EndIndex-p.StartIndex)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetSessionsResponse{Sessions: []v1.Session{}, Pagination: &p}
	for _, s := range list {
		resp.Sessions = append(resp.Sessions, v1.Session{ID: s.ID, UserID: s.UserID, Username: s.Username, CreatedAt: &s.CreatedAt, ExpiresAt: &s.ExpiresAt, LastUsedAt: s.LastUsedAt,
			Address: s.Address, Agent: s.Agent, Provider: a.providerName(s.Issuer), Current: int64(s.ID) == c.Who().SessionID})
	}
	return resp, nil
}

// sessionsOf returns the user whose sessions a call lists; 0 for all.
func (a *API) sessionsOf(ctx context.Context, c *rest.Call, req *v1.GetSessionsRequest) (int, error) {
	name := strings.ToLower(req.Username)
	switch {
	case (name == "" || name == c.Who().Username) && !req.All:
		return c.Who().UserID, nil
	case !c.Who().IsAdmin():
		return 0, fault.New(fault.Forbidden, "only an admin may list the sessions of others")
	case name == "":
		return 0, nil
	}
	u, err := accounts.UserByName(ctx, a.db.DB, name)
	return u.ID, err
}

// providerName returns the name of the provider with an issuer, or the issuer itself if the
// configuration no longer has this provider.
func (a *API) providerName(issuer string) string {
	if a.cfg.SignIn != nil && issuer != "" {
		for _, p := range a.cfg.SignIn.List() {
			if p.Issuer == issuer {
				return p.Name
			}
		}
	}
	return issuer
}

func (a *API) endSession(ctx context.Context, c *rest.Call, s accounts.Session, _ *v1.None) (*v1.Empty, error) {
	if err := accounts.EndSession(ctx, a.db.DB, int64(s.ID)); err != nil {
		return nil, err
	}
	a.auth.AccountChanged(s.UserID)
	return &v1.Empty{}, nil
}

// providerSignOut ends the sessions of a user who has signed out at the provider.
func (a *API) providerSignOut(_ context.Context, c *rest.Call) error {
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
	end, err := a.provider(ctx, c, "sign-out", maxSignOutsPerAddress)
	if err != nil {
		return err
	}
	defer end()
	l, err := a.cfg.SignIn.Logout(ctx, form.Get("logout_token"), time.Now())
	if err != nil {
		return err
	}
	users, err := accounts.EndSessionsOf(ctx, a.db.DB, accounts.SignOut{Issuer: l.Issuer, ID: l.ID, Subject: l.Subject, SID: l.SID, Until: signin.LogoutRepeats})
	if err != nil {
		return err
	}
	for _, id := range users {
		u, err := accounts.UserByID(ctx, a.db.DB, id)
		if err != nil {
			return err
		}
		audit.NoteUser(c, &u.ID, u.Username)
		a.auth.AccountChanged(id)
	}
	return c.SendStatus(http.StatusOK)
}
