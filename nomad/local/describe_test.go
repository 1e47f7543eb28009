package local

import (
	"strings"
	"testing"
)

// TestTheSummaryNamesTheUsers: both users of a new cluster.
func TestTheSummaryNamesTheUsers(t *testing.T) {
	var b strings.Builder
	if err := (Description{MasterURL: "http://127.0.0.1:8080", User: User}).WriteSummary(&b); err != nil {
		t.Fatal(err)
	}
	if want := "admin, an administrator, and determined (no password; from this machine only)"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is missing in\n%s", want, b.String())
	}
}
