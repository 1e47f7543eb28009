package server

import (
	"strings"
	"testing"
)

// TestWrongLifetimesOfTokens: the error names the limit that applies.
func TestWrongLifetimesOfTokens(t *testing.T) {
	for file, want := range map[string]string{
		"tokens: {max_days: 0}":                     "tokens.max_days: must be from 1 to 36500, or -1 for no limit, found 0",
		"tokens: {max_days: 30, default_days: 31}":  "tokens.default_days: must be from 1 to 30 (tokens.max_days), found 31",
		"tokens: {max_days: -1, default_days: 0}":   "tokens.default_days: must be from 1 to 36500, found 0",
		"tokens: {max_days: -1, default_days: 365}": "",
	} {
		_, err := load(t, file, nil, nil)
		if want == "" && err != nil && strings.Contains(err.Error(), "tokens.") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
