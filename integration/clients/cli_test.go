package clients

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// A typist is somebody at our command line, signed in for as long as the test
// runs. It remembers which verbs were used.
type typist struct {
	r    *rig.Rig
	home string
	used map[string]bool
}

// det runs a command that must succeed, and returns what it printed.
func (w *typist) det(t testing.TB, args ...string) string {
	t.Helper()
	stdout, stderr, code := w.try(t, "", args...)
	if code != 0 {
		t.Fatalf("det %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// try runs a command with an input.
func (w *typist) try(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(w.r.Bin, "det"), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "DET_MASTER=" + w.r.MasterURL, "HOME=" + w.home}
	cmd.Dir, cmd.Stdin = w.home, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("det %s: %v", strings.Join(args, " "), err)
	}
	words := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	for n := 1; n <= min(3, len(words)); n++ {
		w.used[strings.Join(words[:n], " ")] = true
	}
	if strings.Contains(out.String(), "\x1b[") {
		t.Errorf("det %s: colours without a terminal", strings.Join(args, " "))
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// rows reads what a command prints with --json as a list.
func (w *typist) rows(t testing.TB, args ...string) []map[string]any {
	t.Helper()
	var list []map[string]any
	out := w.det(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("det %s --json: %v\n%s", strings.Join(args, " "), err, out)
	}
	return list
}

// TestEveryVerb uses each verb that docs/cli.md names, on a real master.
func TestEveryVerb(t *testing.T) {
	r := rig.Start(t)
	w := &typist{r: r, home: t.TempDir(), used: map[string]bool{}}
	t.Run("users", func(t *testing.T) { w.users(t) })
	var id string
	t.Run("create", func(t *testing.T) { id = w.create(t) })
	t.Run("read", func(t *testing.T) { w.read(t, id) })
	t.Run("branch", func(t *testing.T) { w.branch(t, id) })
	t.Run("templates", func(t *testing.T) { w.templates(t) })
	t.Run("checkpoints", func(t *testing.T) { w.checkpoints(t, id) })
	t.Run("interactive", func(t *testing.T) { w.interactive(t, id) })
	w.det(t, "experiment", "delete-tb-files", id)
	t.Run("change", func(t *testing.T) { w.change(t, id) })
	t.Run("steer", func(t *testing.T) { w.steer(t) })
	t.Run("commands", func(t *testing.T) { w.commands(t) })
	t.Run("cluster", func(t *testing.T) { w.cluster(t) })
	t.Run("webhooks", func(t *testing.T) { w.webhooks(t) })
	t.Run("audit", func(t *testing.T) { w.audit(t) })
	t.Run("workspaces", func(t *testing.T) { w.workspaces(t) })
	t.Run("tokens", func(t *testing.T) { w.tokens(t) })
	t.Run("imports", func(t *testing.T) { w.imports(t) })
	for _, verb := range documentedVerbs(t) {
		if !w.used[verb] && !slices.Contains(elsewhere, verb) {
			t.Errorf("docs/cli.md names det %s, which is not used here", verb)
		}
	}
}

// elsewhere lists verbs that other tests use: verbs that would break the shared cluster (the demo
// and the tests of nomad/local use them); verbs that need more than a start (TestNotebook,
// TestShell and TestTensorboard open tasks, TestPortsOfACommand uses tunnels) or a pool of
// containers (TestTasksInContainers links an account); verbs of TestTutorial; verbs of models,
// accounting, bindings, reservations, config policies, quotas and roles, which scripts in cli/testdata use; and the
// sign-in with a provider (TestSignInOfTools), and the list of secrets (TestSecretsOfUsers).
var elsewhere = []string{"deploy local cluster-up", "deploy local cluster-down", "deploy local reset", "deploy local nomad-ui",
	"notebook address", "notebook open", "shell open", "tensorboard open", "task tunnel", "user link-with-agent-user", "preview-search",
	"model list", "model create", "model register-version", "model describe", "model list-versions", "model edit", "model edit-version",
	"model move", "model archive", "model unarchive", "model delete", "model delete-version", "model export",
	"resources allocations", "resources raw", "resources aggregated", "resources disk",
	"workspace list-pools", "resource-pool bindings add", "resource-pool bindings remove", "resource-pool bindings replace",
	"resource-pool bindings list-workspaces", "resource-pool reserve", "resource-pool reservations", "resource-pool unreserve", "config-policies describe", "config-policies set", "config-policies delete",
	"rbac list-roles", "rbac describe-role", "rbac my-permissions", "rbac list-users-roles", "rbac list-groups-roles", "rbac assign-role", "rbac unassign-role", "rbac preview",
	"user-group list", "user-group describe", "user-group create", "user-group delete", "user-group add-user", "user-group remove-user", "user-group change-name",
	"quota list", "quota set", "quota unset",
	"workspace list-members", "auth login", "auth list-providers", "auth sessions list", "auth sessions end", "secret list"}

// documentedVerbs reads the table of nouns and verbs.
func documentedVerbs(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| noun | verbs |")
	table, _, _ = strings.Cut(table, "\n\n")
	var all []string
	code := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || strings.Contains(line, "---") {
			continue
		}
		var nouns []string
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			if len(m[1]) > 3 { // an alias is short
				nouns = append(nouns, m[1])
			}
		}
		verbs := strings.Fields(strings.ReplaceAll(cells[2], "`", ""))
		for _, noun := range nouns {
			if len(verbs) == 0 {
				all = append(all, noun)
			}
			for _, verb := range verbs {
				all = append(all, noun+" "+verb)
			}
		}
	}
	if len(all) < 60 {
		t.Fatalf("docs/cli.md names only %q", all)
	}
	return all
}

// users: an admin makes ida, who signs in here.
func (w *typist) users(t *testing.T) {
	admin := &typist{r: w.r, home: t.TempDir(), used: w.used}
	if _, stderr, code := admin.try(t, "\n", "user", "login", "admin"); code != 0 {
		t.Fatalf("login: exit %d\n%s", code, stderr)
	}
	admin.det(t, "user", "create", "ida", "--password", "Xyzzy-ida-1")
	admin.det(t, "user", "edit", "ida", "--display-name", "Ida Rhodes")
	admin.det(t, "user", "rename", "ida", "ida2")
	admin.det(t, "user", "rename", "ida2", "ida")
	admin.det(t, "user", "deactivate", "ida")
	if _, stderr, code := w.try(t, "Xyzzy-ida-1\n", "user", "login", "ida"); code != 4 {
		t.Errorf("deactivated, ida signs in: exit %d\n%s", code, stderr)
	}
	admin.det(t, "user", "activate", "ida")
	admin.det(t, "master", "cluster-message", "set", "--message", "back at noon")
	rig.Holds(t, "master cluster-message", admin.det(t, "master", "cluster-message", "get"), "back at noon")
	admin.det(t, "master", "cluster-message", "clear")
	rig.Holds(t, "task cleanup-logs", admin.det(t, "task", "cleanup-logs"), "rows of log entries")
	if _, stderr, code := w.try(t, "Xyzzy-ida-1\n", "user", "login", "ida"); code != 0 {
		t.Fatalf("login: exit %d\n%s", code, stderr)
	}
	rig.Holds(t, "user list", w.det(t, "user", "list"), "ida", "Ida Rhodes", "determined", "admin")
	rig.Holds(t, "whoami", w.det(t, "user", "whoami"), "ida")
	if _, stderr, code := w.try(t, "Xyzzy-ida-0\nXyzzy-ida-2\nXyzzy-ida-2\n", "user", "change-password"); code == 0 || !strings.Contains(stderr, "not the password") {
		t.Errorf("change-password with another old one: exit %d\n%s", code, stderr)
	}
	if _, stderr, code := w.try(t, "Xyzzy-ida-1\nXyzzy-ida-2\nXyzzy-ida-2\n", "user", "change-password"); code != 0 {
		t.Errorf("change-password: exit %d\n%s", code, stderr)
	}
	rig.Holds(t, "whoami after a new password", w.det(t, "user", "whoami"), "ida")
	rig.Holds(t, "auth-token", w.det(t, "dev", "auth-token"), ".")
	admin.det(t, "master", "config", "set", "--log.level", "DEBUG")
	rig.Holds(t, "master config", admin.det(t, "master", "config", "show"), "level: debug")
	admin.det(t, "master", "config", "set", "--log.level", "INFO")
	admin.det(t, "master", "trust-nomad")
	rig.Holds(t, "master orphans", admin.det(t, "master", "orphans"), "Nomad Job", "Allocation ID", "First Seen", "Stopped At")
	rig.Holds(t, "master orphans --json", admin.det(t, "master", "orphans", "--json"), `"orphans"`)
	if _, _, code := w.try(t, "", "master", "orphans"); code == 0 {
		t.Error("ida, who is no admin, sees orphans")
	}
	rig.Eventually(t, "agent disable, with what other tests have left there at its end", func() (bool, error) {
		out := admin.det(t, "agent", "disable", "integration", "--drain")
		return strings.Contains(out, "No tasks in progress"), errors.New(out)
	})
	admin.det(t, "agent", "enable", "integration")
	rig.Holds(t, "slot disable", admin.det(t, "slot", "disable", "integration", "1"), "Disabled slot 1 of agent integration")
	rig.Holds(t, "slot enable", admin.det(t, "slot", "enable", "integration", "1"), "Enabled slot 1 of agent integration")
	admin.det(t, "user", "logout")
	if _, _, code := admin.try(t, "", "-u", "admin", "master", "config"); code == 0 {
		t.Error("signed out, admin is still signed in")
	}
}

// curve is a training whose curve is worth drawing.
const curve = `
from determined import core
with core.init() as ctx:
    for step in range(1, 21):
        ctx.train.report_training_metrics(step, {"loss": 1.0 / step, "accuracy": step / 20})
        if step % 5 == 0:
            ctx.train.report_validation_metrics(step, {"loss": 1.0 / step + abs(step - 15) / 100})
            with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "deep").mkdir()
                (path / "deep" / "weights").write_text("weights of %d" % step)
    print("trained")
`

func (w *typist) create(t *testing.T) string {
	rig.Write(t, w.home, "code/train.py", curve)
	rig.Write(t, w.home, "code/.detignore", "secret\n")
	rig.Write(t, w.home, "code/secret", "not sent")
	rig.Write(t, w.home, "more/notes.txt", "sent too")
	rig.Write(t, w.home, "curve.yaml", "# kept as it is\n"+strings.TrimSpace(rig.Config("labels: [drawn]"))+"\n")
	out := w.det(t, "experiment", "create", "curve.yaml", "code", "-i", "more", "-f", "--config", "name=drawn")
	rig.Holds(t, "create", out, "Created experiment", "Following first trial", "trained", "Trial log stream ended")
	id := strconv.Itoa(rig.First(t, `Created experiment (\d+)`, out))
	w.det(t, "experiment", "wait", id)
	rig.Holds(t, "create --test", w.det(t, "experiment", "create", "curve.yaml", "code", "--test"), "Experiment configuration validation succeeded!", "Created test experiment")
	return id
}

func (w *typist) read(t *testing.T, id string) {
	rig.Holds(t, "list", w.det(t, "experiment", "list"), "   ID | Owner", "drawn", "COMPLETED", "100.0%")
	if w.det(t, "e") != w.det(t, "experiment", "list") {
		t.Error("det e is not det experiment list")
	}
	rig.Holds(t, "describe", w.det(t, "experiment", "describe", id, "--metrics"), "Experiment ID", "drawn", "Validation Metric: loss", "Training Metric: accuracy")
	rig.Holds(t, "config", w.det(t, "experiment", "config", id), "entrypoint: python3 train.py", "name: drawn")
	rig.Holds(t, "list-trials", w.det(t, "experiment", "list-trials", id), "Trial ID", "COMPLETED", "20")
	rig.Holds(t, "logs", w.det(t, "experiment", "logs", id, "--tail", "2"), "trained", "exit code 0")
	chart := w.det(t, "experiment", "plot", id, "--all")
	rig.Holds(t, "plot", chart, "drawn  COMPLETED", "training loss", "validation loss", "training accuracy", "best", "batches")
	for line := range strings.Lines(chart) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
			t.Errorf("a line of the chart has %d columns", n)
		}
	}
	var points struct {
		Series []struct {
			Metric string
			Points []any
		}
	}
	if out := w.det(t, "experiment", "plot", id, "--json"); json.Unmarshal([]byte(out), &points) != nil {
		t.Errorf("plot --json: %s", out)
	}
	trial := fmt.Sprint(w.rows(t, "experiment", "list-trials", id)[0]["id"])
	rig.Holds(t, "trial list", w.det(t, "trial", "list", id), "Trial ID", "COMPLETED")
	w.find(t, id, trial)
	rig.Holds(t, "trial describe", w.det(t, "trial", "describe", trial), "# of Batches", "COMPLETED")
	rig.Holds(t, "trial logs", w.det(t, "trial", "logs", trial, "--head", "1", "--source", "task"), "trained")
	task := w.rows(t, "experiment", "list-trials", id)[0]["taskId"].(string)
	rig.Holds(t, "task logs", w.det(t, "task", "logs", task), "trained")
	w.det(t, "trial", "set", "log-retention", trial, "--days", "30")
	rig.Holds(t, "trial describe", w.det(t, "trial", "describe", trial, "--json"), `"logRetentionDays": 30`)
	w.det(t, "experiment", "download-model-def", id)
	files := unpacked(t, filepath.Join(w.home, "experiment_"+id+"_model_def.tgz"))
	if files["train.py"] != curve || files["more/notes.txt"] != "sent too" || files["secret"] != "" {
		t.Errorf("the code came back as %v", files)
	}
}

