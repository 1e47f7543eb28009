package storage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// needles returns all keys and tokens for the object store and for Vault.
func (r *s3rig) needles(t *testing.T) []string {
	t.Helper()
	list := append(r.gate.given(), r.VaultToken(), r.S3().Admin.AccessKey, r.S3().Admin.SecretKey)
	for _, n := range list {
		if len(n) < 16 {
			t.Fatalf("%q is too short to be looked for", n)
		}
	}
	return list
}

// clean fails if a text contains a needle. The message does not contain the needle.
func clean(t *testing.T, where, text string, needles []string) {
	t.Helper()
	for i, n := range needles {
		if at := strings.Index(text, n); at >= 0 {
			t.Errorf("%s has secret number %d in it, after %q", where, i, text[max(0, at-80):at])
			return
		}
	}
}

// searchRunning searches a running task: the arguments and environments of its processes, its job, and its
// folder. The folder must contain the keys, which shows that the search looks for the right texts.
func (r *s3rig) searchRunning(t *testing.T, experiment int) {
	task := r.taskOf(t, experiment)
	job := "det-" + strings.ReplaceAll(task+".1", ".", "-")
	alloc := r.allocation(t, job)
	var file string
	rig.Eventually(t, "the file with the keys", func() (bool, error) {
		found, err := filepath.Glob(filepath.Join(r.Cluster.StateDir(), "alloc", alloc, "main", "secrets", "s3.json"))
		if err != nil || len(found) != 1 {
			return false, fmt.Errorf("%v, %w", found, err)
		}
		text, err := os.ReadFile(found[0])
		file = string(text)
		return err == nil, err
	})
	needles := r.needles(t)
	hits := 0
	for _, n := range needles {
		if strings.Contains(file, n) {
			hits++
		}
	}
	if hits != 3 {
		t.Fatalf("the task's own file has %d of its three secrets: the search would look for the wrong things", hits)
	}
	processes := 0
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(environ), task) {
			continue // gone, or not of this task
		}
		processes++
		clean(t, "the environment of a process", string(environ), needles)
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil {
			clean(t, "a command line", string(line), needles)
		}
	}
	if processes < 2 { // the runner and the program
		t.Errorf("%d processes of the task were looked at", processes)
	}
	if _, body := r.nomad(t, "/v1/client/fs/cat/"+alloc+"?path=main/secrets/s3.json"); !strings.Contains(body, "prohibited") {
		t.Errorf("Nomad's answer for the file with the keys is %.200q", body)
	}
	_, body := r.nomad(t, "/v1/allocation/"+alloc)
	clean(t, "Nomad's answer", body, needles)
}

// allocation is the Nomad allocation of a job.
func (r *s3rig) allocation(t *testing.T, job string) (id string) {
	t.Helper()
	rig.Eventually(t, "an allocation of "+job, func() (bool, error) {
		_, body := r.nomad(t, "/v1/job/"+job+"/allocations")
		var list []struct{ ID string }
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != 1 {
			return false, fmt.Errorf("%d allocations: %w", len(list), err)
		}
		id = list[0].ID
		return true, nil
	})
	return id
}

func (r *s3rig) nomad(t *testing.T, path string) (int, string) {
	t.Helper()
	return r.Read(t, r.NomadURL+path, map[string]string{"X-Nomad-Token": r.NomadToken})
}

// searchAll searches everything that is stored or shown: rows, logs, jobs, services, answers.
func (r *s3rig) searchAll(t *testing.T, experiments ...int) {
	needles := r.needles(t)
	if len(needles) < 20 {
		t.Errorf("only %d secrets were given out", len(needles))
	}
	r.searchRows(t, needles)
	for _, part := range r.Describe(t.Context()).Parts {
		if part.Name == "s3" || part.Log == "" {
			continue // the store's own log names whose request it was
		}
		text, err := os.ReadFile(part.Log)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, "the log of "+part.Name, string(text), needles)
	}
	r.searchNomad(t, needles)
	r.searchAPI(t, needles, experiments)
}

func (r *s3rig) searchRows(t *testing.T, needles []string) {
	dump, err := exec.LookPath("pg_dump")
	if err != nil {
		t.Log("there is no pg_dump, so rows are not searched")
		return
	}
	out, err := exec.CommandContext(t.Context(), dump, "--data-only", r.DSN).Output()
	if err != nil || !strings.Contains(string(out), "COPY public.allocations") {
		t.Fatalf("pg_dump: %v, %d bytes", err, len(out))
	}
	clean(t, "the database", string(out), needles)
}

func (r *s3rig) searchNomad(t *testing.T, needles []string) {
	for _, kind := range []string{"job", "allocation", "evaluation"} {
		_, body := r.nomad(t, "/v1/"+kind+"s?namespace=*")
		clean(t, "Nomad's list of "+kind+"s", body, needles)
		var list []struct{ ID string }
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) == 0 {
			t.Fatalf("%ss: %v: %.200s", kind, err, body)
		}
		for _, x := range list {
			status, body := r.nomad(t, "/v1/"+kind+"/"+x.ID)
			if status != http.StatusOK {
				t.Errorf("%s %s: %d", kind, x.ID, status)
			}
			clean(t, "Nomad's "+kind+" "+x.ID, body, needles)
		}
	}
}

func (r *s3rig) searchAPI(t *testing.T, needles []string, experiments []int) {
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"master", "master/config", "experiments?limit=0", "tasks", "agents", "resource-pools", "jobs-v2?resourcePool=jail", "workspaces", "allocations/accelerators"}
	for _, id := range experiments {
		paths = append(paths, fmt.Sprintf("experiments/%d", id), fmt.Sprintf("experiments/%d/checkpoints", id), fmt.Sprintf("experiments/%d/trials", id))
		trial := r.Trial(t, id)
		paths = append(paths, fmt.Sprintf("trials/%d", trial.ID), fmt.Sprintf("trials/%d/logs", trial.ID), "tasks/"+r.taskOf(t, id))
	}
	read := 0
	for _, path := range paths {
		status, body := r.Read(t, r.MasterURL+"/api/v1/"+path, map[string]string{"Authorization": "Bearer " + admin.Token()})
		if status == http.StatusOK {
			read++
		}
		clean(t, "the answer to "+path, body, needles)
	}
	if read < len(paths)-4 { // some lists are not of every release
		t.Errorf("only %d of %d answers could be read", read, len(paths))
	}
}

// taskOf is the task of an experiment's only trial.
func (r *s3rig) taskOf(t *testing.T, experiment int) string {
	t.Helper()
	trial := r.Trial(t, experiment)
	if trial.TaskID == "" {
		t.Fatalf("trial %d has no task", trial.ID)
	}
	return trial.TaskID
}
