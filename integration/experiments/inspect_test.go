package experiments

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
)

// TestAJobExplainsItself tests what Nomad and Consul show to operators about a trial, and that they
// show no secrets.
func TestAJobExplainsItself(t *testing.T) {
	r := rig.Start(t)
	secrets := filepath.Join(t.TempDir(), "secrets.json")
	password := "Xyzzy-inspects-42"
	olivia := r.NewUser(t, "olivia", password)
	mine := *r
	mine.Client = olivia
	id := mine.Submit(t, rig.Config("description: for the operators\nresources: {cpus: 0.5, memory: 300MiB}\nenvironment: {environment_variables: [\"SECRETS="+secrets+"\"]}"), rig.Script(rig.Waiting))
	r.WaitLog(t, id, "begins")
	trial := r.Trial(t, id)
	allocation := r.Allocation(t, id)
	jobID := jobspecs.JobID(allocation)

	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	job, _, err := nomad.Jobs().Info(jobID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("experiment %d trial %d (end-to-end) run 1", id, trial.ID); *job.Name != want {
		t.Errorf("the job's name is %q, not %q", *job.Name, want)
	}
	rig.Holds(t, "its description", job.UI.Description, fmt.Sprintf("Experiment %d trial %d", id, trial.ID), `end\-to\-end`, "Owner: olivia",
		"Cluster: integration, pool default", "Run 1, 1 slot on 1 node", fmt.Sprintf("det trial logs -f %d", trial.ID))
	for key, want := range map[string]string{
		"det_owner": "olivia", "det_experiment": strconv.Itoa(id), "det_trial": strconv.Itoa(trial.ID), "det_cluster_name": "integration",
		"det_allocation": allocation, "det_task": trial.TaskID, "det_type": "TRIAL", "det_run": "1", "det_pool": "default", "det_title": "end-to-end",
	} {
		if job.Meta[key] != want {
			t.Errorf("the job's metadata %s is %q, not %q", key, job.Meta[key], want)
		}
	}
	page := fmt.Sprintf("%s/det/experiments/%d", r.MasterURL, id)
	leads := map[string]string{}
	for _, link := range job.UI.Links {
		leads[link.Label] = link.URL
	}
	want := map[string]string{fmt.Sprintf("Experiment %d", id): page, fmt.Sprintf("Trial %d", trial.ID): fmt.Sprintf("%s/trials/%d", page, trial.ID)}
	if !maps.Equal(leads, want) {
		t.Errorf("the links on the job's page are %v, want %v", leads, want)
	}
	asked(t, r, jobID)
	shown(t, r, jobID, "begins")
	passes(t, r, jobID)
	noSecrets(t, r, jobID, secrets, password, olivia.Token())
	mine.End(t, id)
	rig.Eventually(t, "its service is gone from Consul", func() (bool, error) {
		var left []json.RawMessage
		err := json.Unmarshal(r.Get(t, r.ConsulURL+"/v1/health/service/"+jobID), &left)
		return len(left) == 0, err
	})
}

// shown checks that Nomad shows the program's output, of which its runner keeps the files.
func shown(t *testing.T, r *rig.Rig, jobID, line string) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	allocs, _, err := nomad.Jobs().Allocations(jobID, false, nil)
	if err != nil || len(allocs) != 1 {
		t.Fatalf("%d allocations: %v", len(allocs), err)
	}
	alloc, _, err := nomad.Allocations().Info(allocs[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	defer close(end)
	frames, failed := nomad.AllocFS().Logs(alloc, false, "main", "stdout", "start", 0, end, nil)
	var text strings.Builder
	for frame := range frames {
		text.Write(frame.Data)
	}
	select {
	case err := <-failed:
		t.Error(err)
	default:
	}
	rig.Holds(t, "what Nomad shows", text.String(), line)
}

// asked checks that Nomad counts half a processor of the node and 300 MiB for the job's program.
func asked(t *testing.T, r *rig.Rig, jobID string) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	allocs, _, err := nomad.Jobs().Allocations(jobID, false, nil)
	if err != nil || len(allocs) != 1 {
		t.Fatalf("%d allocations: %v", len(allocs), err)
	}
	alloc, _, err := nomad.Allocations().Info(allocs[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	node, _, err := nomad.Nodes().Info(alloc.NodeID, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range alloc.AllocatedResources.Tasks {
		got = append(got, fmt.Sprintf("%d MHz and %d MB", x.Cpu.CpuShares, x.Memory.MemoryMB))
	}
	cpu := node.NodeResources.Cpu
	if want := fmt.Sprintf("%d MHz and 300 MB", cpu.CpuShares/int64(cpu.TotalCpuCores)/2); !slices.Contains(got, want) {
		t.Errorf("the tasks of the job have %q, want one with %s", got, want)
	}
}

// passes waits until the health check of the job's member passes in Consul.
func passes(t *testing.T, r *rig.Rig, jobID string) {
	t.Helper()
	var found []struct {
		Service struct {
			Address string
			Port    int
			Meta    map[string]string
		}
		Checks []struct{ Name, Status, Type string }
	}
	rig.Eventually(t, "its service passes its check in Consul", func() (bool, error) {
		err := json.Unmarshal(r.Get(t, r.ConsulURL+"/v1/health/service/"+jobID+"?passing=true"), &found)
		return len(found) == 1, err
	})
	s := found[0].Service
	if s.Meta["rank"] != "0" || s.Address != "127.0.0.1" || s.Meta["port-runner"] != strconv.Itoa(s.Port) {
		t.Errorf("the attempt's service is %+v", s)
	}
	checks := map[string]string{}
	for _, c := range found[0].Checks {
		checks[c.Name] = c.Type + " " + c.Status
	}
	if checks["runner"] != "http passing" {
		t.Errorf("the service's checks are %v", checks)
	}
}

// publicEnv lists the variables that Nomad may set for a job's processes.
var publicEnv = []string{"DET_ALLOCATION_ID", "DET_DRIVER", "DET_MASTERS", "DET_MASTERS_FILE", "DET_NODE_ID", "DET_NODE_NAME", "DET_NOMAD_LOGS", "DET_RANK",
	"NVIDIA_VISIBLE_DEVICES"} // void, for what delivers the log

// noSecrets searches Nomad's answers about a job, its allocations and the master for all secrets.
func noSecrets(t *testing.T, r *rig.Rig, jobID, file string, known ...string) {
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
		said := string(r.Get(t, r.NomadURL+path))
		for _, secret := range secrets {
			if strings.Contains(said, secret) {
				t.Errorf("%s contains a secret", path)
			}
		}
	}
	var allocations []struct{ ID string }
	if err := json.Unmarshal(r.Get(t, r.NomadURL+"/v1/job/"+jobID+"/allocations"), &allocations); err != nil || len(allocations) != 1 {
		t.Fatalf("%d allocations: %v", len(allocations), err)
	}
	said := string(r.Get(t, r.NomadURL+"/v1/allocation/"+allocations[0].ID))
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			t.Error("the allocation contains a secret")
		}
	}
	plainEnv(t, r, jobID)
}

// plainEnv checks that a job has only the variables in publicEnv.
func plainEnv(t *testing.T, r *rig.Rig, jobID string) {
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
	if err := json.Unmarshal(r.Get(t, r.NomadURL+"/v1/job/"+jobID), &job); err != nil {
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