// find finds the same experiment by each of its fields.
func (w *typist) find(t *testing.T, id, trial string) {
	for _, question := range []string{"label = drawn and validation.loss < 0.3", "hp.lr is empty and name ~ DRAW and not state = error", "owner = ida and training.accuracy.max >= 1 and started > -1d"} {
		rig.Holds(t, question, w.det(t, "experiment", "search", question, "--csv"), "\n"+id+",ida,drawn,COMPLETED")
	}
	flags := []string{"--where", "validation.loss.min > 0", "--label", "drawn", "--state", "completed", "--owner", "ida", "--name", "draw", "--project", "Uncategorized/Uncategorized", "--sort", "validation.loss:desc"}
	if list := w.rows(t, append([]string{"experiment", "list"}, flags...)...); len(list) != 1 || fmt.Sprint(list[0]["id"]) != id {
		t.Errorf("list by everything: %v", list)
	}
	if list := w.rows(t, "experiment", "list", "--label", "nobody's"); len(list) != 0 {
		t.Errorf("list by another label: %v", list)
	}
	bundle := strings.TrimSpace(strings.TrimPrefix(w.det(t, "trial", "support-bundle", trial), "bundle path: "))
	whole := ""
	for name, text := range unpacked(t, bundle) {
		whole += filepath.Base(name) + "\n" + text
	}
	rig.Holds(t, "the support bundle", whole, "trial_logs.txt", "trained", "master_logs.txt", "api_experiment_call.json", "api_trial_call.json", "workloads.json", "tasks.json", "exit code 0")
}

