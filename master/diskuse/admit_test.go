package diskuse

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestAdmittedTogether: the requests that a master has admitted since it read what a user stores count too.
func TestAdmittedTogether(t *testing.T) {
	w := rowtest.New(t)
	users := NewUsers(w.DB, Limits{Owner: 100_000})
	sum := users.of(1)
	sum.at, sum.held = time.Now(), Use{Code: 90_000}
	if err := users.Admit(t.Context(), 1, 20_000); err != nil {
		t.Error(err)
	}
	if sum.added != 20_000 || sum.held.Code != 90_000 {
		t.Errorf("%+v", sum)
	}
	if err := users.Admit(t.Context(), 1, 0); err != nil { // the sum is over the limit; the database has nothing
		t.Error(err)
	}
	if sum.added != 0 || sum.held.Code != 0 {
		t.Errorf("nothing was read: %+v", sum)
	}
}
