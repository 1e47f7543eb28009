package local

import (
	"strings"
	"testing"
)

// TestTheSummaryNamesTheUsers: the summary has both users of a new cluster, and says "no password" only of users without one.
func TestTheSummaryNamesTheUsers(t *testing.T) {
	const second = "determined (no password; from this machine only)\n"
	for env, want := range map[string]string{"": "admin, an administrator, and " + second, "a secret of ours": "admin, an administrator, with its initial password, and " + second} {
		c := &Cluster{dir: t.TempDir()}
		c.state.Master = Master{Binary: "/det-master", Env: map[string]string{InitialPassword: env}}
		c.state.Ports = map[string]int{portMaster: 8080}
		var b strings.Builder
		if err := c.Describe(t.Context()).WriteSummary(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "users ") || !strings.Contains(b.String(), want) || strings.Contains(b.String(), "ours") {
			t.Errorf("with the password %q:\n%s\nwant %q", env, b.String(), want)
		}
	}
}