// branch goes on from the first event of an experiment.
func (w *typist) branch(t *testing.T, id string) {
	rig.Holds(t, "events", w.det(t, "experiment", "events", id), "trial 0 begins", "ended: completed")
	out := w.det(t, "experiment", "branch", id, "--at", "1", "--paused")
	rig.Holds(t, "branch", out, "a branch of experiment "+id+" at event 1")
	branch := strconv.Itoa(rig.First(t, `Created experiment (\d+)`, out))
	rig.Holds(t, "describe", w.det(t, "experiment", "describe", id), "Branches of experiment "+id+": "+branch+" (at event 1).")
	rig.Holds(t, "describe the branch", w.det(t, "experiment", "describe", branch), "is a branch of experiment "+id+", at its event 1.")
	w.det(t, "experiment", "kill", branch)
}

// templates: a configuration that others are laid over, from its making to its end.
func (w *typist) templates(t *testing.T) {
	rig.Write(t, w.home, "base.yaml", "# for all of us\nlabels: [based]\nmax_restarts: 1\n")
	rig.Write(t, w.home, "broken.yaml", "labels: [based]\nmax_restart: 1\n")
	rig.Holds(t, "create", w.det(t, "template", "create", "base", "base.yaml", "-w", "Uncategorized"), "Created template base")
	rig.Holds(t, "set", w.det(t, "template", "set", "base", "base.yaml"), "Set template base")
	if _, stderr, code := w.try(t, "", "template", "set", "base", "broken.yaml"); code != 1 || !strings.Contains(stderr, "broken.yaml:2:1: max_restart: unknown field; did you mean max_restarts?") {
		t.Errorf("a broken one: exit %d, %s", code, stderr)
	}
	if got := w.det(t, "template", "describe", "base"); got != "# for all of us\nlabels: [based]\nmax_restarts: 1\n" {
		t.Errorf("the template is not as it was written: %q", got)
	}
	rig.Holds(t, "list", w.det(t, "template", "list", "-d"), "base", "Uncategorized", "max_restarts: 1")
	out := w.det(t, "experiment", "create", "curve.yaml", "code", "--paused", "--template", "base")
	id := strconv.Itoa(rig.First(t, `Created experiment (\d+)`, out))
	rig.Holds(t, "the experiment", w.det(t, "experiment", "config", id), "- based", "- drawn")
	rig.Holds(t, "by its template", w.det(t, "experiment", "search", "template = base", "--csv"), "\n"+id+",")
	rig.Holds(t, "over it", w.det(t, "experiment", "create", "curve.yaml", "code", "--test", "--template", "base"), "Model definition test succeeded!")
	w.det(t, "experiment", "kill", id)
	w.det(t, "template", "set-value", "config", "base", "base.yaml")
	w.det(t, "template", "set-value", "name", "base", "basis")
	if _, _, code := w.try(t, "", "template", "describe", "base"); code != 5 {
		t.Errorf("under its old name: exit %d", code)
	}
	rig.Holds(t, "remove", w.det(t, "template", "remove", "basis"), "Removed template basis")
}

