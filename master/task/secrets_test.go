package task

import (
	"reflect"
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
)

func TestWhoMayMountASecret(t *testing.T) {
	offered := Secrets{{Name: "team", Workspaces: []string{"vision"}}, {Name: "all", Workspaces: []string{EveryWorkspace}}, {Name: "own", Users: []string{"Ada"}},
		{Name: "both", Workspaces: []string{"vision"}, Users: []string{"ada"}, Keys: []string{"token"}}}
	for _, c := range []struct{ name, workspace, user string }{
		{"team", "vision", "ben"}, {"all", "speech", "ben"}, {"own", "speech", "ada"}, {"both", "vision", "ada"},
	} {
		if err := offered.Check(expconf.Secrets{{Name: c.name, Key: "token"}}, c.workspace, c.user); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []struct{ name, workspace, user string }{
		{"team", "speech", "ada"}, {"team", "*", "ada"}, {"own", "vision", "ben"}, {"both", "speech", "ada"}, {"both", "vision", "ben"}, {"none", "vision", "ada"},
	} {
		err := offered.Check(expconf.Secrets{{Name: "all", Key: "token"}, {Name: c.name, Key: "token"}}, c.workspace, c.user)
		want := `there is no secret "` + c.name + `" that ` + c.user + ` may mount in workspace "` + c.workspace + `"`
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %s", c, err, want)
		}
	}
	if err := offered.Check(expconf.Secrets{{Name: "both", Key: "other"}}, "vision", "ada"); err == nil || !strings.Contains(err.Error(), "it has token") {
		t.Errorf("another key: %v", err)
	}
}

// TestSecretsOfUsersInAJob: the job has paths and keys, the runner is told names; neither has a value. A task that
// removes files mounts nothing.
func TestSecretsOfUsersInAJob(t *testing.T) {
	const mounts = "environment: {secrets: [{name: a, key: k, env: T}, {name: a, key: k, file: f}, {name: b, key: l, env: U, file: g}]}\n"
	s := site()
	s.Secrets = Secrets{{Name: "a", Path: "secret/data/a"}, {Name: "b", Path: "secret/data/b"}}
	a := read(t, Row{TrialID: 1, ExperimentID: 1, Config: completed(t, mounts)})
	job, err := s.Job(a, nil, processes())
	want := []jobspecs.Secret{{Name: "a", Path: "secret/data/a", Key: "k"}, {Name: "b", Path: "secret/data/b", Key: "l"}}
	if err != nil || !reflect.DeepEqual(job.Secrets, want) || job.Credentials == nil || job.Credentials.Role != "det-task" {
		t.Errorf("%+v, %+v, %v", job.Secrets, job.Credentials, err)
	}
	spec, err := s.Spec(a, Claimed{}, processes())
	if err != nil || len(spec.Secrets) != 3 || spec.Secrets[2].File != "g" || spec.Secrets[2].Env != "U" {
		t.Errorf("%+v, %v", spec.Secrets, err)
	}
	removal := read(t, Row{Type: Removal, ExperimentID: 1, Config: completed(t, mounts)})
	if job, err := s.Job(removal, nil, processes()); err != nil || len(job.Secrets) != 0 {
		t.Errorf("a removal: %+v, %v", job.Secrets, err)
	}
	s.Secrets = s.Secrets[:1]
	if _, err := s.Job(a, nil, processes()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `"b" is no longer offered`) {
		t.Errorf("without b: %v", err)
	}
}
