package jobspecs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/pool"
)

var rewrite = flag.Bool("rewrite", false, "record the jobs in testdata anew")

const (
	clusterID = "6f3f0a4e-5f8e-4c5b-9d1e-2f7a3c1b0d9e"
	nodeA     = "11111111-1111-4111-8111-111111111111"
	nodeB     = "22222222-2222-4222-8222-222222222222"
	runnerSum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
)

// trial is a trial as the control loop would describe it.
func trial() jobspecs.Task {
	return jobspecs.Task{
		AllocationID: "12.4c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1", Run: 1,
		ClusterID: clusterID, ClusterName: "lab", Type: "TRIAL", ExperimentID: 12, TrialID: 34,
		TaskID: "12.4c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11", Title: "mnist", Owner: "alice",
		Links: []jobspecs.Link{
			{Label: "Experiment 12", URL: "http://master.example:8080/det/experiments/12"},
			{Label: "Trial 34", URL: "http://master.example:8080/det/experiments/12/trials/34"},
		},
		Pool:    pool.Pool{Name: "cpu", Driver: "raw_exec", Datacenters: []string{"dc1"}, NodePool: "default"},
		Members: []jobspecs.Member{{NodeID: nodeA, NodeName: "n1", SlotIDs: []int{0, 1}, MHz: 4000, MemoryMB: 2048}},
		Runner:  jobspecs.Runner{URL: "http://10.0.0.5:8080/runner/" + runnerSum + "/linux-amd64", SHA256: runnerSum},
		Masters: jobspecs.Masters{URLs: []string{"http://10.0.0.5:8080", "http://10.0.0.6:8080"}},
		Ports:   []string{"c10d", "ipc1", "ipc2"}, Services: jobspecs.ConsulServices,
	}
}

// cases are the tasks whose jobs are recorded. Each covers something that the others do not.
func cases() map[string]jobspecs.Task {
	gang := trial()
	gang.AllocationID, gang.Run = "12.4c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.3", 3
	gang.Pool.Driver = "exec"
	gang.Members = []jobspecs.Member{
		{NodeID: nodeA, NodeName: "n1", SlotIDs: []int{0, 1, 2, 3, 4, 5, 6, 7}, Cores: 16, MemoryMB: 65536},
		{NodeID: nodeB, NodeName: "n2", SlotIDs: []int{0, 1, 2, 3, 4, 5, 6, 7}, Cores: 16, MemoryMB: 65536},
	}
	gang.StopAfter, gang.KillTimeout, gang.DiskMB, gang.LogFiles, gang.LogFileMB = 30*time.Second, 20*time.Second, 4096, 5, 50
	gang.Masters.Service, gang.Masters.Scheme = "det-master", "https"
	gang.Masters.CA = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"

	command := trial()
	command.AllocationID, command.TaskID = "b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40.1", "b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40"
	command.Type, command.ExperimentID, command.TrialID, command.Title = "COMMAND", 0, 0, ""
	command.Members[0].SlotIDs, command.Members[0].MHz, command.Members[0].MemoryMB = nil, 0, 0
	command.Pool = pool.Pool{Name: "aux", Driver: "raw_exec", Namespace: "detent"}
	command.Runner = jobspecs.Runner{Path: "/opt/detent's/det-runner"}
	command.Services, command.Ports, command.Links = jobspecs.NomadServices, nil, nil
	command.Masters.Service = "det-master"

	notebook := command
	notebook.AllocationID, notebook.TaskID = "c2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f41.1", "c2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f41"
	notebook.Type, notebook.Title = "NOTEBOOK", "JupyterLab (calm-quick-otter)"
	notebook.Links = []jobspecs.Link{{Label: "Open it", URL: "http://master.example:8080/proxy/" + notebook.TaskID + "/"}}

	ingress := gang // of two members, of which users reach the first
	ingress.AllocationID = "12.4c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.4"
	ingress.Ingress = &jobspecs.Ingress{Host: "12-4c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.tasks.example.com", AuthURL: "http://det-master.service.consul:8080/ingress",
		Headers: []string{"Authorization", "Cookie", "X-Detent-Gateway"}, Entrypoints: []string{"websecure", "internal"}, TLS: true, CertResolver: "le", Transport: "det-tasks@file"}

	collect := command // removes files of an experiment
	collect.AllocationID, collect.TaskID = "12.d2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f42.1", "12.d2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f42"
	collect.Type, collect.ExperimentID, collect.Title = jobspecs.CheckpointGC, 12, "mnist"
	collect.Credentials = &jobspecs.Credentials{Role: "det-task", Engine: "aws"}

	hostile := trial()
	hostile.AllocationID = "12.5c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
	hostile.Title = "${env[\"NOMAD_TOKEN\"]} %{ if true } {{ key \"x\" }} [click](javascript:alert(1))\n# <script>alert(1)</script> `rm`\x00 ![](http://evil.example/x.png)"
	hostile.Owner = "bob*_](http://evil.example)${node.unique.name}"
	hostile.ClusterName = "lab\n\n## owned"
	hostile.Links = append(hostile.Links, jobspecs.Link{Label: "bad", URL: "javascript:alert(1)"}, jobspecs.Link{Label: "worse", URL: "http://user:password@example.com/"})
	hostile.Overlay = jobspecs.Overlay{
		Meta: map[string]string{"team": "vision", "det_cluster": "somebody else's"},
		Constraints: []pool.Comparison{
			{Attribute: "${attr.cpu.arch}", Operator: "=", Value: "amd64"},
			{Attribute: "${meta.rack}", Operator: "!=", Value: "r7"},
		},
	}

	long := trial()
	long.AllocationID = "12.6c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
	long.Title, long.Owner, long.ClusterName = strings.Repeat("very long name, ", 700), strings.Repeat("ö", 300), strings.Repeat("*", 500)
	vault := trial()
	vault.AllocationID = "21.7c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
	vault.Pool.Driver = "exec"
	vault.Credentials = &jobspecs.Credentials{Role: "det-task", Engine: "aws"}

	web := trial()
	web.AllocationID = "21.8c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
	web.Credentials = &jobspecs.Credentials{Audience: "sts.amazonaws.com"}
	clouds := trial()
	clouds.AllocationID = "21.9c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
	clouds.Credentials = &jobspecs.Credentials{Role: "det-task", GCSSecret: "secret/data/detent/gcs", AzureSecret: "secret/data/detent/azure"}
	mounting := trial() // its checkpoints are in S3, and its owner mounts secrets
	mounting.AllocationID = "21.9c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b12.1"
	mounting.Credentials = &jobspecs.Credentials{Role: "det-task", Engine: "aws"}
	mounting.Secrets = []jobspecs.Secret{{Name: "tracker", Path: "secret/data/teams/vision/tracker", Key: "token"}, {Name: "cloud", Path: "secret/data/teams/cloud", Key: "account.json"}}
	all := map[string]jobspecs.Task{"secrets": mounting, "vault": vault, "clouds": clouds, "web_identity": web, "trial": trial(), "gang": gang, "command": command, "notebook": notebook, "collect": collect, "ingress": ingress, "hostile": hostile, "long": long}
	maps.Copy(all, containers())
	all["devices"] = devices()
	return all
}