// unpacked reads an archive of files.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(b)
	}
}

func (w *typist) checkpoints(t *testing.T, id string) {
	best := w.rows(t, "experiment", "list-checkpoints", id, "--best", "1")[0]["uuid"].(string)
	if all := w.rows(t, "checkpoint", "list", id); len(all) != 4 {
		t.Errorf("%d checkpoints, 4 were stored", len(all))
	}
	rig.Holds(t, "describe", w.det(t, "checkpoint", "describe", best), best, `"steps_completed": 15`)
	same := func(dir string) {
		t.Helper()
		if b, err := os.ReadFile(filepath.Join(w.home, dir, "deep", "weights")); err != nil || string(b) != "weights of 15" {
			t.Errorf("%s holds %q: %v", dir, b, err)
		}
	}
	for _, mode := range []string{"auto", "direct", "master"} {
		out := w.det(t, "checkpoint", "download", best, "--mode", mode, "-q", "-o", "by-"+mode)
		if strings.TrimSpace(out) != "by-"+mode && strings.TrimSpace(out) != filepath.Join(w.home, "by-"+mode) {
			t.Errorf("download -q printed %q", out)
		}
		same("by-" + mode)
	}
	trial := fmt.Sprint(w.rows(t, "experiment", "list-trials", id)[0]["id"])
	w.det(t, "trial", "download", trial, "--best", "-o", "of-trial")
	same("of-trial")
	w.det(t, "experiment", "download", id, "--top-n", "2", "-o", "of-experiment")
	same(filepath.Join("of-experiment", best))
	w.det(t, "trial", "download", trial, "--latest", "-o", "latest")
	if b, err := os.ReadFile(filepath.Join(w.home, "latest", "deep", "weights")); err != nil || string(b) != "weights of 20" {
		t.Errorf("the latest checkpoint holds %q: %v", b, err)
	}
	w.removals(t, id, best)
}

