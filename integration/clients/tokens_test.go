package clients

import (
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// TestTokensOfUnmodifiedClient: access tokens with Determined's own command line, and ours with the same token.
func TestTokensOfUnmodifiedClient(t *testing.T) {
	r := rig.Start(t)
	admin := r.Person(t, "admin", "")
	admin.Det(t, "user", "create", "ci", "--password", "Passw0rd")
	r.Person(t, "ci", "Passw0rd")
	out := admin.Det(t, "token", "create", "ci", "--expiration-days", "2", "--description", "nightly")
	id, token := rig.First(t, `TokenID: (\d+)`, out), strings.TrimSpace(out[strings.Index(out, "Access-Token: ")+len("Access-Token: "):])
	number := strconv.Itoa(id)
	rig.Holds(t, "token list", admin.Det(t, "token", "list", "ci"), "nightly", "ACCESS_TOKEN", number)
	rig.Holds(t, "token describe", admin.Det(t, "token", "describe", number, "--json"), `"description": "nightly"`)
	rig.Holds(t, "token edit", admin.Det(t, "token", "edit", number, "--description", "weekly"), "Successfully updated token with ID: "+number, "weekly")

	script := rig.Person{R: r, Python: admin.Python, Home: t.TempDir()}
	rig.Holds(t, "token login", script.Det(t, "token", "login", token), "Authenticated as ci.")
	rig.Holds(t, "whoami", script.Det(t, "user", "whoami"), "'ci'")
	if _, stderr, code := script.Run(t, "", script.Client(), "token", "create"); code == 0 || !strings.Contains(stderr, "cannot create another") {
		t.Errorf("a token created a token: exit %d\n%s", code, stderr)
	}
	rig.Holds(t, "token revoke", admin.Det(t, "token", "revoke", number), "Successfully revoked token "+number)
	if _, stderr, code := script.Run(t, "", script.Client(), "experiment", "list"); code == 0 {
		t.Errorf("a revoked token lists experiments: %s", stderr)
	}
	if got := admin.Det(t, "token", "list", "ci"); strings.Contains(got, "weekly") {
		t.Errorf("a revoked token is listed:\n%s", got)
	}
	rig.Holds(t, "token list --show-inactive", admin.Det(t, "token", "list", "ci", "--show-inactive"), "weekly", "True")
}
