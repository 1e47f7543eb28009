package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/oidc"
)

// OIDCConfig describes an identity provider with which users sign in.
type OIDCConfig struct {
	// Name on the sign-in page and in `det auth login --provider`: letters, digits, `-` and `_`.
	Name string `yaml:"name"`
	// Address of the provider, below which it serves `/.well-known/openid-configuration`.
	Issuer string `yaml:"issuer"`
	// Identity of the master at the provider. The provider must allow the redirect address
	// `<public_url>/oidc/callback`.
	ClientID string `yaml:"client_id"`
	// The secret for `client_id`. `client_secret_file` keeps it out of this file.
	ClientSecret string `yaml:"client_secret"`
	// File with the secret, such as one that a template of the master's Nomad job renders from Vault.
	ClientSecretFile string `yaml:"client_secret_file"`
	// Scopes that the master requests in addition to `openid`. By default `profile` and `email`.
	Scopes []string `yaml:"scopes"`
	// Claim that has the username. By default `preferred_username`.
	UsernameClaim string `yaml:"username_claim"`
	// Claim that has the name that is shown. By default `name`.
	DisplayNameClaim string `yaml:"display_name_claim"`
	// Claim that has the names of the user's groups. By default the master reads no groups.
	GroupsClaim string `yaml:"groups_claim"`
	// Groups of the provider whose members are administrators here. Without this key the
	// administrators of the cluster choose them.
	AdminGroups []string `yaml:"admin_groups"`
	// What happens to these groups at each sign-in: `none`, `known` (the user joins the groups here of
	// the same names, which administrators have created, and leaves the others that the provider
	// gave), or `create` (groups that do not exist are created, and groups of the same name that
	// administrators created do not count, except those in `group_names`). With roles switched on,
	// the groups carry roles ([sign-in](sign-in.md#groups-of-the-provider)). By default `none`.
	SyncGroups string `yaml:"sync_groups"`
	// Text before the names of the provider's groups here, such as `corp-`.
	GroupPrefix string `yaml:"group_prefix"`
	// Names here of groups of the provider that have another one: `{ml-platform-prod: platform}`.
	GroupNames map[string]string `yaml:"group_names"`
	// Let only users sign in for whom an administrator has created an account
	// (`det user create NAME --remote`). By default the first sign-in creates an account.
	KnownUsersOnly bool `yaml:"known_users_only"`
	// The sign-in page goes to this provider at once.
	AlwaysRedirect bool `yaml:"always_redirect"`
	// Hours after which a user must sign in again. By default 24.
	SessionHours int `yaml:"session_hours"`
	// How often the master asks the provider about the groups of users who are signed in, and whether it
	// still knows them: `10s` to `1h`, or `0` for never. By default `30s`
	// ([while users are signed in](sign-in.md#while-users-are-signed-in)). Needs a client secret.
	Recheck string `yaml:"recheck"`
	// Whether a sign-in asks for `offline_access`, for which providers give a refresh token: `auto` (if the
	// provider lists the scope), `consent` (the provider also shows its page of consent, without which
	// some give none), or `never`. By default `auto`.
	OfflineAccess string `yaml:"offline_access"`
	// Determined's key for `issuer`.
	IDPSSOURL string `yaml:"idp_sso_url"`
	// Determined's key for `username_claim`.
	AuthenticationClaim string `yaml:"authentication_claim"`
	// Determined's key for `display_name_claim`.
	DisplayNameAttributeName string `yaml:"display_name_attribute_name"`
	// Determined's key for `groups_claim` with `sync_groups: create`.
	GroupsAttributeName string `yaml:"groups_attribute_name"`
	// Determined's key for the opposite of `known_users_only`.
	AutoProvisionUsers *bool `yaml:"auto_provision_users"`
}

// The values of sync_groups.
const (
	syncNone   = "none"
	syncKnown  = "known"
	syncCreate = "create"
)