// removals: a user removes checkpoints that the policy keeps, file by file and whole, and by
// another policy.
func (w *typist) removals(t *testing.T, id, best string) {
	latest := ""
	for _, k := range w.rows(t, "checkpoint", "list", id) {
		if uuid := k["uuid"].(string); uuid != best && k["state"] == "STATE_COMPLETED" {
			latest = uuid
		}
	}
	is := func(uuid, state string) {
		t.Helper()
		rig.Eventually(t, uuid+" becomes "+state, func() (bool, error) {
			k, err := w.r.Client.Checkpoint(t.Context(), uuid)
			if err != nil {
				return false, err
			}
			return string(k.State) == state, fmt.Errorf("the checkpoint is %s", k.State)
		})
	}
	rig.Holds(t, "rm", w.det(t, "checkpoint", "rm", latest, "--glob", "deep", "--yes"), "is in progress")
	is(latest, "STATE_PARTIALLY_DELETED")
	w.det(t, "checkpoint", "delete", latest, "--yes")
	is(latest, "STATE_DELETED")
	rig.Holds(t, "set gc-policy", w.det(t, "experiment", "set", "gc-policy", id, "--save-experiment-best", "0", "--save-trial-best", "0", "--save-trial-latest", "0", "--yes"),
		"Set GC policy of experiment "+id)
	is(best, "STATE_DELETED")
}

