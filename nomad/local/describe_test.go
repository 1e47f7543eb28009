package local

import (
	"strings"
	"testing"
)

// TestTheSummaryNamesTheUsers: the summary has both users of a new cluster, and whether they have a password.
func TestTheSummaryNamesTheUsers(t *testing.T) {
	for env, want := range map[string]string{"": "(from this machine without a password, while they have none)\n", "a secret of ours": "(both with the initial password)\n"} {
		want = "admin, an administrator, and determined " + want
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

// TestFlagsAreQuoted: commands that are proposed can be typed as they are.
func TestFlagsAreQuoted(t *testing.T) {
	for dir, want := range map[string]string{"": "", "/data/detent": " --state-dir /data/detent", "/my data/it's": ` --state-dir '/my data/it'\''s'`} {
		if got := Flags(DefaultName, dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}
