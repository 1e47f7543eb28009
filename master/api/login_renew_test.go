package api

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
)

// TestAnUnknownUserCostsAsMuch: a sign-in of a user who does not exist compares a hash of the kind that users have.
func TestAnUnknownUserCostsAsMuch(t *testing.T) {
	stored := auth.HashPassword(hashedAsClientsDo("secret", false))
	if kind := stored[:strings.LastIndex(stored[:strings.LastIndex(stored, "$")], "$")]; !strings.HasPrefix(dummyHash, kind+"$") {
		t.Errorf("users have hashes %s…, and others cost %s", kind, dummyHash)
	}
}
