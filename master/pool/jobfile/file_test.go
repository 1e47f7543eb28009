package jobfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// said lists problems as users read them.
func said(problems []Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.In("p.hcl"))
	}
	return strings.Join(lines, "\n")
}

// TestForbiddenFields: all fields that belong to Detent are rejected together, with line and column.
func TestForbiddenFields(t *testing.T) {
	_, problems := Read([]byte(`job "x" {
  type   = "service"
  region = "eu"
  meta {
    det_cluster = "mine"
    team        = "a"
  }
  group "g" {
    count = 2
    restart { attempts = 3 }
    network {
      port "http" { to = 80 }
    }
    service { name = "web" }
    task "t" {
      driver = "docker"
      leader = true
      env = { NOMAD_TOKEN = "x", OMP_NUM_THREADS = "1" }
      config {
        image      = "alpine"
        entrypoint = ["sh"]
        privileged = true
        auth { username = "me" }
      }
      identity { file = true }
      vault { role = "x" }
      template { data = "x" }
      artifact { source = "http://x" }
      dynamic "template" {
        for_each = ["a"]
        content { data = "x" }
      }
      resources {
        cpu = 100
        device "nvidia/gpu" {}
      }
      lifecycle { hook = "prestart" }
      wrong = 1
    }
    task "second" { driver = "docker" }
  }
  group "other" {}
}
job "two" {}
provider "x" {}
`))
	for _, want := range []string{
		"p.hcl:2:3: job.type: cannot be set: each attempt is a batch job",
		"p.hcl:3:3: job.region: cannot be set",
		"p.hcl:5:5: job.meta.det_cluster: cannot be set: metadata that begins with det_",
		"p.hcl:9:5: job.group.count: cannot be set",
		"p.hcl:10:5: job.group.restart: cannot be set",
		"p.hcl:12:7: job.group.network.port: cannot be set",
		"p.hcl:14:5: job.group.service: cannot be set",
		"p.hcl:17:7: job.group.task.leader: cannot be set",
		"p.hcl:18:15: job.group.task.env.NOMAD_TOKEN: cannot be set",
		"p.hcl:20:9: job.group.task.config.image: cannot be set: experiments choose the image",
		"p.hcl:21:9: job.group.task.config.entrypoint: cannot be set",
		"p.hcl:23:9: job.group.task.config.auth: cannot be set",
		"p.hcl:25:7: job.group.task.identity: cannot be set",
		"p.hcl:26:7: job.group.task.vault: cannot be set",
		"p.hcl:27:7: job.group.task.template: cannot be set",
		"p.hcl:28:7: job.group.task.artifact: cannot be set",
		"p.hcl:29:7: job.group.task.template: cannot be set",
		"p.hcl:35:9: job.group.task.resources.device: cannot be set",
		"p.hcl:37:7: job.group.task.lifecycle: cannot be set",
		"p.hcl:38:7: job.group.task.wrong: cannot be set: the job of a pool has no such field",
		"p.hcl:40:5: job.group.task: the job of a pool has one task",
		"p.hcl:42:3: job.group: the job of a pool has one group",
		"p.hcl:44:1: job: a pool has one job",
		"p.hcl:45:1: provider: expected a block job",
	} {
		if !strings.Contains(said(problems)+"\n", want) {
			t.Errorf("no word of %q", want)
		}
	}
	for _, free := range []string{"privileged", "team", "OMP_NUM_THREADS", "cpu"} {
		if strings.Contains(said(problems), free) {
			t.Errorf("%s is refused", free)
		}
	}
	if t.Failed() {
		t.Log(said(problems))
	}
}

func TestFilesThatAreNoJob(t *testing.T) {
	for src, want := range map[string]string{
		"":                                  "p.hcl:1:1: job: is missing",
		"job \"x\" {":                       "p.hcl:1:",
		"job \"x\" {}":                      "job.group: is missing",
		`{"ID": 1`:                          "is no JSON",
		`{"TaskGroups": 1}`:                 "is no job of Nomad's",
		`{"ID": "x"}`:                       "one group with one task",
		"job \"x\" {\n group \"g\" {\n}\n}": "job.group.task: is missing",
		"job \"x\" {\n group \"g\" {\n task \"t\" {}\n}\n}":                                   "job.group.task.driver: expected one of raw_exec, exec, docker, podman",
		"job \"x\" {\n group \"g\" {\n task \"t\" {\n driver = var.x\n}\n}\n}":                "p.hcl:4:11: job.group.task.driver: expected the driver's name, in quotes",
		"job \"x\" {\n group \"g\" {\n task \"t\" {\n driver = \"qemu\"\n}\n}\n}":             "found \"qemu\"",
		"job \"x\" {\n type = \"batch\"\n group \"g\" {\n task \"t\" {\n driver = 5\n}\n}\n}": "expected the driver's name",
	} {
		if _, problems := Read([]byte(src)); !strings.Contains(said(problems), want) {
			t.Errorf("%q: %s, want %q", src, said(problems), want)
		}
	}
}

// asJSON is a job in the form of Nomad's API.
func asJSON(task string, more string) string {
	return fmt.Sprintf("{\n \"ID\": \"x\", \"Name\": \"x\", \"Type\": \"batch\", \"Stop\": false,\n%s \"TaskGroups\": [{\"Name\": \"g\", \"Tasks\": [{\"Name\": \"t\",\n%s\n}]}]}", more, task)
}

