package storage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

const teamsConfig = `
cluster_name: teams
security: {authz: {type: rbac}}
checkpoint_storage: {type: s3, bucket: detent, endpoint_url: %q}
vault: {secrets: [{name: zebra-secret, path: secret/data/teams/vision/tracker, workspaces: [zebras]}, {name: own, path: secret/data/teams/ada, workspaces: [lions]}]}
resource_pools:
  - {name: jail, driver: %s, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
  - {name: open, driver: raw_exec, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
`

// The names of all things of the other team contain shownName, and their contents hiddenText.
const (
	shownName  = "zebra"
	hiddenText = "hush"
)

// A teamsRig has two teams on one cluster: rosa's works in the workspace zebras, mallory's in lions.
type teamsRig struct {
	*s3rig
	rosa, mallory *rig.Rig
	zebras, lions int
	project       int // of rosa's team
	experiment    int
	command       string
	port          int
	checkpoint    v1.Checkpoint
	objects       map[string]string // rosa's, by the first word of their paths
}

// TestTwoTeams: from inside a task of one team, with the token of its owner, the token of its attempt, its
// credentials, its identities and its network, nothing of the other team is read, listed, written, guessed by its number, or
// reached: each endpoint that names an object, each list, requests whose bodies name objects, the bucket, Vault, Nomad, Consul,
// the gateway of a task, and the files of the node.
func TestTwoTeams(t *testing.T) {
	turn.Second(t)
	t.Parallel()
	own, dir := rig.NewOwn(t, "two-teams")
	s := &s3rig{Rig: own, gate: newGate(t), driver: "raw_exec"}
	chroot := s.furnish(t, dir)
	s.StartCluster(t, dir, local.Options{Name: "two-teams", Vault: true, ConsulACL: true, STSEndpoint: s.gate.server.URL, Chroot: chroot,
		Master: local.Master{Config: fmt.Sprintf(teamsConfig, s.gate.server.URL, s.driver)}})
	s.gate.leadTo(t, s.S3().Endpoint)
	s.teamsInVault(t)
	r := &teamsRig{s3rig: s}
	r.twoTeams(t)
	r.rosasThings(t)
	before := r.whatRosaHas(t)

	files := program(t, "neighbour.py")
	text, err := json.Marshal(r.tries(t))
	if err != nil {
		t.Fatal(err)
	}
	files["tries.json"] = string(text)
	id := r.mallory.Submit(t, r.config("jail", "neighbour.py")+"workspace: lions\nproject: den\n", files)
	r.mallory.WaitState(t, id, v1.ExperimentStateCompleted)
	r.judge(t, r.mallory.Log(t, id))
	if after := r.whatRosaHas(t); after != before {
		t.Errorf("rosa's team had\n%s\nand has\n%s", before, after)
	}
	if code, page := r.Page(t, r.rosa.Client, fmt.Sprintf("/proxy/%s:%d/", r.command, r.port)); code != http.StatusOK || !strings.Contains(page, hiddenText) {
		t.Errorf("rosa's own page: %d %s", code, page)
	}
}

