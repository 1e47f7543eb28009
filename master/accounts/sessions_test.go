package accounts_test

import (
	"testing"

	"github.com/detent-ml/detent/master/accounts"
)

func TestAgentOf(t *testing.T) {
	for header, want := range map[string]string{"Mozilla/5.0 (X)": "Mozilla/5.0 (X)", "a\x00\x1b[31mb\xff": "a[31mb", "": ""} {
		if got := accounts.AgentOf(header); got != want {
			t.Errorf("%q: %q", header, got)
		}
	}
}
