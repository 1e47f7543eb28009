package jobspecs_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
)

// TestSecretsThatNeedARole: a job that names secrets has a role with which to read them, and no text that
// Nomad's templates would read in another way.
func TestSecretsThatNeedARole(t *testing.T) {
	task := trial()
	task.Secrets = []jobspecs.Secret{{Name: "a", Path: "secret/data/a", Key: "k"}}
	if _, err := jobspecs.Render(task); err == nil || !strings.Contains(err.Error(), "no role of Vault") {
		t.Errorf("without a role: %v", err)
	}
	task.Credentials = &jobspecs.Credentials{Role: "det-task"}
	if _, err := jobspecs.Render(task); err != nil {
		t.Error(err)
	}
	for _, bad := range []jobspecs.Secret{
		{Name: `a" }}{{ env "X`, Path: "secret/data/a", Key: "k"}, {Name: "a", Path: `secret/data/a" }}`, Key: "k"}, {Name: "a", Path: "secret/data/a", Key: "{{"}, {Name: "a", Path: "", Key: "k"},
	} {
		task.Secrets = []jobspecs.Secret{bad}
		if _, err := jobspecs.Render(task); err == nil {
			t.Errorf("%+v is rendered", bad)
		}
	}
}

// TestVaultRole: the name of a role in Vault has the namespace and the region of the job, and belongs to no other job.
func TestVaultRole(t *testing.T) {
	of := func(id, namespace, region string) string {
		task := trial()
		task.AllocationID, task.Pool.Namespace, task.Pool.Region = id, namespace, region
		return task.VaultRole()
	}
	if got := of("12.a.1", "", ""); got != "det-12-a-1.default" {
		t.Errorf("without a namespace: %s", got)
	}
	seen := map[string]bool{}
	for _, role := range []string{of("12.a.1", "ml", ""), of("12.a.1", "default", ""), of("12.a.1", "ml", "west"), of("12.a.1", "west", ""), of("12.a.2", "ml", "west")} {
		if seen[role] || !strings.HasPrefix(role, jobspecs.JobPrefix()) {
			t.Errorf("%s belongs to two jobs, or is not the master's to write", role)
		}
		seen[role] = true
	}
}