func names() []string {
	var all []string
	for name := range cases() {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// TestRender compares every job with its record: .json is the job as Nomad gets it, .hcl the same job
// for readers.
func TestRender(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			job, err := jobspecs.Render(cases()[name])
			if err != nil {
				t.Fatal(err)
			}
			text := indented(t, job)
			golden(t, name+".json", text)
			golden(t, name+".hcl", []byte(readable(t, text)))
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; if that is meant, run: go test ./jobspecs -rewrite\n%s", path, diff)
	}
}

// indented returns the job as JSON, without fields that are not set.
func indented(t *testing.T, job *api.Job) []byte {
	t.Helper()
	raw, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(withoutEmpty(v)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value = withoutEmpty(value); value == nil || value == "" {
				delete(v, key)
			} else {
				v[key] = value
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// readable writes JSON like HCL: blocks in braces, "name = value" in them.
func readable(t *testing.T, text []byte) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	writeBlock(&b, "", v)
	return b.String()
}

func writeBlock(b *strings.Builder, indent string, block map[string]any) {
	var keys []string
	for key := range block {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		switch v := block[key].(type) {
		case map[string]any:
			fmt.Fprintf(b, "%s%s {\n", indent, key)
			writeBlock(b, indent+"  ", v)
			fmt.Fprintf(b, "%s}\n", indent)
		case []any:
			if _, blocks := v[0].(map[string]any); !blocks {
				fmt.Fprintf(b, "%s%s = %s\n", indent, key, value(v))
				continue
			}
			for _, e := range v {
				fmt.Fprintf(b, "%s%s {\n", indent, key)
				writeBlock(b, indent+"  ", e.(map[string]any))
				fmt.Fprintf(b, "%s}\n", indent)
			}
		case string:
			if strings.Contains(v, "\n") {
				fmt.Fprintf(b, "%s%s = <<EOT\n%s\nEOT\n", indent, key, strings.TrimRight(v, "\n"))
				continue
			}
			fmt.Fprintf(b, "%s%s = %s\n", indent, key, value(v))
		case float64:
			if v >= 1e9 && v == float64(int64(v)) && key != "shm_size" {
				fmt.Fprintf(b, "%s%s = %q\n", indent, key, time.Duration(v).String())
				continue
			}
			fmt.Fprintf(b, "%s%s = %s\n", indent, key, value(v))
		default:
			fmt.Fprintf(b, "%s%s = %s\n", indent, key, value(v))
		}
	}
}

func value(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

// secretLike finds what looks like a credential: tokens by their known forms,
// and long runs of random characters.
var secretLike = []*regexp.Regexp{
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.`),                              // a JWT
	regexp.MustCompile(`\b(hv[sbr]|s|b)\.[A-Za-z0-9]{20,}`),                    // of Vault
	regexp.MustCompile(`\bAKIA[0-9A-Z]{16}\b|\bASIA[0-9A-Z]{16}\b`),            // of AWS
	regexp.MustCompile(`PRIVATE KEY`),                                          // of anything
	regexp.MustCompile(`(?i)(password|passwd|secret|token|api_?key)"?\s*[:=]`), // by name
	regexp.MustCompile(`://[^/\s"]+:[^/\s"@]+@`),                               // in an address
	regexp.MustCompile(`\$2[aby]\$\d\d\$`),                                     // a bcrypt hash
	regexp.MustCompile(`[A-Za-z0-9+/_-]{41,}`),                                 // at random, longer than a UUID
}

// TestNoSecretInAJob searches the records for secrets. Long values that are not secret are listed here.
func TestNoSecretInAJob(t *testing.T) {
	pairs := []string{runnerSum, "", "MIIBszCCAVmgAwIBAgIUQ2VydGlmaWNhdGU=", "",
		`"password": "${secret.registry.password}"`, ""} // where the password is, for the driver on the node
	for _, task := range cases() {
		pairs = append(pairs, jobspecs.JobID(task.AllocationID), "", task.TaskID, "")
	}
	public := strings.NewReplacer(pairs...)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(cases()) {
		t.Fatalf("%d records of %d jobs: %v", len(files), len(cases()), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range secretLike {
			if found := pattern.FindString(public.Replace(string(text))); found != "" {
				t.Errorf("%s holds %q, which looks like a secret (%s)", file, found, pattern)
			}
		}
	}
	for _, secret := range []string{"eyJhbGciOiJSUzI1NiJ9.e30.x", "hvs.CAESIAbcdefghijklmnopqrst", "AKIAIOSFODNN7EXAMPLE", `"password": "x"`, "http://u:p@h/", strings.Repeat("a1", 30)} {
		if !slices.ContainsFunc(secretLike, func(p *regexp.Regexp) bool { return p.MatchString(secret) }) {
			t.Errorf("the search does not find %q", secret)
		}
	}
}

// TestNothingTypedIsInterpolated: Nomad interpolates no text of a user.
func TestNothingTypedIsInterpolated(t *testing.T) {
	job, err := jobspecs.Render(cases()["hostile"])
	if err != nil {
		t.Fatal(err)
	}
	typed := []string{*job.Name, job.UI.Description}
	for _, value := range job.Meta {
		typed = append(typed, value)
	}
	for _, s := range typed {
		for _, bad := range []string{"${", "%{", "{{", "}}", "\x00"} {
			if strings.Contains(s, bad) {
				t.Errorf("%q is left in %q", bad, s)
			}
		}
	}
	if strings.Contains(job.UI.Description, "<script") || strings.Contains(job.UI.Description, "[click](") || strings.Contains(job.UI.Description, "![](") {
		t.Errorf("a user's text is Markdown in %q", job.UI.Description)
	}
	if strings.ContainsAny(*job.Name, "\n\r") || strings.Contains(job.UI.Description, "\n## ") {
		t.Errorf("a typed line break is left in %q or %q", *job.Name, job.UI.Description)
	}
	if job.Meta["det_cluster"] != clusterID || job.Meta["team"] != "vision" {
		t.Errorf("the overlay's metadata was applied as %v", job.Meta)
	}
	if len(job.UI.Links) != 2 {
		t.Errorf("links that a browser must not follow are among %d", len(job.UI.Links))
	}
}

func TestRenderRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*jobspecs.Task)
		says   string
	}{
		{"an id with capitals", func(k *jobspecs.Task) { k.AllocationID = "A.1" }, "lower case"},
		{"an id that is too long", func(k *jobspecs.Task) { k.AllocationID = strings.Repeat("a", 61) }, "Consul accepts 63"},
		{"no cluster", func(k *jobspecs.Task) { k.ClusterID = "" }, "cluster id"},
		{"no members", func(k *jobspecs.Task) { k.Members = nil }, "no members"},
		{"no node", func(k *jobspecs.Task) { k.Members[0].NodeID = "" }, "member 0"},
		{"the runner's own port", func(k *jobspecs.Task) { k.Ports = []string{"runner"} }, `"runner" is taken`},
		{"a port that no variable could name", func(k *jobspecs.Task) { k.Ports = []string{"a-b"} }, `"a-b"`},
		{"a driver", func(k *jobspecs.Task) { k.Pool.Driver = "qemu" }, "qemu"},
		{"a provider", func(k *jobspecs.Task) { k.Services = "dns" }, "dns"},
		{"no runner", func(k *jobspecs.Task) { k.Runner = jobspecs.Runner{} }, "det-runner"},
		{"a runner without its sum", func(k *jobspecs.Task) { k.Runner.SHA256 = "abc" }, "SHA-256"},
		{"no master", func(k *jobspecs.Task) { k.Masters = jobspecs.Masters{} }, "no master"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			task := trial()
			test.change(&task)
			_, err := jobspecs.Render(task)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error with %q", err, test.says)
			}
		})
	}
}

