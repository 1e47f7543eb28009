package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/oidc"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

// soon waits for a condition.
func soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !so(); <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

func (s *signInRig) signIn(t *testing.T, name string) *identitytest.Browser {
	t.Helper()
	b := identitytest.NewBrowser(t)
	if code, body := b.SignIn(name, "GET", s.api.cfg.PublicURL+"/oidc/sso"); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	return b
}

// TestWhatAProviderChangesWhileUsersAreSignedIn: groups, the mark of admins, users who were disabled, and a
// provider that is away, with refresh tokens that are valid once, and with access tokens alone.
func TestWhatAProviderChangesWhileUsersAreSignedIn(t *testing.T) {
	for name, c := range map[string]struct {
		access  time.Duration
		offline oidc.Offline
	}{"refresh tokens": {5 * time.Second, oidc.OfflineConsent}, "access tokens": {time.Hour, oidc.OfflineNever}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claims := func(groups ...string) map[string]map[string]any {
				return map[string]map[string]any{"1": {"preferred_username": "ada", "groups": groups}, "3": {"preferred_username": "grace", "groups": []string{"ml"}}}
			}
			s := newSignInRigOf(t, c.access, claims("ml", "admins"), func(cfg *oidc.Config) {
				cfg.GroupsClaim, cfg.AdminGroups, cfg.Sync = "groups", []string{"admins"}, oidc.GroupSync{Create: true}
				cfg.Recheck, cfg.Offline = time.Second, c.offline
			}, newRoleRig)
			admin, public := s.user("admin"), s.api.cfg.PublicURL
			first, second, grace := s.signIn(t, "1"), s.signIn(t, "1"), s.signIn(t, "3")
			ada, err := accounts.UserByName(t.Context(), s.db, "ada")
			if err != nil || !ada.Admin || !slices.Equal(groupsOf(t, admin, ada.ID), []string{"admins", "ml"}) {
				t.Fatalf("%+v %v", ada, err)
			}
			identitytest.SetUsers(t, s.issuer, claims("ops"))
			soon(t, "ada has the groups of now, and is no admin", func() bool {
				u, err := accounts.UserByID(t.Context(), s.db, ada.ID)
				return err == nil && !u.Admin && slices.Equal(groupsOf(t, admin, ada.ID), []string{"ops"})
			})
			var changes []v1.AuditEntry
			soon(t, "the trail has the change", func() bool {
				changes = trailOf(t, admin, "kind=user&verb=change&username=ada")
				return len(changes) > 0
			})
			if e := changes[0]; len(changes) != 1 || e.Credential != "provider corp" || e.Object != fmt.Sprint(ada.ID) || !strings.Contains(string(e.Names), `"leftGroups"`) || !strings.Contains(string(e.Names), `"admin"`) {
				t.Errorf("%+v", changes)
			}

			identitytest.SetAway(t, s.issuer, true)
			identitytest.SetUsers(t, s.issuer, claims("late"))
			soon(t, "the master says that the provider is away", func() bool { return strings.Contains(s.log.String(), "does not answer questions about users") })
			for _, b := range []*identitytest.Browser{first, second, grace} {
				if me := b.Me(public); !strings.Contains(me, `"username":`) {
					t.Errorf("a provider that is away signs people out: %s", me)
				}
			}
			if got := groupsOf(t, admin, ada.ID); !slices.Equal(got, []string{"ops"}) {
				t.Errorf("while the provider is away, ada is in %v", got)
			}
			identitytest.SetAway(t, s.issuer, false)
			soon(t, "ada has the groups of then", func() bool { return slices.Equal(groupsOf(t, admin, ada.ID), []string{"late"}) })
			soon(t, "the master says that the provider answers", func() bool { return strings.Contains(s.log.String(), "answers again") })
			if log := s.log.String(); strings.Count(log, "does not answer questions about users") != 1 || strings.Count(log, "answers again") != 1 {
				t.Errorf("the log: %s", log)
			}

			gone := claims("late")
			gone["1"]["disabled"] = true
			identitytest.SetUsers(t, s.issuer, gone)
			for _, b := range []*identitytest.Browser{first, second} {
				soon(t, "both sessions of ada have ended", func() bool { return strings.Contains(b.Me(public), "has ended") })
			}
			if me := grace.Me(public); !strings.Contains(me, `"username":"grace"`) {
				t.Errorf("another user: %s", me)
			}
			if u, err := accounts.UserByID(t.Context(), s.db, ada.ID); err != nil || !u.Active {
				t.Errorf("the account: %+v %v", u, err)
			}
			soon(t, "the trail has the ends of both sessions", func() bool { return len(trailOf(t, admin, "kind=session&verb=logout&username=ada")) == 2 })
		})
	}
}