// twoTeams makes the teams.
func (r *teamsRig) twoTeams(t *testing.T) {
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	r.rosa, r.mallory = r.user(t, "rosa"), r.user(t, "mallory")
	for name, id := range map[string]*int{"zebras": &r.zebras, "lions": &r.lions} {
		resp, err := client.Send(t.Context(), admin, v1.CreateWorkspace, v1.PostWorkspaceRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		*id = resp.Workspace.ID
	}
	for _, args := range [][]string{{"-w", "zebras", "--username-to-assign", "rosa"}, {"-w", "lions", "--username-to-assign", "mallory"}} {
		if out, stderr, code := r.Run(t, []string{"DET_USER=admin"}, append([]string{"rbac", "assign-role", "WorkspaceAdmin"}, args...)...); code != 0 {
			t.Fatalf("%d %s%s", code, out, stderr)
		}
	}
	resp, err := client.Send(t.Context(), r.rosa.Client, v1.CreateProject, v1.PostProjectRequest{WorkspaceID: r.zebras, Name: "zebra-work", Description: new(hiddenText)}, r.zebras)
	if err != nil {
		t.Fatal(err)
	}
	r.project = resp.Project.ID
	if _, err := client.Send(t.Context(), r.mallory.Client, v1.CreateProject, v1.PostProjectRequest{WorkspaceID: r.lions, Name: "den"}, r.lions); err != nil {
		t.Fatal(err)
	}
}

// det runs a command as rosa, which must succeed.
func (r *teamsRig) det(t *testing.T, args ...string) string {
	t.Helper()
	out, stderr, code := r.Run(t, []string{"DET_USER=rosa"}, args...)
	if code != 0 {
		t.Fatalf("det %s: exit %d\n%s%s", strings.Join(args, " "), code, out, stderr)
	}
	return out
}

const keepsHidden = `
import http.server, sys
print("hush, a line of a log", flush=True)
class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hush, a page")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Pages).serve_forever()
`

// rosasThings makes one thing of each kind.
func (r *teamsRig) rosasThings(t *testing.T) {
	files := program(t, "owner.py")
	files["owner.py"] += "\n    print(\"hush, a line of a log\", flush=True)\n    import hashlib\n    print(\"SECRET\", hashlib.sha256(os.environ[\"TRACKER\"].encode()).hexdigest()[:16], oct(os.stat(os.environ[\"TRACKER_FILE\"]).st_mode & 0o777), flush=True)\n"
	// Its environment gets a section more.
	r.experiment = r.rosa.Submit(t, strings.Replace(r.config("jail", "owner.py", "HIDDEN=hush"), "environment: {", "environment: {secrets: [{name: zebra-secret, key: token, env: TRACKER}, {name: zebra-secret, key: account, env: TRACKER_FILE, file: account}], ", 1)+("workspace: zebras\nproject: zebra-work\ndescription: hush\nlabels: [zebra-label]\n"+
		"hyperparameters: {zebra_lr: 0.5}\n"), files)
	r.rosa.WaitState(t, r.experiment, v1.ExperimentStateCompleted)
	rig.Holds(t, "the log of rosa's experiment", r.rosa.Log(t, r.experiment), "SECRET "+digest(trackerToken)+" 0o400")
	r.checkpoint = r.rosa.OnlyCheckpoint(t, r.experiment)

	folder := t.TempDir()
	rig.Write(t, folder, "serve.py", keepsHidden)
	r.port = 20_000 + os.Getpid()%10_000
	config := rig.Write(t, t.TempDir(), "command.yaml", fmt.Sprintf("description: zebra-command\nresources: {resource_pool: jail, slots: 0}\nenvironment:\n  proxy_ports: [{proxy_port: %d}]\n  environment_variables: [\"PATH=%s:/usr/bin:/bin\"]\n", r.port, r.python))
	words := strings.Fields(r.det(t, "cmd", "run", "--detach", "-w", "zebras", "--config-file", config, "--context", folder, "python3", "serve.py", fmt.Sprint(r.port)))
	r.command = words[len(words)-1]
	rig.Eventually(t, "rosa's page is there", func() (bool, error) {
		code, body := r.Page(t, r.rosa.Client, fmt.Sprintf("/proxy/%s:%d/", r.command, r.port))
		return code == http.StatusOK && strings.Contains(body, hiddenText), fmt.Errorf("%d %s", code, body)
	})

	r.det(t, "model", "create", "zebra-model", "-w", "zebras", "--description", hiddenText)
	r.det(t, "model", "register-version", "zebra-model", r.checkpoint.UUID)
	r.det(t, "template", "create", "zebra-template", rig.Write(t, t.TempDir(), "t.yaml", "description: hush\n"), "-w", "zebras")
	r.det(t, "webhook", "create", "https://zebra.example/hush", "-w", "zebras", "--name", "zebra-hook", "--state", "ERROR")
	resp, err := client.Call(t.Context(), r.rosa.Client, v1.ListWebhooks)
	if err != nil || len(resp.Webhooks) != 1 {
		t.Fatalf("%d webhooks, %v", len(resp.Webhooks), err)
	}
	trial := r.rosa.Trial(t, r.experiment)
	task := trial.TaskID
	r.objects = map[string]string{"experiments": fmt.Sprint(r.experiment), "trials": fmt.Sprint(trial.ID), "runs": fmt.Sprint(trial.ID), "tasks": task, "allocations": task + ".1",
		"checkpoints": r.checkpoint.UUID, "models": "zebra-model", "templates": "zebra-template", "webhooks": fmt.Sprint(resp.Webhooks[0].ID), "workspaces": fmt.Sprint(r.zebras),
		"projects": fmt.Sprint(r.project), "commands": r.command, "config-policies": fmt.Sprint(r.zebras)}
}

// whatRosaHas is everything of rosa's team that another could have changed.
func (r *teamsRig) whatRosaHas(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{"experiments/" + r.objects["experiments"], "trials/" + r.objects["trials"], "checkpoints/" + r.checkpoint.UUID, "models/zebra-model/versions",
		"templates/zebra-template", "webhooks", "projects/" + r.objects["projects"], fmt.Sprintf("projects/%d/columns", r.project), "workspaces/" + r.objects["workspaces"], "commands/" + r.command,
		"experiments/" + r.objects["experiments"] + "/checkpoints", "trials/" + r.objects["trials"] + "/workloads", "tasks/" + r.objects["tasks"] + "/logs"} {
		status, body := r.Read(t, r.MasterURL+"/api/v1/"+path, map[string]string{"Authorization": "Bearer " + r.rosa.Client.Token()})
		fmt.Fprintf(&all, "%s: %d %s\n", path, status, body)
	}
	prefix, _ := prefixOf(t, r.rosa, r.experiment)
	fmt.Fprintln(&all, r.inBucket(t, prefix))
	return all.String()
}

// A try is a request to the master. Its name begins with what its answer may be.
type try struct {
	Name   string  `json:"name"`
	Method string  `json:"method"`
	Path   string  `json:"path"`
	Body   *string `json:"body,omitempty"`
}

type tries struct {
	Marks       []string `json:"marks"`
	Requests    []try    `json:"requests"`
	Prefix      string   `json:"prefix"`
	Vault       string   `json:"vault"`
	VaultReads  []string `json:"vault_reads"`
	Nomad       string   `json:"nomad"`
	NomadReads  []string `json:"nomad_reads"`
	Consul      string   `json:"consul"`
	ConsulReads []string `json:"consul_reads"`
	Gateway     string   `json:"gateway"`
	Files       []string `json:"files"`
}

// tries lists what mallory's program tries.
func (r *teamsRig) tries(t *testing.T) tries {
	prefix, _ := prefixOf(t, r.rosa, r.experiment)
	host, port := r.ServiceOf(t, r.command)
	job := "det-" + r.command + "-1"
	alloc := r.allocation(t, job)
	out := tries{Marks: []string{shownName, hiddenText}, Requests: slices.Concat(r.namedInPaths(t), r.namedElsewhere()), Prefix: prefix + "/" + r.checkpoint.UUID,
		Vault: r.Description.VaultURL, VaultReads: []string{"secret/data/teams/vision/tracker", "secret/metadata/teams?list=true", "aws/sts/" + job, "aws/roles/" + job, "sys/mounts"},
		Nomad: r.NomadURL, NomadReads: []string{"/v1/jobs", "/v1/job/" + job, "/v1/allocations", "/v1/allocation/" + alloc, "/v1/client/fs/cat/" + alloc + "?path=main/local/serve.py", "/v1/client/fs/logs/" + alloc + "?task=main&type=stdout&plain=true", "/v1/vars"},
		Consul: r.ConsulURL, ConsulReads: []string{"/v1/catalog/services", "/v1/catalog/service/" + job, "/v1/kv/?recurse", "/v1/health/service/" + job},
		Gateway: fmt.Sprintf("%s:%d", host, port)}
	if r.driver == "exec" { // under raw_exec files of all tasks on the node can be read
		state := r.Cluster.StateDir()
		out.Files = []string{filepath.Join(state, "alloc", alloc, "main", "local", "serve.py"), filepath.Join(state, "alloc", alloc, "alloc", "logs", "main.stdout.0"),
			filepath.Join(state, "alloc", alloc, "main", "secrets", "s3.json")}
	}
	return out
}

// namedInPaths are the endpoints of the table in master/api/testdata/access.txt: those that name an object in their path,
// with rosa's objects and also with other numbers, and the lists.
func (r *teamsRig) namedInPaths(t *testing.T) (list []try) {
	t.Helper()
	file, err := os.Open(filepath.Join(r.Root, "master", "api", "testdata", "access.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 12 || words[0] == "#" {
			continue
		}
		method, path, editor := words[0], words[1], words[4]
		full := "/api/v1" + path
		if rest, root := strings.CutPrefix(path, "//"); root {
			full = "/" + rest
		}
		filled, named, ok := r.fill(full)
		var body *string
		if method != http.MethodGet {
			body = new("{}")
		}
		switch {
		case !ok:
		case named && editor[1] != 'y':
			list = append(list, try{"hidden " + method + " " + path, method, filled, body})
		case !named && words[len(words)-1] == "list" && path != "//stream":
			list = append(list, try{"list " + method + " " + path, method, filled, body})
		}
	}
	for n := range 12 {
		for _, path := range []string{"experiments/%d", "trials/%d", "projects/%d", "workspaces/%d", "experiments/%d/checkpoints", "detent/webhooks/%d/deliveries", "models/%d"} {
			list = append(list, try{"guess " + path, http.MethodGet, "/api/v1/" + fmt.Sprintf(path, n+1), nil})
		}
	}
	if len(list) < 200 {
		t.Fatalf("only %d endpoints were found in the table", len(list))
	}
	return list
}

// fill puts rosa's objects into a path. named is false if the path names none, and ok is false if rosa has no such object.
func (r *teamsRig) fill(path string) (filled string, named, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	noun := ""
	for i, part := range parts {
		if part == "api" || part == "v1" || part == "detent" {
			continue
		}
		if noun == "" {
			noun = part
		}
		if !strings.HasPrefix(part, ":") && part != "*" {
			continue
		}
		known, special := map[string]string{":version": "1", ":delivery": "1", ":workload": "EXPERIMENT", ":rank": "0", ":external": "unknown", ":key": "UNCATEGORIZED", ":trial": "one", "*": "x", ":port": fmt.Sprint(r.port)}[part]
		object, has := r.objects[noun]
		switch {
		case special && named:
			parts[i] = known
		case has && !named:
			parts[i], named = object, true
		case named:
			parts[i] = "x"
		default:
			return "", false, false
		}
	}
	return "/" + strings.Join(parts, "/"), named, true
}

// namedElsewhere are requests whose bodies or queries name rosa's objects, and the pages of her task.
func (r *teamsRig) namedElsewhere() (list []try) {
	add := func(kind, method, path string, body any) {
		one := try{Name: kind + " " + method + " " + path, Method: method, Path: path}
		if !strings.HasPrefix(path, "/") {
			one.Path = "/api/v1/" + path
		}
		if body != nil {
			b, _ := json.Marshal(body)
			one.Body = new(string(b))
		}
		list = append(list, one)
	}
	type m = map[string]any
	trial := r.objects["trials"]
	submit := func(more string) m {
		return m{"config": "name: x\nentrypoint: 'true'\nsearcher: {name: single, metric: loss}\nresources: {resource_pool: jail}\n" + more, "activate": true}
	}
	add("refused", "POST", "experiments", submit("workspace: zebras\nproject: zebra-work\n"))
	add("refused", "POST", "experiments", submit("workspace: lions\nproject: den\nenvironment: {secrets: [{name: zebra-secret, key: token, env: T}]}\n"))
	add("refused", "POST", "experiments", submit(fmt.Sprintf("workspace: lions\nproject: den\nsearcher: {name: single, metric: loss, source_checkpoint_uuid: %s}\n", r.checkpoint.UUID)))
	add("refused", "POST", "experiments", m{"config": submit("workspace: lions\nproject: den\n")["config"], "template": "zebra-template"})
	add("refused", "POST", "experiments", m{"config": submit("workspace: lions\nproject: den\n")["config"], "parentId": r.experiment})
	add("refused", "POST", "experiments/continue", m{"id": r.experiment, "overrideConfig": ""})
	add("refused", "POST", "experiments/{{DET_EXPERIMENT_ID}}/move", m{"experimentId": 1, "destinationProjectId": r.project})
	add("refused", "POST", "commands", m{"config": m{"entrypoint": []string{"true"}}, "workspaceId": r.zebras})
	add("refused", "POST", "commands", m{"config": m{"entrypoint": []string{"true"}}, "workspaceId": r.lions, "templateName": "zebra-template"})
	add("refused", "POST", "tensorboards", m{"experimentIds": []int{r.experiment}, "workspaceId": r.lions})
	add("refused", "POST", "tensorboards", m{"trialIds": []string{trial}, "workspaceId": r.lions})
	add("refused", "POST", "models", m{"name": "of-mallory", "workspaceId": r.zebras})
	add("refused", "POST", "models", m{"name": "of-mallory", "workspaceName": "zebras"})
	add("refused", "POST", "generic-tasks", m{"config": "entrypoint: ['true']\n", "projectId": r.project})
	add("refused", "POST", "checkpoints", m{"uuid": r.checkpoint.UUID, "taskId": "{{DET_TASK_ID}}", "state": "STATE_COMPLETED", "resources": m{"weights": "1"}, "metadata": m{"steps_completed": 1}})
	add("refused", "POST", "checkpoints", m{"uuid": "11111111-2222-4333-8444-555555555555", "taskId": r.objects["tasks"], "state": "STATE_COMPLETED", "resources": m{}, "metadata": m{"steps_completed": 1}})
	add("refused", "PATCH", "checkpoints", m{"checkpoints": []m{{"uuid": r.checkpoint.UUID, "resources": m{"resources": m{}}}}})
	add("refused", "DELETE", "checkpoints", m{"checkpointUuids": []string{r.checkpoint.UUID}})
	add("refused", "POST", "checkpoints/rm", m{"checkpointUuids": []string{r.checkpoint.UUID}, "checkpointGlobs": []string{"*"}})
	add("refused", "POST", "trial-source-info", m{"trialSourceInfo": m{"trialId": trial, "checkpointUuid": r.checkpoint.UUID, "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}})
	add("refused", "POST", "webhooks/custom", m{"experimentId": r.experiment, "data": m{"title": "x", "description": "y", "level": "LOG_LEVEL_INFO"}})
	add("refused", "GET", "trials/time-series?trialIds="+trial+"&metricNames=loss&metricType=METRIC_TYPE_VALIDATION", nil)
	add("refused", "GET", "experiments/metrics-stream/metric-names?ids="+r.objects["experiments"], nil)
	add("refused", "GET", "trials/metrics/training_metrics?trialIds="+trial, nil)
	add("refused", "GET", fmt.Sprintf("/proxy/%s:%d/", r.command, r.port), nil)
	add("refused", "POST", fmt.Sprintf("/proxy/%s:%d/", r.command, r.port), m{})
	for _, verb := range []string{"pause", "activate", "kill", "cancel", "archive", "unarchive"} {
		add("bulk", "POST", fmt.Sprintf("projects/%d/experiments/%s", r.project, verb), m{"experimentIds": []int{r.experiment}, "projectId": r.project})
		add("bulk", "POST", "projects/0/experiments/"+verb, m{"experimentIds": []int{r.experiment}})
	}
	add("bulk", "DELETE", "projects/0/experiments/delete", m{"experimentIds": []int{r.experiment}})
	add("bulk", "PUT", "projects/0/experiments/retain_logs", m{"experimentIds": []int{r.experiment}, "numDays": 0})
	add("bulk", "POST", "projects/0/experiments/move", m{"experimentIds": []int{r.experiment}, "destinationProjectId": 1})
	for _, verb := range []string{"kill", "pause", "resume", "archive", "unarchive", "delete"} {
		add("bulk", "POST", "runs/"+verb, m{"runIds": []string{trial}, "projectId": 0})
	}
	add("bulk", "POST", "job-queues", m{"updates": []m{{"jobId": r.command, "priority": 1}}})
	return list
}

// judge checks each attempt, and that all were made.
func (r *teamsRig) judge(t *testing.T, log string) {
	t.Helper()
	if !strings.Contains(log, "ALL TRIED") {
		t.Fatalf("the program did not come to its end:\n%.4000s", log)
	}
	made := map[string]int{}
	for line := range strings.Lines(log) {
		_, text, found := strings.Cut(line, "TRIED {")
		if !found {
			continue
		}
		var a struct {
			Name, Text string
			Status     int
			Marks      []string
		}
		if err := json.Unmarshal([]byte("{"+text), &a); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(a.Name, "owner "), "attempt "), " ")
		made[kind]++
		if problem := wrongly(kind, a.Name, a.Status, a.Marks, a.Text); problem != "" {
			t.Errorf("%s: %s: %d %v %s", a.Name, problem, a.Status, a.Marks, a.Text)
		}
	}
	t.Logf("attempts: %v", made)
	for kind, least := range map[string]int{"hidden": 250, "list": 60, "guess": 160, "refused": 50, "bulk": 40, "vault": 10, "nomad": 14, "consul": 4, "gateway": 4, "s3": 8} {
		if made[kind] < least {
			t.Errorf("%d attempts of the kind %s, want at least %d", made[kind], kind, least)
		}
	}
}

// wrongly says what is wrong with the answer to an attempt; "" if nothing is.
func wrongly(kind, name string, status int, marks []string, text string) string {
	if slices.Contains(marks, hiddenText) {
		return "it read what is the other team's"
	}
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound
	switch kind {
	case "hidden":
		if !refused {
			return "want 404 or 403"
		}
	case "list", "guess":
		if slices.Contains(marks, shownName) {
			return "it shows a name of the other team's"
		}
		if status == 0 || status >= http.StatusInternalServerError {
			return "no answer"
		}
	case "refused":
		if !refused && status != http.StatusBadRequest && status != http.StatusConflict {
			return "want a rejection"
		}
	case "bulk":
		if status == http.StatusOK && !strings.Contains(text, "not found") && !strings.Contains(text, `"results":[]`) {
			return "it says nothing of an error"
		}
	case "s3":
		if own := strings.HasPrefix(name, "s3 own"); own != (status == http.StatusOK) || !own && status != http.StatusForbidden {
			return "want 403 for what is not its own"
		}
	case "nomad", "consul": // they answer with what a token may see
		if status == http.StatusOK && !slices.Contains([]string{"[]", "{}", "null", "Permission denied"}, strings.TrimSpace(text)) {
			return "want a rejection, or nothing"
		}
	default: // vault, gateway, file
		if status == http.StatusOK {
			return "want a rejection"
		}
	}
	return ""
}
