package clients

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

var rewrite = flag.Bool("rewrite", false, "record the transcripts in testdata/verbs anew")

// transcripts are what a user types into Determined's det, in this order, with recorded output.
var transcripts = []string{"users.txt", "workspaces.txt", "experiments.txt", "trials.txt", "models.txt", "tasks.txt", "cluster.txt", "deletions.txt"}

// transcriptsWithRoles need a master whose configuration has roles.
var transcriptsWithRoles = []string{"access.txt"}

// unrecorded are the groups of verbs that no transcript has, and why.
var unrecorded = map[string]string{
	"deploy aws":              "creates machines at Amazon that run Determined's own master",
	"deploy gcp":              "creates machines at Google that run Determined's own master",
	"deploy gke-experimental": "creates machines at Google that run Determined's own master",
	"deploy local":            "runs Determined's own images with Docker; the det deploy local of Detent is in the tests of nomad/local",
}

// recordingMaster is the configuration of the master that the transcripts use.
const recordingMaster = `
cluster_name: verbs
webhooks: {allow: [127.0.0.0/8]}
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 128}
  - {name: spare, node_pool: spare, driver: raw_exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 128}
`

// ofTasks are functions of the generated client for the token of a task: Determined's harness calls them there.
var ofTasks = []string{"get_AllocationPreemptionSignal", "get_AllocationRendezvousInfo", "post_AckAllocationPreemptionSignal",
	"post_AllocationAllGather", "post_AllocationPendingPreemptionSignal", "post_AllocationReady", "post_AllocationWaiting",
	"post_MarkAllocationResourcesDaemon", "post_NotifyContainerRunning", "post_PostAllocationAcceleratorData",
	"post_PostAllocationProxyAddress", "post_PostTrialRunnerMetadata", "post_ReportTrialSearcherEarlyExit",
	"post_ReportTrialSourceInfo", "post_PostTrialProfilerMetricsBatch", "put_IdleNotebook"}

// ofOtherTests are functions of the generated client that need more than this cluster.
var ofOtherTests = map[string]string{
	"get_GetTrialProfilerAvailableSeries": "TestRuns", "get_GetTrialProfilerMetrics": "TestRuns", // a trial that measures its node
	"post_TestWebhook": "TestEveryVerb", // a receiver
}

// TestVerbsOfDetermined: each verb of Determined's own det prints what is recorded in testdata/verbs, each public
// method of its SDK is called and its result checked, and so is each function of its generated client whose route
// exists here, on a cluster without other users.
func TestVerbsOfDetermined(t *testing.T) {
	r, dir := rig.NewOwn(t, "verbs")
	config := strings.Replace(recordingMaster, "%s", filepath.Join(dir, "checkpoints"), 1)
	o := local.Options{Name: "verbs", Master: local.Master{Config: config, Python: filepath.Join(rig.PythonOf(t, "tasks"), "python")}}
	o.Master.Env = map[string]string{"DETENT_LAUNCH_ERROR": "true"}
	r.StartCluster(t, dir, o)
	u := rig.Person{R: r, Python: rig.DeterminedPython(t), Home: t.TempDir()}
	used := recorded(t, u, transcripts)
	for _, script := range []string{"sdk.py", "calls.py"} {
		stdout, stderr, code := u.Run(t, "", u.Python, "-W", "ignore", filepath.Join(r.Root, "integration", "clients", "testdata", "verbs", script))
		if code != 0 {
			t.Errorf("%s: exit %d\n%s%s", script, code, stdout, stderr)
		}
		used = append(used, strings.Split(strings.TrimSpace(stdout), "\n")...)
	}

	o.StateDir, o.FreePorts = filepath.Join(dir, "cluster"), true
	o.Master.Binary, o.Master.Runner = filepath.Join(r.Bin, "det-master"), filepath.Join(r.Bin, "det-runner")
	o.Master.Config += "security: {authz: {type: rbac}}\n"
	again, err := local.Up(t.Context(), o, servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	r.Description = again.Describe(t.Context())
	used = append(used, recorded(t, u, transcriptsWithRoles)...)
	// TestListsOfTheirNames compares this list with the package.
	list, err := os.ReadFile("../../cli/internal/compat/testdata/verbs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		kind, verb, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if kind != "verb" {
			continue
		}
		group := strings.Join(strings.Fields(verb)[:min(2, len(strings.Fields(verb)))], " ")
		if why, ok := unrecorded[group]; slices.Contains(used, verb) == ok {
			t.Errorf("Determined's det %s needs either a transcript or a reason for none; the reason is %q", verb, why)
		}
	}
	checkCalls(t, used)
}

// checkCalls compares the calls with the functions of Determined's generated client whose routes exist here: the
// functions that our own generated client has too.
func checkCalls(t *testing.T, used []string) {
	t.Helper()
	ours, err := os.ReadFile("../../plugins/harness/determined/common/api/bindings.py")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	for _, m := range regexp.MustCompile(`(?m)^def ((?:get|post|put|patch|delete)_\w+)`).FindAllStringSubmatch(string(ours), -1) {
		if !slices.Contains(used, "there "+m[1]) {
			continue // a route that Determined does not have
		}
		n++
		if slices.Contains(used, m[1]) == (slices.Contains(ofTasks, m[1]) || ofOtherTests[m[1]] != "") {
			t.Errorf("bindings.%s: call it in testdata/verbs/calls.py, or give a reason not to; not both", m[1])
		}
	}
	if n < 240 {
		t.Errorf("only %d functions of Determined's client have routes here", n)
	}
}

// recorded runs transcripts and compares them with their records, or with -rewrite records them. It returns the
// verbs and the functions of the generated client that they use.
func recorded(t *testing.T, u rig.Person, names []string) []string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("testdata", "verbs"))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	args := append([]string{"BROWSER=true", u.Python, "-W", "ignore", filepath.Join(folder, "record.py"), folder, out}, names...)
	stdout, stderr, code := u.Run(t, "", "env", args...)
	if code != 0 {
		t.Fatalf("record.py: exit %d\n%s%s", code, stdout, stderr)
	}
	t.Log(stderr)
	for _, name := range names {
		now, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, name)
		if *rewrite {
			if err := os.WriteFile(path, now, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compareTranscripts(t, name, string(before), string(now))
	}
	return strings.Split(strings.TrimSpace(stdout), "\n")
}

// compareTranscripts reports the commands whose output has changed.
func compareTranscripts(t *testing.T, name, before, now string) {
	t.Helper()
	steps := func(text string) []string { return strings.Split("\n"+text, "\n$ ") }
	was, is := steps(before), steps(now)
	if len(was) != len(is) {
		t.Fatalf("%s: %d commands were recorded, %d ran", name, len(was)-1, len(is)-1)
	}
	for i := range is {
		if was[i] != is[i] {
			t.Errorf("%s: the output has changed; go test ./integration/clients -run TestVerbsOfDetermined -rewrite records it\nbefore: %s\nnow: %s", name, was[i], is[i])
		}
	}
}

// TestTranscriptsAreRecords: no transcript contains the output of a failed recording.
func TestTranscriptsAreRecords(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "verbs", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		names = append(names, filepath.Base(path))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"! never found", "! found no", "TimeoutError", "/root/", "= exit 70"} {
			if strings.Contains(string(text), wrong) {
				t.Errorf("%s contains %q", path, wrong)
			}
		}
	}
	want := slices.Sorted(slices.Values(slices.Concat(transcripts, transcriptsWithRoles)))
	if !slices.Equal(names, want) {
		t.Errorf("the transcripts are %v, the test runs %v", names, want)
	}
}