func (w *typist) change(t *testing.T, id string) {
	w.det(t, "experiment", "label", "add", id, "seen")
	w.det(t, "experiment", "label", "remove", id, "drawn")
	w.det(t, "experiment", "set", "name", id, "a better name")
	w.det(t, "experiment", "set", "description", id, "with a reason")
	w.det(t, "workspace", "create", "vision")
	w.det(t, "project", "create", "vision", "digits", "--description", "ten of them")
	w.det(t, "experiment", "move", id, "vision", "digits")
	rig.Holds(t, "workspace list", w.det(t, "workspace", "list"), "vision", "Uncategorized")
	rig.Holds(t, "workspace describe", w.det(t, "workspace", "describe", "vision"), "vision")
	rig.Holds(t, "workspace list-projects", w.det(t, "workspace", "list-projects", "vision"), "digits")
	rig.Holds(t, "project list", w.det(t, "project", "list", "vision"), "digits", "ten of them")
	rig.Holds(t, "project describe", w.det(t, "project", "describe", "vision", "digits"), "digits")
	rig.Holds(t, "project list-experiments", w.det(t, "project", "list-experiments", "vision", "digits"), "a better name")
	rig.Holds(t, "describe", w.det(t, "experiment", "describe", id), "a better name", "with a reason", "seen")
	w.det(t, "experiment", "archive", id)
	if strings.Contains(w.det(t, "experiment", "list"), "a better name") {
		t.Error("archived, it is in the list")
	}
	rig.Holds(t, "list -a", w.det(t, "experiment", "list", "-a"), "a better name")
	w.det(t, "experiment", "unarchive", id)
	w.det(t, "experiment", "delete", id, "--yes")
	rig.Eventually(t, "it is gone", func() (bool, error) {
		_, stderr, code := w.try(t, "", "experiment", "describe", id)
		return code == 5, errors.New(stderr)
	})
}

func (w *typist) steer(t *testing.T) {
	rig.Write(t, w.home, "long/train.py", rig.Pausable)
	rig.Write(t, w.home, "long.yaml", rig.Config(""))
	out := w.det(t, "experiment", "create", "long.yaml", "long", "--paused")
	id := rig.First(t, `Created experiment (\d+)`, out)
	number := strconv.Itoa(id)
	if _, stderr, code := w.try(t, "", "experiment", "wait", number); code != 1 || !strings.Contains(stderr, "is paused") {
		t.Errorf("wait for a paused experiment: exit %d\n%s", code, stderr)
	}
	w.det(t, "experiment", "activate", number)
	w.r.WaitLog(t, id, "begins after 0")
	w.det(t, "experiment", "pause", number)
	w.r.WaitState(t, id, v1.ExperimentStatePaused)
	w.r.WaitLog(t, id, "makes room after") // activated sooner, it would simply go on
	w.det(t, "experiment", "activate", number)
	// Followed from before its first line on, the log ends with the trial.
	rig.Holds(t, "logs -f", w.det(t, "experiment", "logs", "-f", number), "begins after 0", "ends after")
	w.det(t, "experiment", "wait", number)

	killed := rig.First(t, `Created experiment (\d+)`, w.det(t, "experiment", "create", "long.yaml", "long"))
	w.r.WaitLog(t, killed, "begins after 0")
	w.det(t, "experiment", "kill", strconv.Itoa(killed))
	w.r.WaitState(t, killed, v1.ExperimentStateCanceled)
	canceled := rig.First(t, `Created experiment (\d+)`, w.det(t, "experiment", "create", "long.yaml", "long"))
	w.r.WaitLog(t, canceled, "begins after 0")
	w.det(t, "experiment", "cancel", strconv.Itoa(canceled))
	w.r.WaitState(t, canceled, v1.ExperimentStateCanceled)
	rig.Holds(t, "continue", w.det(t, "experiment", "continue", strconv.Itoa(canceled), "-f"), "Continued experiment "+strconv.Itoa(canceled), "ends after")
	single := rig.First(t, `Created experiment (\d+)`, w.det(t, "experiment", "create", "long.yaml", "long"))
	w.r.WaitLog(t, single, "begins after 0")
	w.det(t, "trial", "kill", strconv.Itoa(w.r.Trial(t, single).ID))
	rig.Eventually(t, "its experiment ends", func() (bool, error) {
		e, err := client.Call(t.Context(), w.r.Client, v1.GetExperiment, single)
		return err == nil && rig.Terminal(e.Experiment.State), err
	})
}

func (w *typist) commands(t *testing.T) {
	id := strings.TrimSpace(w.det(t, "command", "run", "--detach", "sleep", "1000"))
	rig.Holds(t, "list", w.det(t, "command", "list"), id)
	rig.Holds(t, "describe", w.det(t, "command", "describe", id), id, "default")
	rig.Holds(t, "config", w.det(t, "command", "config", id), "sleep")
	w.det(t, "command", "set", "priority", id, "50")
	rig.Holds(t, "task list", w.det(t, "task", "list"), id)
	rig.Holds(t, "job list", w.det(t, "job", "list"), "COMMAND")
	w.det(t, "command", "kill", id)
	rig.Eventually(t, "it is over", func() (bool, error) {
		out := w.det(t, "command", "list", "-a")
		return strings.Contains(out, "TERMINATED"), errors.New(out)
	})
	w.det(t, "command", "logs", id)
	w.generic(t)
}