// own returns the section with Detent's keys in place of Determined's. It fails if a section has
// both keys for one thing.
func (p OIDCConfig) own() (OIDCConfig, error) {
	for _, k := range []struct {
		key, theirs string
		value       *string
		alias       string
	}{
		{"issuer", "idp_sso_url", &p.Issuer, p.IDPSSOURL}, {"username_claim", "authentication_claim", &p.UsernameClaim, p.AuthenticationClaim},
		{"display_name_claim", "display_name_attribute_name", &p.DisplayNameClaim, p.DisplayNameAttributeName}, {"groups_claim", "groups_attribute_name", &p.GroupsClaim, p.GroupsAttributeName},
	} {
		if k.alias == "" {
			continue
		}
		if *k.value != "" {
			return p, fmt.Errorf("%s and %s are two names of one key; give one of them", k.theirs, k.key)
		}
		*k.value = k.alias
	}
	if p.GroupsAttributeName != "" && p.SyncGroups == "" {
		p.SyncGroups = syncCreate
	}
	if p.AutoProvisionUsers != nil {
		if p.KnownUsersOnly && *p.AutoProvisionUsers {
			return p, errors.New("auto_provision_users: true and known_users_only: true contradict each other; give one of them")
		}
		p.KnownUsersOnly = !*p.AutoProvisionUsers
	}
	return p, nil
}

// checkGroups validates the keys about the provider's groups.
func (p OIDCConfig) checkGroups(k *checker, at string) {
	if !slices.Contains([]string{"", syncNone, syncKnown, syncCreate}, p.SyncGroups) {
		k.fail(at+"sync_groups", "expected none, known or create, found %q", p.SyncGroups)
	}
	on := p.SyncGroups == syncKnown || p.SyncGroups == syncCreate
	if on && p.GroupsClaim == "" {
		k.fail(at+"sync_groups", "needs groups_claim, which names the claim with the groups")
	}
	if !on && (p.GroupPrefix != "" || len(p.GroupNames) > 0) {
		k.fail(at+"sync_groups", "is none, so that group_prefix and group_names mean nothing; set it to known or create")
	}
	if len(p.GroupPrefix) > maxGroupPrefix {
		k.fail(at+"group_prefix", "%d bytes are over the limit of %d", len(p.GroupPrefix), maxGroupPrefix)
	}
	if len(p.GroupNames) > maxGroupNames {
		k.fail(at+"group_names", "%d names are over the limit of %d", len(p.GroupNames), maxGroupNames)
	}
	for theirs, ours := range p.GroupNames {
		if !oidc.GroupName(ours) {
			k.fail(at+"group_names", "%s: %q is no name that a group can have", theirs, ours)
		}
	}
}

// recheck is how often the provider is asked about its users; 0: never.
func (p OIDCConfig) recheck() (time.Duration, error) {
	secret := p.ClientSecret != "" || p.ClientSecretFile != ""
	if p.Recheck == "" && secret {
		return defaultRecheck, nil
	}
	if p.Recheck == "" || p.Recheck == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(p.Recheck)
	switch {
	case err != nil || d != 0 && (d < minRecheck || d > maxRecheck):
		return 0, fmt.Errorf("expected 0, or a duration from %s to 1h, found %q", minRecheck, p.Recheck)
	case d > 0 && !secret:
		return 0, errors.New("needs client_secret or client_secret_file: with it the master encrypts the tokens for the provider")
	}
	return d, nil
}

const (
	defaultRecheck  = 30 * time.Second
	minRecheck      = 10 * time.Second
	maxRecheck      = time.Hour
	maxProviders    = 20
	maxSessionHours = 24 * 365
	defaultHours    = 24
	maxGroupPrefix  = 50
	maxGroupNames   = 1000
)

var providerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkProviders checks the identity providers.
func (c *Config) checkProviders(k *checker) {
	if len(c.OIDC) > maxProviders {
		k.fail("identity_providers", "%d providers are over the limit of %d", len(c.OIDC), maxProviders)
		return
	}
	c.checkPlainSignIn(k)
	seen := map[string]bool{}
	for i, p := range c.OIDC {
		at := fmt.Sprintf("identity_providers[%d].", i)
		name := strings.ToLower(p.Name)
		p, err := p.own()
		if err != nil {
			k.fail(strings.TrimSuffix(at, "."), "%v", err)
		}
		switch {
		case !providerName.MatchString(p.Name):
			k.fail(at+"name", "expected 1 to 64 letters, digits, - and _, found %q", p.Name)
		case seen[name]:
			k.fail(at+"name", "another provider has the name %q", p.Name)
		}
		seen[name] = true
		if err := checkIssuer(p.Issuer); err != nil {
			k.fail(at+"issuer", "%v", err)
		}
		if p.ClientID == "" {
			k.fail(at+"client_id", "is required")
		}
		if p.ClientSecret != "" && p.ClientSecretFile != "" {
			k.fail(at+"client_secret_file", "cannot be combined with client_secret")
		}
		if len(p.AdminGroups) > 0 && p.GroupsClaim == "" {
			k.fail(at+"admin_groups", "needs groups_claim, which names the claim with the groups")
		}
		p.checkGroups(k, at)
		if _, err := p.recheck(); err != nil {
			k.fail(at+"recheck", "%v", err)
		}
		if !slices.Contains([]oidc.Offline{"", oidc.OfflineAuto, oidc.OfflineConsent, oidc.OfflineNever}, oidc.Offline(p.OfflineAccess)) {
			k.fail(at+"offline_access", "expected auto, consent or never, found %q", p.OfflineAccess)
		}
		if p.SessionHours < 0 || p.SessionHours > maxSessionHours {
			k.fail(at+"session_hours", "must be from 1 to %d, found %d", maxSessionHours, p.SessionHours)
		}
	}
}

