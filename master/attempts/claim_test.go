package attempts_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
)

// TestACertificateOfNoUse is refused at the gate.
func TestACertificateOfNoUse(t *testing.T) {
	for s, fits := range map[string]bool{"": true, strings.Repeat("0a", 32): true, strings.Repeat("0A", 32): false,
		strings.Repeat("0a", 31): false, strings.Repeat("0a", 33): false, strings.Repeat("zz", 32): false, "example.com:80": false} {
		if attempts.IsFingerprint(s) != fits {
			t.Errorf("%q: %t", s, !fits)
		}
	}
	newRig(t).With("").Post("/api/v1/detent/allocations/x.1/claim", `{"nonce":"a nonce of this very process","gatewayCertificate":"evil.example"}`).Says(400, "gatewayCertificate")
}