// TestMastersTakeTurns: two masters ask about the same users with refresh tokens that are valid once; a provider ends
// a sign-in when it sees one twice.
func TestMastersTakeTurns(t *testing.T) {
	users := map[string]map[string]any{}
	for i := range 12 {
		users[fmt.Sprint(i)] = map[string]any{"preferred_username": fmt.Sprintf("user-%d", i)}
	}
	var shared *oidc.Config
	s := newSignInRigOf(t, 5*time.Second, users, func(cfg *oidc.Config) {
		cfg.Recheck, cfg.Offline = time.Second, oidc.OfflineConsent
		shared = cfg
	})
	public := s.api.cfg.PublicURL
	second := *shared
	s.another(func(c *Config) {
		c.PublicURL, c.SignIn = public, oidc.New([]oidc.Config{second}, public+"/oidc/callback")
	})
	browsers := []*identitytest.Browser{}
	for i := range 12 {
		browsers = append(browsers, s.signIn(t, fmt.Sprint(i)))
	}
	browsers = append(browsers, s.signIn(t, "0"), s.signIn(t, "0"))
	soon(t, "the masters have asked about each user at least six times", func() bool {
		var least int
		if err := s.db.QueryRow(t.Context(), `SELECT min(checks) FROM identities`).Scan(&least); err != nil {
			t.Fatal(err)
		}
		return least >= 9 // a user with three sessions has signed in three times
	})
	for i, b := range browsers {
		if me := b.Me(public); !strings.Contains(me, `"username":`) {
			t.Errorf("browser %d: %s", i, me)
		}
	}
	var least, most int
	if err := s.db.QueryRow(t.Context(), `SELECT min(checks), max(checks) FROM identities`).Scan(&least, &most); err != nil || most > 2*least {
		t.Errorf("users were asked about %d to %d times: %v", least, most, err)
	}
}

// TestAScopeThatAProviderRejects: the sign-in begins again without it.
func TestAScopeThatAProviderRejects(t *testing.T) {
	signer := identitytest.NewSigner(t)
	r := newRig(t, func(c *Config) {
		c.SignIn = oidc.New([]oidc.Config{{Name: "corp", Issuer: signer.Issuer, ClientID: "detent", ClientSecret: "s", Recheck: time.Minute, UsernameClaim: "email"}}, "http://127.0.0.1/oidc/callback")
	})
	// leads opens an address without following it, and returns where it leads, with the cookie that it sets.
	leads := func(path, cookie string) (int, *url.URL, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", cookie)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		to, _ := resp.Location()
		for _, c := range resp.Cookies() {
			cookie = c.Name + "=" + c.Value
		}
		return resp.StatusCode, to, cookie
	}
	code, to, cookie := leads("/oidc/sso?relayState=/experiments/7", "")
	if code != 303 || !strings.Contains(to.Query().Get("scope"), "offline_access") {
		t.Fatalf("%d %v", code, to)
	}
	code, to, cookie = leads("/oidc/callback?error=invalid_scope&state="+to.Query().Get("state"), cookie)
	if code != 303 || strings.Contains(to.Query().Get("scope"), "offline_access") || to.Query().Get("state") == "" {
		t.Fatalf("%d %v", code, to)
	}
	if code, to, _ = leads("/oidc/callback?error=invalid_scope&state="+to.Query().Get("state"), cookie); code != 401 || to != nil {
		t.Fatalf("%d %v", code, to)
	}
}