// checkPlainSignIn rejects providers where a page of a task could set the cookies of a sign-in: cookies belong
// to a host with all of its ports, and only HTTPS guards them against other pages of the host.
func (c *Config) checkPlainSignIn(k *checker) {
	public, err := url.Parse(c.PublicURL)
	if len(c.OIDC) == 0 || c.PlainHTTPSignIn || err != nil || public.Scheme != "http" || c.TasksListen == "" || c.TasksDomain != "" || thisMachine(public.Hostname()) {
		return
	}
	if tasks, err := url.Parse(c.TasksURL); c.TasksURL != "" && err == nil && !strings.EqualFold(tasks.Hostname(), public.Hostname()) {
		return
	}
	k.fail("identity_providers", "browsers sign in over plain HTTP at %s, and pages of tasks are on the same host, so that such a page can sign in a visitor as another user; "+
		"use HTTPS, set tasks_domain, or set plain_http_sign_in: true if all users may trust each other's tasks", c.PublicURL)
}

// thisMachine reports whether a host is a loopback address.
func thisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// checkIssuer accepts HTTPS, and HTTP on this machine.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err == nil && u.Host != "" && u.RawQuery == "" && u.Fragment == "" {
		if u.Scheme == "https" || u.Scheme == "http" && thisMachine(u.Hostname()) {
			return nil
		}
	}
	return fmt.Errorf("expected an address such as https://login.example.com/realms/ml, found %q; http is accepted for this machine only", issuer)
}

// providers returns the identity providers; nil without any.
func (c *Config) providers() (*oidc.Providers, error) {
	if len(c.OIDC) == 0 {
		return nil, nil
	}
	var list []oidc.Config
	for i, p := range c.OIDC {
		p, err := p.own()
		if err != nil {
			return nil, fmt.Errorf("identity_providers[%d]: %w", i, err)
		}
		secret := p.ClientSecret
		if p.ClientSecretFile != "" {
			b, err := os.ReadFile(p.ClientSecretFile)
			if err != nil {
				return nil, fmt.Errorf("identity_providers[%d].client_secret_file: %w", i, err)
			}
			secret = strings.TrimSpace(string(b))
		}
		scopes := p.Scopes
		if scopes == nil {
			scopes = []string{"profile", "email"}
		}
		recheck, err := p.recheck()
		if err != nil {
			return nil, fmt.Errorf("identity_providers[%d].recheck: %w", i, err)
		}
		list = append(list, oidc.Config{Name: p.Name, Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: secret, Scopes: scopes,
			UsernameClaim: cmp.Or(p.UsernameClaim, "preferred_username"), DisplayNameClaim: cmp.Or(p.DisplayNameClaim, "name"), GroupsClaim: p.GroupsClaim,
			Sync:        oidc.GroupSync{Create: p.SyncGroups == syncCreate, Known: p.SyncGroups == syncKnown, Prefix: p.GroupPrefix, Names: p.GroupNames},
			AdminGroups: p.AdminGroups, CreateUsers: !p.KnownUsersOnly, AlwaysRedirect: p.AlwaysRedirect,
			Recheck: recheck, Offline: oidc.Offline(p.OfflineAccess),
			SessionLife: time.Duration(cmp.Or(p.SessionHours, defaultHours)) * time.Hour})
	}
	return oidc.New(list, strings.TrimRight(c.PublicURL, "/")+"/oidc/callback"), nil
}
