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
