package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/oidc"
)

func provider(t *testing.T, keys string) (oidc.Config, error) {
	t.Helper()
	cfg, err := load(t, "database: postgres://a/b\nidentity_providers:\n  - {name: corp, client_id: d, "+keys+"}\n", nil, nil)
	if err != nil {
		return oidc.Config{}, err
	}
	all, err := cfg.providers()
	if err != nil {
		return oidc.Config{}, err
	}
	return all.List()[0], nil
}

// TestKeysOfDetermined: Determined's keys of a provider have the same meaning here.
func TestKeysOfDetermined(t *testing.T) {
	c, err := provider(t, "idp_sso_url: https://login.example.com, authentication_claim: email, display_name_attribute_name: nick, groups_attribute_name: teams, auto_provision_users: false")
	if err != nil || c.Issuer != "https://login.example.com" || c.UsernameClaim != "email" || c.DisplayNameClaim != "nick" || c.GroupsClaim != "teams" || c.CreateUsers || !c.Sync.Create || c.Sync.Known {
		t.Errorf("%+v %v", c, err)
	}
	c, err = provider(t, "issuer: https://login.example.com, groups_claim: teams")
	if err != nil || c.Sync.On() || !c.CreateUsers {
		t.Errorf("%+v %v", c, err)
	}
	c, err = provider(t, "issuer: https://login.example.com, groups_claim: teams, sync_groups: known, group_prefix: corp-, group_names: {a: b}, auto_provision_users: true")
	if err != nil || !c.Sync.Known || c.Sync.Create || c.Sync.Prefix != "corp-" || c.Sync.Names["a"] != "b" || !c.CreateUsers {
		t.Errorf("%+v %v", c, err)
	}
}

func TestWrongGroupsOfProviders(t *testing.T) {
	for keys, want := range map[string]string{
		"groups_claim: a, groups_attribute_name: b":                                     "two names of one key",
		"known_users_only: true, auto_provision_users: true":                            "contradict each other",
		"groups_claim: a, sync_groups: all":                                             "expected none, known or create",
		"sync_groups: known":                                                            "needs groups_claim",
		"groups_claim: a, group_prefix: x":                                              "mean nothing",
		"groups_claim: a, sync_groups: known, group_names: {a: ''}":                     "is no name that a group can have",
		"groups_claim: a, sync_groups: known, group_prefix: " + strings.Repeat("x", 51): "over the limit of 50",
	} {
		if _, err := provider(t, "issuer: https://login.example.com, "+keys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", keys, err)
		}
	}
}

// TestRecheckOfProviders: how often providers are asked about users who are signed in.
func TestRecheckOfProviders(t *testing.T) {
	for keys, want := range map[string]time.Duration{
		"client_secret: s": 30 * time.Second, "": 0, "client_secret: s, recheck: 0": 0, "client_secret: s, recheck: 0s": 0, "client_secret: s, recheck: 45s": 45 * time.Second, "recheck: 0": 0,
		"client_secret: s, offline_access: consent": 30 * time.Second, "client_secret: s, recheck: 1h, offline_access: never": time.Hour,
	} {
		if c, err := provider(t, "issuer: https://login.example.com, "+keys); err != nil || c.Recheck != want {
			t.Errorf("%q: %s %v, expected %s", keys, c.Recheck, err, want)
		}
	}
	for keys, want := range map[string]string{
		"recheck: 30s": "needs client_secret", "client_secret: s, recheck: 9s": "from 10s to 1h", "client_secret: s, recheck: 2h": "from 10s to 1h", "client_secret: s, recheck: -30s": "from 10s to 1h",
		"client_secret: s, recheck: often": "expected 0, or a duration", "client_secret: s, offline_access: always": "expected auto, consent or never",
	} {
		if _, err := provider(t, "issuer: https://login.example.com, "+keys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", keys, err, want)
		}
	}
}

func TestSCIMSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scim")
	for name, c := range map[string]struct {
		keys, file string
		want       string // of the error
	}{
		"a token":            {"{token: 0123456789abcdef}", "", ""},
		"a file":             {"{token_file: FILE}", "0123456789abcdef\n\nfedcba9876543210\n", ""},
		"a login":            {"{type: basic, username: idp, password: 0123456789abcdef}", "", ""},
		"nothing":            {"{}", "", "give either token or token_file"},
		"both":               {"{token: 0123456789abcdef, token_file: FILE}", "x", "give either token or token_file"},
		"short":              {"{token: x}", "", "at least 16 characters"},
		"short in a file":    {"{token_file: FILE}", "0123456789abcdef\nx\n", "at least 16 characters"},
		"empty":              {"{token_file: FILE}", "\n", "1 to 10 lines"},
		"a name with colons": {"{type: basic, username: 'a:b', password: 0123456789abcdef}", "", "without a colon"},
		"oauth":              {"{type: oauth}", "", "expected bearer or basic"},
	} {
		if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := load(t, "database: postgres://a/b\nscim: {enabled: true, auth: "+strings.ReplaceAll(c.keys, "FILE", file)+"}\n", nil, nil)
		if err == nil {
			_, err = cfg.scimSecrets()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
}

// TestSignInOverPlainHTTP: a page of a task can set the cookies of a sign-in over plain HTTP on the host that it
// shares, so the master does not start like that unless its operators want it.
func TestSignInOverPlainHTTP(t *testing.T) {
	const provider = "identity_providers: [{name: corp, issuer: 'https://login.example', client_id: d}]\n"
	for name, c := range map[string]struct {
		text    string
		refused bool
	}{
		"plain HTTP, tasks at another port": {"public_url: http://det.example:8080\ntasks_listen: 0.0.0.0:8081\n", true},
		"the same host in tasks_url":        {"public_url: http://det.example\ntasks_listen: 0.0.0.0:8081\ntasks_url: http://DET.example:81\n", true},
		"the operators want it":             {"public_url: http://det.example:8080\ntasks_listen: 0.0.0.0:8081\nplain_http_sign_in: true\n", false},
		"HTTPS":                             {"public_url: https://det.example\ntasks_listen: 0.0.0.0:8081\n", false},
		"another host":                      {"public_url: http://det.example:8080\ntasks_listen: 0.0.0.0:8081\ntasks_url: http://tasks.example:81\n", false},
		"a domain of tasks":                 {"public_url: http://det.example:8080\ntasks_listen: 0.0.0.0:8081\ntasks_domain: tasks.example\n", false},
		"no pages of tasks":                 {"public_url: http://det.example:8080\n", false},
		"this machine":                      {"public_url: http://127.0.0.1:8080\ntasks_listen: 127.0.0.1:8081\n", false},
	} {
		for _, with := range []string{provider, ""} {
			cfg := Defaults()
			if problems := cfg.read([]byte("database: postgres://x\n" + c.text + with)).problems; len(problems) > 0 {
				t.Fatal(problems)
			}
			cfg.fill()
			refused := strings.Contains(strings.Join(cfg.check(), "\n"), "plain_http_sign_in: true")
			if refused != (c.refused && with != "") {
				t.Errorf("%s, with %q: refused is %v", name, with, refused)
			}
		}
	}
}
