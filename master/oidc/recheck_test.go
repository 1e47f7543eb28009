package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

// A told provider answers what a test wants.
type told struct {
	mu       sync.Mutex
	status   map[string]int    // by path
	answer   map[string]any    // by path
	location map[string]string // by path
	asked    []string          // paths, with what they were asked
}

func (o *told) handle(s *identitytest.Signer, path string) {
	s.Handle(path, func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		_, _, basic := r.BasicAuth()
		if path == "/token" {
			o.asked = append(o.asked, fmt.Sprintf("%s %s %s basic=%t", path, r.FormValue("grant_type"), r.FormValue("refresh_token"), basic))
		} else {
			o.asked = append(o.asked, path+" "+r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		if to := o.location[path]; to != "" {
			w.Header().Set("Location", to)
		}
		if status := o.status[path]; status != 0 {
			w.WriteHeader(status)
		}
		_ = json.NewEncoder(w).Encode(o.answer[path])
	})
}

// TestRecheck: what the master learns from a provider about a user who is signed in.
func TestRecheck(t *testing.T) {
	s, other := identitytest.NewSigner(t), identitytest.NewSigner(t)
	o := &told{}
	o.handle(s, "/token")
	o.handle(s, "/userinfo")
	reached := false
	other.Handle("/inside", func(w http.ResponseWriter, _ *http.Request) {
		reached = true
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"sub":"ada","groups":["admins"],"access_token":"a","refresh_token":"r","token_type":"Bearer"}`))
	})
	now := time.Now()
	id := func(changes map[string]any) string {
		c := map[string]any{"iss": s.Issuer, "aud": "detent", "sub": "ada", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "name": "Ada", "preferred_username": "ada", "groups": []string{"ml"}}
		maps.Copy(c, changes)
		return s.Sign(s.Key, map[string]any{"alg": "RS256", "kid": "1"}, c)
	}
	tokens := func(idToken string) map[string]any {
		answer := map[string]any{"access_token": "a2", "refresh_token": "r2", "token_type": "Bearer", "expires_in": 300}
		if idToken != "" {
			answer["id_token"] = idToken
		}
		return answer
	}
	info := func(groups ...string) map[string]any { return map[string]any{"sub": "ada", "groups": groups} }
	refused := map[string]any{"error": "invalid_grant"}
	fresh := Grant{Issuer: s.Issuer, Subject: "ada", Refresh: "r1", Access: "a1", Expires: now.Add(time.Hour)}
	old := fresh
	old.Expires = now.Add(-time.Minute)
	inToken := fresh
	inToken.InIDToken = true
	onlyAccess, spent := fresh, old
	onlyAccess.Refresh, spent.Refresh = "", ""
	endless := onlyAccess
	endless.Expires = time.Time{}
	renewed := "/token refresh_token r1 basic=true"
	for name, c := range map[string]struct {
		grant    Grant
		token    any
		info     any
		status   map[string]int
		location map[string]string
		groups   []string // of the answer
		unknown  bool
		is       error  // of the error
		fails    string // in the error
		away     bool   // the error is that of a provider that is away
		asked    []string
		keeps    bool // a new grant
	}{
		"a valid access token":              {grant: fresh, info: info("ml", "ops"), groups: []string{"ml", "ops"}, asked: []string{"/userinfo Bearer a1"}},
		"no groups any more":                {grant: fresh, info: map[string]any{"sub": "ada"}, asked: []string{"/userinfo Bearer a1"}},
		"an access token that has expired":  {grant: old, token: tokens(""), info: info("ml"), groups: []string{"ml"}, keeps: true, asked: []string{renewed, "/userinfo Bearer a2"}},
		"groups in the ID token":            {grant: inToken, token: tokens(id(nil)), groups: []string{"ml"}, keeps: true, asked: []string{renewed}},
		"none in a new ID token":            {grant: inToken, token: tokens(id(map[string]any{"groups": nil})), groups: nil, keeps: true, asked: []string{renewed}},
		"no new ID token":                   {grant: inToken, token: tokens(""), info: map[string]any{"sub": "ada"}, unknown: true, keeps: true, asked: []string{renewed, "/userinfo Bearer a2"}},
		"an access token that was rejected": {grant: fresh, token: tokens(""), info: info(), status: map[string]int{"/userinfo": 401}, is: errRejected, keeps: true, asked: []string{"/userinfo Bearer a1", renewed, "/userinfo Bearer a2"}},
		"the provider has ended the grant":  {grant: old, token: refused, status: map[string]int{"/token": 400}, is: ErrEnded, asked: []string{renewed}},
		"ended, seen at the access token":   {grant: fresh, token: refused, status: map[string]int{"/userinfo": 401, "/token": 400}, is: ErrEnded, asked: []string{"/userinfo Bearer a1", renewed}},
		"ended, without a refresh token":    {grant: onlyAccess, status: map[string]int{"/userinfo": 401}, is: ErrEnded, asked: []string{"/userinfo Bearer a1"}},
		"nothing left to ask with":          {grant: spent, is: ErrSpent},
		"an access token of unknown life":   {grant: endless, is: ErrSpent},
		"away at the token":                 {grant: old, token: map[string]any{}, status: map[string]int{"/token": 503}, away: true, asked: []string{renewed}},
		"away at the claims":                {grant: fresh, status: map[string]int{"/userinfo": 500}, away: true, asked: []string{"/userinfo Bearer a1"}},
		"the client is unknown":             {grant: old, token: map[string]any{"error": "invalid_client"}, status: map[string]int{"/token": 401}, away: true, asked: []string{renewed, "/token refresh_token r1 basic=false"}},
		"another user in the claims":        {grant: fresh, info: map[string]any{"sub": "eve", "groups": []string{"admins"}}, fails: "answered for another user", asked: []string{"/userinfo Bearer a1"}},
		"another user in the ID token":      {grant: inToken, token: tokens(id(map[string]any{"sub": "eve"})), fails: "answered for another user", keeps: true, asked: []string{renewed}},
		"an ID token for another client":    {grant: inToken, token: tokens(id(map[string]any{"aud": "else"})), fails: "no valid identity", keeps: true, asked: []string{renewed}},
		"an ID token of another issuer":     {grant: inToken, token: tokens(id(map[string]any{"iss": other.Issuer})), fails: "no valid identity", keeps: true, asked: []string{renewed}},
		"an ID token that has expired":      {grant: inToken, token: tokens(id(map[string]any{"exp": now.Add(-time.Hour).Unix()})), fails: "no valid identity", keeps: true, asked: []string{renewed}},
		"an ID token with another key":      {grant: inToken, token: tokens(other.Sign(other.Key, map[string]any{"alg": "RS256", "kid": "1"}, map[string]any{"iss": s.Issuer, "aud": "detent", "sub": "ada", "exp": now.Add(time.Minute).Unix()})), fails: "no valid identity", keeps: true, asked: []string{renewed}},
		"groups of another kind":            {grant: fresh, info: map[string]any{"sub": "ada", "groups": 7}, fails: "expected a list of names", asked: []string{"/userinfo Bearer a1"}},
		"an answer that is too long":        {grant: fresh, info: info(strings.Repeat("x", maxResponse)), away: true, asked: []string{"/userinfo Bearer a1"}},
		"claims behind a redirect":          {grant: fresh, status: map[string]int{"/userinfo": 307}, location: map[string]string{"/userinfo": other.Issuer + "/inside"}, away: true, asked: []string{"/userinfo Bearer a1"}},
		"tokens behind a redirect":          {grant: old, status: map[string]int{"/token": 307}, location: map[string]string{"/token": other.Issuer + "/inside"}, away: true, asked: []string{renewed}},
	} {
		t.Run(name, func(t *testing.T) {
			o.mu.Lock()
			o.status, o.location, o.answer, o.asked = c.status, c.location, map[string]any{"/token": c.token, "/userinfo": c.info}, nil
			o.mu.Unlock()
			p := New([]Config{{Name: "corp", Issuer: s.Issuer, ClientID: "detent", ClientSecret: "s", UsernameClaim: "preferred_username", DisplayNameClaim: "name", GroupsClaim: "groups", AdminGroups: []string{"ops"}}}, "http://127.0.0.1/oidc/callback")
			var kept []Grant
			who, err := p.Recheck(t.Context(), "corp", c.grant, func(g Grant) error { kept = append(kept, g); return nil })
			switch failed := c.is != nil || c.fails != "" || c.away; {
			case failed != (err != nil), c.is != nil && !errors.Is(err, c.is), err != nil && !strings.Contains(err.Error(), c.fails), c.away != fault.Is(err, fault.Unavailable):
				t.Errorf("%+v %v", who, err)
			case err == nil && (!slices.Equal(who.Groups, c.groups) || who.Unknown != c.unknown || !c.unknown && *who.Admin != slices.Contains(c.groups, "ops") || who.Subject != "ada"):
				t.Errorf("%+v", who)
			}
			if !slices.Equal(o.asked, c.asked) {
				t.Errorf("it asked %q, expected %q", o.asked, c.asked)
			}
			if c.keeps != (len(kept) == 1) || c.keeps && (kept[0].Refresh != "r2" || kept[0].Access != "a2" || kept[0].Subject != "ada" || kept[0].InIDToken != c.grant.InIDToken || !kept[0].usable(now)) {
				t.Errorf("it keeps %+v", kept)
			}
		})
	}
	if reached {
		t.Error("a redirect was followed")
	}
	t.Run("tokens that are not kept", func(t *testing.T) {
		o.mu.Lock()
		o.status, o.location, o.answer, o.asked = nil, nil, map[string]any{"/token": tokens("")}, nil
		o.mu.Unlock()
		p := New([]Config{{Name: "corp", Issuer: s.Issuer, ClientID: "detent", ClientSecret: "s"}}, "")
		if _, err := p.Recheck(t.Context(), "corp", old, func(Grant) error { return errors.New("no database") }); err == nil || len(o.asked) != 1 {
			t.Errorf("%v %q", err, o.asked)
		}
	})
}

// TestSealedGrants: only the masters of the same client read the tokens, and of the same session alone.
func TestSealedGrants(t *testing.T) {
	config := func(secret string) *Providers {
		return New([]Config{{Name: "corp", Issuer: "https://login.example", ClientID: "detent", ClientSecret: secret}}, "")
	}
	g := Grant{Issuer: "https://login.example", Subject: "ada", Refresh: "the refresh token", Access: "the access token", Expires: time.Now().UTC().Truncate(time.Second), InIDToken: true}
	id := []byte("a session")
	sealed, err := config("s").Seal("corp", g, id)
	if err != nil || bytes.Contains(sealed, []byte("token")) {
		t.Fatalf("%q %v", sealed, err)
	}
	if got, err := config("s").Open("corp", sealed, id); err != nil || got != g {
		t.Errorf("%+v %v", got, err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, c := range map[string]struct {
		of          *Providers
		provider    string
		sealed, id_ []byte
	}{
		"another secret": {config("t"), "corp", sealed, id}, "no secret": {config(""), "corp", sealed, id}, "another session": {config("s"), "corp", sealed, []byte("another")}, "changed": {config("s"), "corp", changed, id},
		"short": {config("s"), "corp", sealed[:5], id}, "empty": {config("s"), "corp", nil, id}, "another provider": {config("s"), "else", sealed, id},
	} {
		if got, err := c.of.Open(c.provider, c.sealed, c.id_); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	g.Short = true
	if sealed, err := config("s").Seal("corp", g, id); err != nil {
		t.Fatal(err)
	} else if got, err := config("s").Open("corp", sealed, id); err != nil || !got.Short {
		t.Errorf("%+v %v", got, err)
	}
	g.Access = strings.Repeat("x", maxSealed)
	if _, err := config("s").Seal("corp", g, id); err == nil || !strings.Contains(err.Error(), "are allowed") {
		t.Errorf("long tokens: %v", err)
	}
}

// TestOfflineAccess: a sign-in asks for a refresh token where the provider offers it, and begins again without one if
// the provider rejects that. Other sign-ins still ask: a browser can make up the rejection.
func TestOfflineAccess(t *testing.T) {
	s := identitytest.NewSigner(t)
	for name, c := range map[string]struct {
		config        Config
		asks, consent bool
	}{
		"by default": {Config{Recheck: time.Minute}, true, false}, "auto": {Config{Recheck: time.Minute, Offline: OfflineAuto}, true, false}, "consent": {Config{Recheck: time.Minute, Offline: OfflineConsent}, true, true},
		"never": {Config{Recheck: time.Minute, Offline: OfflineNever}, false, false}, "no rechecks": {Config{}, false, false},
	} {
		c.config.Name, c.config.Issuer, c.config.ClientID = "corp", s.Issuer, "detent"
		p := New([]Config{c.config}, "http://127.0.0.1/oidc/callback")
		a, to, err := p.Start(t.Context(), "corp")
		if err != nil || a.Offline != c.asks || strings.Contains(to, "offline_access") != c.asks || strings.Contains(to, "prompt=consent") != c.consent {
			t.Errorf("%s: %+v %s %v", name, a, to, err)
		}
		if p.Again(a, "access_denied") || p.Again(a, "invalid_scope") != c.asks {
			t.Errorf("%s: it begins again at the wrong time", name)
		}
		if other, _, err := p.Start(t.Context(), "corp"); err != nil || other.Offline != c.asks {
			t.Errorf("%s, another sign-in: %+v %v", name, other, err)
		}
		if a, to, err = p.StartPlain(t.Context(), "corp"); err != nil || a.Offline || strings.Contains(to, "offline_access") {
			t.Errorf("%s, afterwards: %+v %s %v", name, a, to, err)
		}
		if p.Again(a, "invalid_scope") {
			t.Errorf("%s: it begins for ever", name)
		}
	}
}

// TestLife: a session that cannot be checked to its end is short.
func TestLife(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		short   bool
		expires time.Time
		life    time.Duration
		want    time.Duration
	}{
		"with a refresh token":         {false, now.Add(time.Minute), 24 * time.Hour, 24 * time.Hour},
		"as long as the access token":  {true, now.Add(5 * time.Minute), 24 * time.Hour, 5 * time.Minute},
		"a shorter session":            {true, now.Add(5 * time.Minute), time.Minute, time.Minute},
		"an access token for a year":   {true, now.Add(365 * 24 * time.Hour), 24 * time.Hour, time.Hour},
		"an access token of the past":  {true, now.Add(-time.Hour), 24 * time.Hour, 10 * time.Second},
		"an access token without end":  {true, time.Time{}, 24 * time.Hour, 10 * time.Minute},
		"without an end, short anyhow": {true, time.Time{}, time.Minute, time.Minute},
	} {
		if got := (Grant{Short: c.short, Expires: c.expires}).Life(c.life, now); got != c.want {
			t.Errorf("%s: %s, expected %s", name, got, c.want)
		}
	}
}
