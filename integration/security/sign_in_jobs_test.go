package security

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
)

// jobsSignIn runs jobs of Nomad that sign in with their workload identities: the one that may, one with another
// name, and one whose identity is for another cluster.
func jobsSignIn(t *testing.T, r *rig.Rig) {
	if out, stderr, code := r.Run(t, []string{"DET_USER=admin"}, "user", "create", "ci", "--service-account"); code != 0 {
		t.Fatalf("%d %s%s", code, out, stderr)
	}
	for _, c := range []struct{ job, audience, want string }{
		{"nightly", "detent-sign-in:sign-in", "You are logged in as user 'ci'"},
		{"weekly", "detent-sign-in:sign-in", "Nomad job weekly in namespace default may not sign in"},
		{"nightly", "detent-sign-in:another-cluster", "the workload identity is not accepted"},
	} {
		if got := runInNomad(t, r, c.job, c.audience); !strings.Contains(got, c.want) {
			t.Errorf("%s for %s: %s\nwant %s", c.job, c.audience, got, c.want)
		}
	}
}

// runInNomad runs det in a job of Nomad that has a workload identity, and returns what it printed.
func runInNomad(t *testing.T, r *rig.Rig, id, audience string) string {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	said, ended := filepath.Join(dir, "said"), filepath.Join(dir, "ended")
	script := fmt.Sprintf(`export DET_MASTER=%s HOME="$NOMAD_TASK_DIR" NO_COLOR=1
det=%s/det
{ $det auth login --identity-file "$NOMAD_SECRETS_DIR/nomad_detent.jwt" && $det user whoami; } > %s 2>&1
touch %s
`, r.MasterURL, r.Bin, said, ended)
	task := api.NewTask("main", "raw_exec").SetConfig("command", "/bin/sh").SetConfig("args", []string{"-c", script})
	task.Identities = []*api.WorkloadIdentity{{Name: "detent", Audience: []string{audience}, File: true, TTL: time.Hour}}
	job := api.NewBatchJob(id, id, "global", 50).AddDatacenter("*").AddTaskGroup(api.NewTaskGroup("main", 1).AddTask(task))
	job.NodePool = new("all")
	if _, _, err := nomad.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, _, err := nomad.Jobs().Deregister(id, true, nil); err != nil {
			t.Error(err)
		}
	}()
	rig.Eventually(t, "the job "+id+" ends", func() (bool, error) { _, err := os.Stat(ended); return err == nil, nil })
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
