package server

import (
	"time"

	"github.com/detent-ml/detent/master/accounts"
)

// TokensConfig says how long access tokens are valid.
type TokensConfig struct {
	// Longest time for which a token can be valid, in days; -1 for no limit.
	MaxDays int `yaml:"max_days"`
	// Time for which a token is valid if its creator requests no other time, in days.
	DefaultDays int `yaml:"default_days"`
}

const maxTokenDays = 36500

func (c TokensConfig) check(k *checker) {
	if c.MaxDays != -1 && (c.MaxDays < 1 || c.MaxDays > maxTokenDays) {
		k.fail("tokens.max_days", "must be from 1 to %d, or -1 for no limit, found %d", maxTokenDays, c.MaxDays)
	}
	limit, of := maxTokenDays, ""
	if c.MaxDays > 0 && c.MaxDays < limit {
		limit, of = c.MaxDays, " (tokens.max_days)"
	}
	if c.DefaultDays < 1 || c.DefaultDays > limit {
		k.fail("tokens.default_days", "must be from 1 to %d%s, found %d", limit, of, c.DefaultDays)
	}
}

func (c TokensConfig) limits() accounts.TokenLimits {
	l := accounts.TokenLimits{Default: time.Duration(c.DefaultDays) * 24 * time.Hour}
	if c.MaxDays > 0 {
		l.Max = time.Duration(c.MaxDays) * 24 * time.Hour
	}
	return l
}
