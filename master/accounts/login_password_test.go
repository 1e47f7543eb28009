package accounts_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
)

// TestAnUnknownUserCostsAsMuch: a sign-in of a user who does not exist compares a hash of the kind that users have.
func TestAnUnknownUserCostsAsMuch(t *testing.T) {
	stored := accounts.StoredPassword("secret")
	if kind := stored[:strings.LastIndex(stored[:strings.LastIndex(stored, "$")], "$")]; !strings.HasPrefix(accounts.DummyHash, kind+"$") {
		t.Errorf("users have hashes %s…, and others cost %s", kind, accounts.DummyHash)
	}
}