// TestTagsOfStrangeHosts: a text that is no host name gets no tags, so that it cannot change a rule of Traefik.
func TestTagsOfStrangeHosts(t *testing.T) {
	for host, want := range map[string]bool{"a-1.tasks.example.com": true, "a`) || PathPrefix(`/": false, "a.b ${x}": false, "A.b": false, "": false, "-a.b": false, "a..b": false, strings.Repeat("a", 64) + ".b": false} {
		k := trial()
		k.Ingress = &jobspecs.Ingress{Host: host}
		job, err := jobspecs.Render(k)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(job.TaskGroups[0].Services[0].Tags, "traefik.enable=true"); got != want {
			t.Errorf("%q: tags %v, want %v", host, got, want)
		}
	}
}

func TestRankOf(t *testing.T) {
	for _, rank := range []int{0, 7, 123} {
		if got, ok := jobspecs.RankOf(jobspecs.GroupName(rank)); !ok || got != rank {
			t.Errorf("rank %d is read as %d, %v", rank, got, ok)
		}
	}
	for _, group := range []string{"", "rank", "rank-", "rank--1", "rank-01", "rank-1x", "web"} {
		if rank, ok := jobspecs.RankOf(group); ok {
			t.Errorf("%q is read as rank %d", group, rank)
		}
	}
}