// TestJSON: the same list holds for JSON, with its lines.
func TestJSON(t *testing.T) {
	f, problems := Read([]byte(asJSON(`"Driver": "docker", "Config": {"network_mode": "host"}`, ` "Datacenters": ["a"], "Priority": 30,`)))
	if len(problems) > 0 || f.Driver != "docker" || *f.Job.Priority != 30 || f.Job.TaskGroups[0].Tasks[0].Config["network_mode"] != "host" {
		t.Fatalf("%s, %+v", said(problems), f)
	}
	wrapped := `{"Job": ` + f.Source + `}`
	if f, problems = Read([]byte(wrapped)); len(problems) > 0 || f.Job == nil || *f.Job.ID != "x" {
		t.Errorf("inside Job: %s", said(problems))
	}
	_, problems = Read([]byte(asJSON("\"Driver\": \"docker\", \"Config\": {\n\"image\": \"x\"},\n  \"Vault\": {\"Role\": \"x\"}, \"Services\": [{\"Name\": \"x\"}], \"Leader\": true, \"Resources\": {\"Devices\": [{\"Name\": \"gpu\"}]}",
		" \"Status\": \"running\", \"Meta\": {\"DET_x\": \"1\"},\n")))
	for _, want := range []string{
		"p.hcl:3:2: job.Status: cannot be set", "p.hcl:3:32: job.meta.DET_x: cannot be set", "job.group.task.config.image: cannot be set: experiments",
		"p.hcl:7:3: job.group.task.Vault: cannot be set: Detent adds", "job.group.task.Services: cannot be set", "job.group.task.Leader", "job.group.task.resources.Devices: cannot be set: which devices"} {
		if !strings.Contains(said(problems), want) {
			t.Errorf("no word of %q in\n%s", want, said(problems))
		}
	}
}

// TestNulls: null for lists and names is an error, which prevents only the start.
func TestNulls(t *testing.T) {
	for _, change := range []string{
		`"Driver": "exec", "Constraints": [null]}]`, `"Driver": "exec", "Affinities": [null]}]`, `"Driver": "exec", "VolumeMounts": [null]}]`,
		`"Driver": "exec", "Resources": {"Devices": [null]}}]`, `"Driver": "exec"}, null]`,
		`"Driver": "exec"}], "Networks": [null]`, `"Driver": "exec"}], "Volumes": {"a": null}`, `"Driver": "exec"}], "Spreads": [null]`,
	} {
		src := []byte(`{"ID": "x", "Type": "batch", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", ` + change + `}]}`)
		if _, problems := Read(src); len(problems) == 0 {
			t.Errorf("%s is accepted", change)
		}
		var j api.Job
		if err := json.Unmarshal(src, &j); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if len(Check(&j)) == 0 {
			t.Errorf("%s is accepted from Nomad", change)
		}
	}
}

// TestCheckShape: a parsed job must obey the limits of its driver.
func TestCheckShape(t *testing.T) {
	for change, want := range map[string]string{
		`"Driver": "raw_exec"}], "Volumes": {"a": {"Type": "host"}}, "X": [{"X":""`:                                 "raw_exec mounts no volumes",
		`"Driver": "exec"}], "Volumes": {"a": {"Type": "nfs"}}, "X": [{"X":""`:                                      "expected type host or csi",
		`"Driver": "exec", "VolumeMounts": [{"Volume": "a", "Destination": "/a"}]`:                                  `no volume "a"`,
		`"Driver": "exec", "VolumeMounts": [{"Volume": "a", "Destination": "a"}]`:                                   "begins with /",
		`"Driver": "raw_exec"}], "Networks": [{"Mode": "bridge"}], "X": [{"X":""`:                                   "network of their node",
		`"Driver": "exec"}], "Networks": [{"Mode": "fabric"}], "X": [{"X":""`:                                       "cni/<name>",
		`"Driver": "docker", "Config": {"network_mode": "host"}}], "Networks": [{"Mode": "bridge"}], "X": [{"X":""`: "set it in one place only",
		`"Driver": "exec", "Resources": {"CPU": 5, "Cores": 1}`:                                                     "not both",
		`"Driver": "exec", "Constraints": [{"LTarget": "${meta.x}", "Operand": "distinct_hosts"}]`:                  "cannot evaluate the operator",
		`"Driver": "exec", "Affinities": [{"LTarget": "${meta.x}", "Operand": "is_set"}]`:                           "no affinity",
	} {
		var job api.Job
		if err := json.Unmarshal([]byte(asJSON(change, "")), &job); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if got := said(Check(&job)); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", change, got, want)
		}
	}
	job := api.Job{TaskGroups: []*api.TaskGroup{{Tasks: []*api.Task{{Driver: "exec", Vault: &api.Vault{Role: "x"}}}}}}
	if got := said(Check(&job)); !strings.Contains(got, "p.hcl: job.group.task.Vault") {
		t.Errorf("what Nomad's parser added: %q", got)
	}
}

// TestExamples: the jobs that come with Detent set only what operators may set.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../nomad/pools/*.hcl")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, problems := Read(src); len(problems) > 0 {
			t.Errorf("%s: %s", f, said(problems))
		}
	}
}
