package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// waiting is a script that says where its secrets are, and stays until it is
// asked to stop.
const waiting = `
import json, os, time
from determined import core
with core.init() as ctx:
    if "SECRETS" in os.environ:
        with open(os.environ["SECRETS"] + ".part", "w") as f:
            json.dump({k: os.environ[k] for k in ("DET_SESSION_TOKEN", "DET_USER_TOKEN", "DET_COMM_KEY") if k in os.environ}, f)
        os.rename(os.environ["SECRETS"] + ".part", os.environ["SECRETS"])
    print("begins", flush=True)
    while not ctx.preempt.should_preempt():
        time.sleep(0.05)
`

// allocation is the running attempt of an experiment's only trial.
func (r *rig) allocation(t testing.TB, experiment int) string {
	t.Helper()
	task := r.trial(t, experiment).TaskID
	var id string
	eventually(t, "an attempt of "+task, func() (bool, error) {
		tasks, err := r.client.Tasks(t.Context())
		for _, a := range tasks {
			if a.TaskID == task {
				id = a.AllocationID
			}
		}
		return id != "", err
	})
	return id
}

// end kills an experiment and waits for it.
func (r *rig) end(t testing.TB, id int) {
	t.Helper()
	if err := r.client.KillExperiment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	r.waitState(t, id, v1.ExperimentStateCanceled)
}

// get asks one of the cluster's servers over HTTP.
func (r *rig) get(t testing.TB, address string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.authorize(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s: %v\n%s", address, resp.Status, err, body)
	}
	return body
}

