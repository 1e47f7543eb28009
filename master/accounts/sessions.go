package accounts

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const maxAgent = 200

func ofSession(s Session) auth.Object {
	return auth.Object{Kind: v1.KindSession, Name: fmt.Sprintf("%s %d", v1.KindSession, s.ID), OwnerID: s.UserID}
}

// onSession finds the session that the path names. Other users' sessions are not found.
func (d Deps) onSession() rest.Object[Session] {
	o := rest.On("id", func(ctx context.Context, id int) (Session, error) {
		return SessionByID(ctx, d.DB, id)
	}, ofSession)
	o.Refusal = func(_ *rest.Call, _ auth.Verb, s Session) error {
		return fault.New(fault.NotFound, "session %d not found", s.ID)
	}
	return o
}

// PlaceOf returns the address and the program with which a session begins.
func PlaceOf(c *rest.Call) Place {
	p := Place{Agent: agentOf(c.Get("User-Agent"))}
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

func (d Deps) listSessions(ctx context.Context, c *rest.Call, req *v1.GetSessionsRequest) (*v1.GetSessionsResponse, error) {
	user, err := d.sessionsOf(ctx, c, req)
	if err != nil {
		return nil, err
	}
	total, err := CountSessions(ctx, d.DB, user)
	list, p, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Session, error) { return Sessions(ctx, d.DB, user, from, n) })
	return &v1.GetSessionsResponse{Pagination: &p, Sessions: each.Of(list, func(s Session) v1.Session {
		return v1.Session{ID: s.ID, UserID: s.UserID, Username: s.Username, CreatedAt: &s.CreatedAt, ExpiresAt: &s.ExpiresAt, LastUsedAt: s.LastUsedAt,
			Address: s.Address, Agent: s.Agent, Provider: d.ProviderName(s.Issuer), Current: int64(s.ID) == c.Who().SessionID}
	})}, err
}

// sessionsOf returns the user whose sessions a call lists; 0 for all.
func (d Deps) sessionsOf(ctx context.Context, c *rest.Call, req *v1.GetSessionsRequest) (int, error) {
	name := strings.ToLower(req.Username)
	switch {
	case (name == "" || name == c.Who().Username) && !req.All:
		return c.Who().UserID, nil
	case !c.Who().IsAdmin():
		return 0, fault.New(fault.Forbidden, "only an admin may list the sessions of others")
	case name == "":
		return 0, nil
	}
	u, err := UserByName(ctx, d.DB, name)
	return u.ID, err
}

func (d Deps) endSession(ctx context.Context, c *rest.Call, s Session, _ *v1.None) (*v1.Empty, error) {
	return rest.Done[v1.Empty](EndSession(ctx, d.DB, int64(s.ID)), func() { d.Callers.AccountChanged(s.UserID) })
}