// generic uses the verbs of generic tasks; TestGenericTasks tests what they do.
func (w *typist) generic(t *testing.T) {
	created := func(out string) string { return strings.TrimSpace(strings.TrimPrefix(out, "Created task ")) }
	file := rig.Write(t, w.home, "generic.yaml", "entrypoint: [sleep, '1000']\nresources: {slots: 0}\n")
	id := created(w.det(t, "task", "create", file))
	rig.Holds(t, "task config", w.det(t, "task", "config", id), "entrypoint", "sleep")
	fork := created(w.det(t, "task", "fork", id))
	w.det(t, "task", "kill", fork)
	w.det(t, "task", "pause", id)
	rig.Eventually(t, "it is paused", func() (bool, error) {
		task, err := w.r.Client.Task(t.Context(), id)
		return err == nil && task.TaskState != nil && *task.TaskState == v1.GenericTaskStatePaused, err
	})
	w.det(t, "task", "unpause", id)
	w.det(t, "task", "kill", id, "--root")
	w.det(t, "task", "logs", id)
}

// interactive starts one of each kind that users open, without waiting for it.
func (w *typist) interactive(t *testing.T, experiment string) {
	for noun, args := range map[string][]string{"notebook": nil, "shell": nil, "tensorboard": {experiment}} {
		out := w.det(t, append([]string{noun, "start", "--detach", "--config", "resources.slots=0"}, args...)...)
		id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(out)
		if id == "" {
			t.Fatalf("det %s start prints no id:\n%s", noun, out)
		}
		rig.Holds(t, "list", w.det(t, noun, "list"), id)
		rig.Holds(t, "describe", w.det(t, noun, "describe", id), id, "default")
		rig.Holds(t, "config", w.det(t, noun, "config", id), "resources")
		w.det(t, noun, "set", "priority", id, "50")
		w.det(t, noun, "logs", id)
		if noun == "shell" { // which waits until it is open
			rig.Holds(t, "show-ssh-command", w.det(t, noun, "show-ssh-command", id), "ssh ")
		}
		w.det(t, noun, "kill", id)
	}
}

// audit reads what the other verbs have left in the audit trail.
func (w *typist) audit(t *testing.T) {
	t.Helper()
	admin := &typist{r: w.r, home: t.TempDir(), used: w.used}
	if _, stderr, code := admin.try(t, "\n", "user", "login", "admin"); code != 0 {
		t.Fatal(stderr)
	}
	rig.Holds(t, "audit list", admin.det(t, "audit", "list", "--verb", "create", "--since", "1h"), "experiment", "session ")
	saved := filepath.Join(t.TempDir(), "recording.jsonl")
	rig.Holds(t, "queue replay", admin.det(t, "queue", "replay", "--from", "1h", "--save", saved), "(all)", "0 deviations")
	rig.Holds(t, "queue replay --set", admin.det(t, "queue", "replay", "--recording", saved, "--to", "0s", "--set", "nodes.default+=2x2"), "changed", "In Use")
	if _, stderr, code := w.try(t, "", "queue", "replay"); code == 0 || !strings.Contains(stderr, "admin") {
		t.Errorf("a user who is no administrator replays the queue: %d %s", code, stderr)
	}
	rig.Holds(t, "audit export", admin.det(t, "audit", "export", "--kind", "session"), `"verb":"login"`)
}

// webhooks uses the verbs of webhooks, with one of the user's own workspace.
func (w *typist) webhooks(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	w.det(t, "workspace", "create", "hooks")
	out := w.det(t, "webhook", "create", target.URL, "-w", "hooks", "--name", "typed", "--state", "ERROR")
	id := strconv.Itoa(rig.First(t, `Created webhook (\d+)`, out))
	rig.Holds(t, "webhook list", w.det(t, "webhook", "list"), "typed", target.URL)
	w.det(t, "webhook", "test", id)
	for _, sent := range w.rows(t, "webhook", "deliveries", id) {
		rig.Holds(t, "webhook redeliver", w.det(t, "webhook", "redeliver", id, fmt.Sprint(sent["id"])), "Queued delivery")
	}
	rig.Holds(t, "webhook delete", w.det(t, "webhook", "delete", id), "Deleted webhook "+id)
}