// expectedWarning is Nomad's only warning about each job, once for each member.
var expectedWarning = regexp.MustCompile(`^\d+ warnings?:\n\n(\* Group "rank-\d+" has warnings: 1 error occurred:\n\t\* Task "main" has warnings: 1 error occurred:\n\t` +
	`\* 1 error occurred:\n\t\* Identity\[det\] using env=true without change_mode="restart" may result in task not getting updated identity\n*)+$`)

// noObjections tests that Nomad accepts a job. Its only warning says that nobody gets a renewed identity; the runner uses it once, at the start.
func noObjections(t *testing.T, answer *api.JobValidateResponse) {
	t.Helper()
	warnings := expectedWarning.ReplaceAllString(answer.Warnings, "")
	if !answer.DriverConfigValidated || answer.Error != "" || len(answer.ValidationErrors) > 0 || warnings != "" {
		t.Errorf("Nomad's errors are %q %q, the warnings %q (drivers checked: %v)", answer.Error, answer.ValidationErrors, warnings, answer.DriverConfigValidated)
	}
}

// TestNomadAcceptsEveryJob sends the records to a real Nomad.
func TestNomadAcceptsEveryJob(t *testing.T) {
	agent := nomadtest.Start(t, nomadtest.Options{Vault: true})
	if _, err := agent.API.Namespaces().Register(&api.Namespace{Name: "detent"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var job api.Job
			if err := json.Unmarshal(text, &job); err != nil {
				t.Fatal(err)
			}
			answer, _, err := agent.API.Jobs().Validate(&job, nil)
			if err != nil {
				t.Fatal(err)
			}
			noObjections(t, answer)
			// Registering checks what validating does not: the namespace, the node pool.
			if _, _, err := agent.API.Jobs().EnforceRegister(&job, 0, nil); err != nil {
				t.Error(err)
			}
		})
	}
	nomadTakesExamples(t, agent)
	wrong := api.NewBatchJob("det-wrong", "wrong", "global", 50)
	answer, _, err := agent.API.Jobs().Validate(wrong, nil)
	if err == nil && len(answer.ValidationErrors) == 0 {
		t.Error("this Nomad accepts a job without groups, so its word proves nothing")
	}
}
