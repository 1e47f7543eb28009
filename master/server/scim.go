package server

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/detent-ml/detent/master/accounts/scim"
)

// SCIMConfig lets an identity provider manage users and groups.
type SCIMConfig struct {
	// Serve SCIM 2.0 below `<public_url>/scim/v2` ([SCIM](scim.md)).
	Enabled bool `yaml:"enabled"`
	// How the client authenticates.
	Auth SCIMAuthConfig `yaml:"auth"`
}

// SCIMAuthConfig has the secrets of SCIM clients.
type SCIMAuthConfig struct {
	// `bearer`: a token, or `basic`: a username and a password, as Determined has it.
	Type string `yaml:"type"`
	// The token of the client, at least 16 characters. `token_file` keeps it out of this file.
	Token string `yaml:"token"`
	// File with the token, such as one that a template of the master's Nomad job renders from Vault.
	// Each line is a valid token, so that a token can be replaced without a gap.
	TokenFile string `yaml:"token_file"`
	// Username of the client, with `type: basic`.
	Username string `yaml:"username"`
	// Password of the client, at least 16 characters. `password_file` keeps it out of this file.
	Password string `yaml:"password"`
	// File with the password.
	PasswordFile string `yaml:"password_file"`
}

const (
	scimBearer    = "bearer"
	scimBasic     = "basic"
	minSCIMSecret = 16
	maxSCIMTokens = 10
)

// checkSCIM checks the section for SCIM.
func (c *Config) checkSCIM(k *checker) {
	s := c.SCIM.Auth
	if !c.SCIM.Enabled {
		return
	}
	given := func(key string, values ...string) {
		n := 0
		for _, v := range values {
			if v != "" {
				n++
			}
		}
		if n != 1 {
			k.fail("scim.auth."+key, "give either %s or %s_file", key, key)
		}
	}
	switch s.Type {
	case scimBearer:
		given("token", s.Token, s.TokenFile)
		if s.Token != "" && len(s.Token) < minSCIMSecret {
			k.fail("scim.auth.token", "must have at least %d characters", minSCIMSecret)
		}
	case scimBasic:
		given("password", s.Password, s.PasswordFile)
		if s.Username == "" || strings.Contains(s.Username, ":") {
			k.fail("scim.auth.username", "expected a name without a colon, found %q", s.Username)
		}
		if s.Password != "" && len(s.Password) < minSCIMSecret {
			k.fail("scim.auth.password", "must have at least %d characters", minSCIMSecret)
		}
	default:
		k.fail("scim.auth.type", "expected bearer or basic, found %q; for Determined's oauth create a token with a random generator and use bearer", s.Type)
	}
}

// scimSecrets are the secrets of SCIM clients; nil if SCIM is off.
func (c *Config) scimSecrets() (*scim.Secrets, error) {
	if !c.SCIM.Enabled {
		return nil, nil
	}
	s := c.SCIM.Auth
	secrets := &scim.Secrets{}
	if s.Type == scimBasic {
		list, err := secretLines("scim.auth.password_file", s.Password, s.PasswordFile)
		for _, password := range list {
			secrets.Logins = append(secrets.Logins, scim.HashSecret(s.Username+":"+password))
		}
		return secrets, err
	}
	list, err := secretLines("scim.auth.token_file", s.Token, s.TokenFile)
	for _, token := range list {
		secrets.Tokens = append(secrets.Tokens, scim.HashSecret(token))
	}
	return secrets, err
}

// secretLines are the secrets in the configuration or in a file.
func secretLines(key, given, file string) (list []string, err error) {
	if file == "" {
		return []string{given}, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	for line := range bytes.Lines(b) {
		if text := strings.TrimSpace(string(line)); text != "" {
			list = append(list, text)
		}
		if n := len(list); n > 0 && len(list[n-1]) < minSCIMSecret {
			return nil, fmt.Errorf("%s: %s: each secret must have at least %d characters", key, file, minSCIMSecret)
		}
	}
	if len(list) == 0 || len(list) > maxSCIMTokens {
		return nil, fmt.Errorf("%s: %s: expected 1 to %d lines with a secret, found %d", key, file, maxSCIMTokens, len(list))
	}
	return list, nil
}