// TestAJobExplainsItself: what an operator who looks at Nomad and Consul is told
// about a trial, and what nobody is told.
func TestAJobExplainsItself(t *testing.T) {
	r := start(t)
	secrets := filepath.Join(t.TempDir(), "secrets.json")
	password := "Xyzzy-inspects-42"
	olivia := r.newUser(t, "olivia", password)
	mine := *r
	mine.client = olivia
	id := mine.submit(t, config("description: for the operators\nenvironment: {environment_variables: [\"SECRETS="+secrets+"\"]}"), script(waiting))
	r.waitLog(t, id, "begins")
	trial := r.trial(t, id)
	allocation := r.allocation(t, id)
	jobID := jobspecs.JobID(allocation)

	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	job, _, err := nomad.Jobs().Info(jobID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("experiment %d trial %d (story) run 1", id, trial.ID); *job.Name != want {
		t.Errorf("its name is %q, not %q", *job.Name, want)
	}
	holds(t, "its description", job.UI.Description, fmt.Sprintf("Experiment %d trial %d", id, trial.ID), "story", "Owner: olivia",
		"Cluster: integration, pool default", "Run 1, 1 slot on 1 node", fmt.Sprintf("det trial logs -f %d", trial.ID))
	for key, want := range map[string]string{
		"det_owner": "olivia", "det_experiment": itoa(id), "det_trial": itoa(trial.ID), "det_cluster_name": "integration",
		"det_allocation": allocation, "det_task": trial.TaskID, "det_type": "TRIAL", "det_run": "1", "det_pool": "default", "det_title": "story",
	} {
		if job.Meta[key] != want {
			t.Errorf("its metadata %s is %q, not %q", key, job.Meta[key], want)
		}
	}
	page := fmt.Sprintf("%s/det/experiments/%d", r.MasterURL, id)
	leads := map[string]string{}
	for _, link := range job.UI.Links {
		leads[link.Label] = link.URL
	}
	want := map[string]string{fmt.Sprintf("Experiment %d", id): page, fmt.Sprintf("Trial %d", trial.ID): fmt.Sprintf("%s/trials/%d", page, trial.ID)}
	if !maps.Equal(leads, want) {
		t.Errorf("its page leads to %v, not to %v", leads, want)
	}
	passes(t, r, jobID)
	noSecrets(t, r, jobID, secrets, password, olivia.Token())
	mine.end(t, id)
	eventually(t, "its service is gone from Consul", func() (bool, error) {
		var left []json.RawMessage
		err := json.Unmarshal(r.get(t, r.ConsulURL+"/v1/health/service/"+jobID), &left)
		return len(left) == 0, err
	})
}

// newUser makes a user with a password and signs in.
func (r *rig) newUser(t testing.TB, name, password string) *client.Client {
	t.Helper()
	admin, err := r.signIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateUser(t.Context(), v1.User{Username: name, Active: true}, password); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Master: r.MasterURL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Login(t.Context(), name, password); err != nil {
		t.Fatal(err)
	}
	return c
}

// passes waits until Consul has checked that the job's member is well.
func passes(t *testing.T, r *rig, jobID string) {
	t.Helper()
	var found []struct {
		Service struct {
			Address string
			Port    int
			Meta    map[string]string
		}
		Checks []struct{ Name, Status, Type string }
	}
	eventually(t, "its service passes its check in Consul", func() (bool, error) {
		err := json.Unmarshal(r.get(t, r.ConsulURL+"/v1/health/service/"+jobID+"?passing=true"), &found)
		return len(found) == 1, err
	})
	s := found[0].Service
	if s.Meta["rank"] != "0" || s.Address != "127.0.0.1" || s.Meta["port-runner"] != itoa(s.Port) {
		t.Errorf("its service is %+v", s)
	}
	checks := map[string]string{}
	for _, c := range found[0].Checks {
		checks[c.Name] = c.Type + " " + c.Status
	}
	if checks["runner"] != "http passing" {
		t.Errorf("its checks are %v", checks)
	}
}

// publicEnv is all that a job's processes are given by Nomad.
var publicEnv = []string{"DET_ALLOCATION_ID", "DET_DRIVER", "DET_MASTERS", "DET_MASTERS_FILE", "DET_NODE_ID", "DET_NODE_NAME", "DET_RANK",
	"NVIDIA_VISIBLE_DEVICES"} // void, for what delivers the log

// noSecrets searches what Nomad tells about a job and its allocations, and about
// the master, for everything that is secret.
func noSecrets(t *testing.T, r *rig, jobID, file string, known ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var inside map[string]string
	if err := json.Unmarshal(text, &inside); err != nil || inside["DET_SESSION_TOKEN"] == "" || inside["DET_USER_TOKEN"] == "" {
		t.Fatalf("the task knows only %v of its secrets: %v", slices.Collect(maps.Keys(inside)), err)
	}
	secrets := append(slices.Collect(maps.Values(inside)), known...)
	if u, err := url.Parse(r.DSN); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			secrets = append(secrets, password)
		}
	}
	if r.NomadToken != "" {
		secrets = append(secrets, r.NomadToken)
	}
	for _, path := range []string{"/v1/job/" + jobID, "/v1/job/" + jobID + "/versions", "/v1/job/" + jobID + "/allocations", "/v1/job/" + jobID + "/evaluations",
		"/v1/job/det-master", "/v1/job/det-master/versions"} {
		said := string(r.get(t, r.NomadURL+path))
		for _, secret := range secrets {
			if strings.Contains(said, secret) {
				t.Errorf("%s tells a secret", path)
			}
		}
	}
	var allocations []struct{ ID string }
	if err := json.Unmarshal(r.get(t, r.NomadURL+"/v1/job/"+jobID+"/allocations"), &allocations); err != nil || len(allocations) != 1 {
		t.Fatalf("%d allocations: %v", len(allocations), err)
	}
	said := string(r.get(t, r.NomadURL+"/v1/allocation/"+allocations[0].ID))
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			t.Error("the allocation tells a secret")
		}
	}
	plainEnv(t, r, jobID)
}

// plainEnv holds the variables of a job to those that are known to be public.
func plainEnv(t *testing.T, r *rig, jobID string) {
	t.Helper()
	suspicious := regexp.MustCompile(`(?i)token|password|passwd|secret|api_?key|eyJ[A-Za-z0-9_-]{10,}\.`)
	var job struct {
		TaskGroups []struct {
			Tasks []struct {
				Name string
				Env  map[string]string
			}
		}
	}
	if err := json.Unmarshal(r.get(t, r.NomadURL+"/v1/job/"+jobID), &job); err != nil {
		t.Fatal(err)
	}
	for _, group := range job.TaskGroups {
		for _, task := range group.Tasks {
			for name, value := range task.Env {
				if !slices.Contains(publicEnv, name) || suspicious.MatchString(name+"="+value) {
					t.Errorf("task %s is given %s", task.Name, name)
				}
			}
		}
	}
}