// TestAnswersThatCannotBeUsed: tokens that cannot be decrypted, and an answer that makes no sense, change nothing.
func TestAnswersThatCannotBeUsed(t *testing.T) {
	users := map[string]map[string]any{"1": {"preferred_username": "ada", "groups": []string{"ml"}}, "3": {"preferred_username": "grace", "groups": []string{"ml"}}}
	s := newSignInRig(t, users, func(cfg *oidc.Config) {
		cfg.GroupsClaim, cfg.Sync, cfg.Recheck = "groups", oidc.GroupSync{Create: true}, time.Second
	}, newRoleRig)
	public := s.api.cfg.PublicURL
	b := s.signIn(t, "1")
	// Tokens with which the masters cannot do anything: they drop them, and the session stays.
	if err := s.db.Exec(t.Context(), `UPDATE session_grants SET tokens = 'of another session'`); err != nil {
		t.Fatal(err)
	}
	soon(t, "the tokens are deleted", func() bool {
		var n int
		if err := s.db.QueryRow(t.Context(), `SELECT count(*) FROM session_grants`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
	if me := b.Me(public); !strings.Contains(me, `"username":"ada"`) || !strings.Contains(s.log.String(), "cannot be decrypted") {
		t.Errorf("%s\n%s", me, s.log)
	}
	other := s.signIn(t, "3")
	identitytest.SetUsers(t, s.issuer, map[string]map[string]any{"3": {"preferred_username": "grace", "groups": 7}})
	soon(t, "the master says what is wrong", func() bool { return strings.Contains(s.log.String(), "expected a list of names") })
	grace, err := accounts.UserByName(t.Context(), s.db, "grace")
	if got := groupsOf(t, s.user("admin"), grace.ID); err != nil || !slices.Equal(got, []string{"ml"}) {
		t.Errorf("grace is in %v, %v", got, err)
	}
	if me := other.Me(public); !strings.Contains(me, `"username":"grace"`) {
		t.Errorf("%s", me)
	}
}

// TestASessionWithoutARefreshToken: a user who removes the scope offline_access in the browser gets a session that
// lasts for as long as the master can check it.
func TestASessionWithoutARefreshToken(t *testing.T) {
	for name, c := range map[string]struct {
		without string
		offline oidc.Offline
		lasts   time.Duration
	}{
		"a refresh token":    {"", oidc.OfflineConsent, time.Hour},
		"removed by a user":  {"offline_access", oidc.OfflineConsent, 10 * time.Minute},
		"as the master asks": {"", oidc.OfflineNever, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSignInRigOf(t, 10*time.Minute, map[string]map[string]any{"1": {"preferred_username": "ada"}}, func(cfg *oidc.Config) {
				cfg.Recheck, cfg.Offline = 30*time.Second, c.offline
			})
			b := identitytest.NewBrowser(t)
			b.Without = c.without
			if code, body := b.SignIn("1", "GET", s.api.cfg.PublicURL+"/oidc/sso"); code != 200 {
				t.Fatalf("%d %s", code, body)
			}
			var left float64
			if err := s.db.QueryRow(t.Context(), `SELECT extract(epoch FROM expires_at - now())::float8 FROM sessions WHERE issuer IS NOT NULL`).Scan(&left); err != nil {
				t.Fatal(err)
			}
			if left > c.lasts.Seconds() || left < c.lasts.Seconds()-60 {
				t.Errorf("the session lasts %.0f s, expected at most %s", left, c.lasts)
			}
			if said, short := strings.Contains(s.log.String(), "gave no refresh token"), c.lasts < time.Hour; said != short {
				t.Errorf("the log: %s", s.log.String())
			}
		})
	}
}

// TestAShortSessionOfWhichNothingIsKnown: a provider that tells the groups in the ID token alone cannot be asked about
// a session without a refresh token, so the session ends.
func TestAShortSessionOfWhichNothingIsKnown(t *testing.T) {
	s := newSignInRig(t, map[string]map[string]any{"1": {"preferred_username": "ada"}}, func(cfg *oidc.Config) {
		cfg.GroupsClaim, cfg.Sync, cfg.Recheck = "groups", oidc.GroupSync{Create: true}, time.Hour
	}, newRoleRig)
	public := s.api.cfg.PublicURL
	for _, short := range []bool{false, true} {
		b := s.signIn(t, "1")
		var id int64
		var hash, sealed []byte
		if err := s.db.QueryRow(t.Context(), `SELECT s.id, s.token_hash, g.tokens FROM sessions s JOIN session_grants g ON g.session_id = s.id ORDER BY s.id DESC LIMIT 1`).Scan(&id, &hash, &sealed); err != nil {
			t.Fatal(err)
		}
		g, err := s.api.cfg.SignIn.Open("corp", sealed, hash)
		if err != nil {
			t.Fatal(err)
		}
		g.Refresh, g.InIDToken, g.Short = "", true, short
		if sealed, err = s.api.cfg.SignIn.Seal("corp", g, hash); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Exec(t.Context(), `DELETE FROM session_grants WHERE session_id <> $1`, id); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Exec(t.Context(), `UPDATE session_grants SET tokens = $1`, sealed); err != nil {
			t.Fatal(err)
		}
		var before, checks int64
		if err := s.db.QueryRow(t.Context(), `UPDATE identities SET due_at = now() RETURNING checks`).Scan(&before); err != nil {
			t.Fatal(err)
		}
		soon(t, "the master has asked", func() bool {
			err := s.db.QueryRow(t.Context(), `SELECT checks FROM identities WHERE due_at > now() + interval '10 minutes'`).Scan(&checks)
			return err == nil && checks > before || strings.Contains(b.Me(public), "has ended")
		})
		if me := b.Me(public); strings.Contains(me, "has ended") != short {
			t.Errorf("short %t: %s", short, me)
		}
	}
}
