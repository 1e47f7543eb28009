package attempts_test

import (
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestAccountOfATask: the fields that a workspace sets take the place of the owner's, one by
// one, over root; without either there is no account.
func TestAccountOfATask(t *testing.T) {
	w := rowtest.New(t)
	id := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1), 1, 1)
	const ada = `{"user": "ada", "uid": 1000, "group": "lab", "gid": 1001}`
	for _, c := range []struct{ owner, workspace, want, names string }{
		{"", `{}`, "", " "},
		{"", `{"agent_user": null}`, "", " "},
		{ada, `{}`, "1000:1001", "ada lab"},
		{ada, `{"agent_user": null}`, "1000:1001", "ada lab"},
		{ada, `{"agent_user": {"uid": 7}}`, "7:1001", "ada lab"},
		{ada, `{"agent_user": {"gid": 8, "group": "staff"}}`, "1000:8", "ada staff"},
		{ada, `{"agent_user": {"uid": 0, "gid": 0}}`, "0:0", "ada lab"},
		{"", `{"agent_user": {"gid": 9}}`, "0:9", " "},
	} {
		w.Exec(`UPDATE users SET agent_user = nullif($1, '')::jsonb WHERE username = 'determined'`, c.owner)
		w.Exec(`UPDATE workspaces SET settings = $1::text::jsonb`, c.workspace)
		got, err := attempts.Gate{DB: w.DB}.Claim(t.Context(), rowtest.Claim(id, 0, "n"))
		if err != nil || got.Account != c.want || got.AccountUser+" "+got.AccountGroup != c.names {
			t.Errorf("%s and %s: %q of %q in %q, %v; want %q of %q", c.owner, c.workspace, got.Account, got.AccountUser, got.AccountGroup, err, c.want, c.names)
		}
	}
}