func (w *typist) cluster(t *testing.T) {
	rig.Holds(t, "agent list", w.det(t, "agent", "list"), "integration", "default", "127.0.0.1")
	rig.Holds(t, "slot list", w.det(t, "slot", "list"), "cpu", "FREE")
	rig.Holds(t, "resource-pool list", w.det(t, "resource-pool", "list"), "default", "compute, aux")
	rig.Holds(t, "master info", w.det(t, "master", "info"), "clusterName: integration")
	rig.Holds(t, "master logs", w.det(t, "master", "logs", "--tail", "5"), "[INFO]")
	rig.Holds(t, "version", w.det(t, "version"), "client:", "master:", "0.38.1")
	rig.Holds(t, "completion", w.det(t, "completion", "bash"), "complete")
	rig.Holds(t, "curl", w.det(t, "dev", "curl", "/api/v1/me"), `"username":"ida"`)
	rig.Holds(t, "status", w.det(t, "deploy", "local", "status", "--cluster-name", "integration", "--state-dir", w.r.Description.StateDir), "postgres", "healthy", w.r.MasterURL)
	rig.Holds(t, "logs", w.det(t, "deploy", "local", "logs", "postgres", "--cluster-name", "integration", "--state-dir", w.r.Description.StateDir, "--tail", "1000"), "ready to accept connections")
}

// workspaces: a workspace and a project are made, changed and deleted.
func (w *typist) workspaces(t *testing.T) {
	w.det(t, "workspace", "create", "attic")
	w.det(t, "project", "create", "attic", "old")
	w.det(t, "project", "edit", "attic", "old", "--new_name", "older", "--description", "nobody looks")
	rig.Holds(t, "project describe", w.det(t, "project", "describe", "attic", "older"), "older", "nobody looks")
	w.det(t, "project", "archive", "attic", "older")
	w.det(t, "project", "unarchive", "attic", "older")
	w.det(t, "project", "delete", "attic", "older", "--yes")
	w.det(t, "workspace", "edit", "attic", "--name", "loft")
	w.det(t, "workspace", "archive", "loft")
	w.det(t, "workspace", "unarchive", "loft")
	w.det(t, "workspace", "delete", "loft", "--yes")
	if out := w.det(t, "workspace", "list"); strings.Contains(out, "loft") || strings.Contains(out, "attic") {
		t.Errorf("the workspace is still listed:\n%s", out)
	}
}

// tokens: an access token is made, changed, used elsewhere and revoked.
func (w *typist) tokens(t *testing.T) {
	made := w.det(t, "token", "create", "--description", "for a test")
	token := regexp.MustCompile(`[A-Za-z0-9_.-]{20,}`).FindString(made)
	list := w.rows(t, "token", "list")
	if token == "" || len(list) != 1 {
		t.Fatalf("made: %s, listed: %v", made, list)
	}
	id := fmt.Sprint(list[0]["id"])
	rig.Holds(t, "token describe", w.det(t, "token", "describe", id), "for a test")
	w.det(t, "token", "edit", id, "--description", "for another")
	rig.Holds(t, "token edit", w.det(t, "token", "describe", id), "for another")
	elsewhere := &typist{r: w.r, home: t.TempDir(), used: w.used}
	elsewhere.det(t, "token", "login", token)
	rig.Holds(t, "token login", elsewhere.det(t, "user", "whoami"), "ida")
	w.det(t, "token", "revoke", id)
	if _, _, code := elsewhere.try(t, "", "experiment", "list"); code != 4 {
		t.Errorf("a revoked token: exit %d", code)
	}
}

// imports: files of TensorBoard and W&B become experiments, once.
func (w *typist) imports(t *testing.T) {
	internal := filepath.Join(w.r.Root, "cli", "internal")
	run, err := os.ReadFile(filepath.Join(internal, "wandb", "testdata", "run-shapes01.wandb"))
	if err != nil {
		t.Fatal(err)
	}
	rig.Write(t, w.home, "wandb/offline-run-1-shapes01/run-shapes01.wandb", string(run))
	for kind, folder := range map[string]string{"tensorboard": filepath.Join(internal, "tfevents", "testdata"), "wandb": filepath.Join(w.home, "wandb")} {
		rig.Holds(t, "det import "+kind, w.det(t, "import", kind, folder), "experiment ")
		rig.Holds(t, "det import "+kind+" again", w.det(t, "import", kind, folder), "0 new values")
	}
}
