package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/chart"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/master/v1"
)

const config = `# kept
name: iris
entrypoint: python3 train.py
hyperparameters:
  lr: {type: log, base: 10, minval: -3, maxval: -1}
  units: {type: int, minval: 4, maxval: 8}
  kind: {type: categorical, vals: [b, a]}
  fixed: {type: const, val: 7}
  nested: {rate: {type: double, minval: 0.5, maxval: 1}, plain: x}
searcher: {name: single, metric: validation_loss, smaller_is_better: true, max_length: {batches: 200}}
`

// A world is a master whose trials do what their hyperparameters say.
type world struct {
	*servertest.Master
	trained, over, release chan struct{}
}

// TestOnAMaster runs its parts one after the other on one master. The last one adds a node.
func TestOnAMaster(t *testing.T) {
	t.Parallel()
	w := &world{trained: make(chan struct{}), over: make(chan struct{}), release: make(chan struct{})}
	w.Master = servertest.Start(t, w.program)
	for _, part := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"nothing is sent of a configuration with mistakes", nothingIsSentOfMistakes}, {"create sends what Determined's client sends", createSendsWhatDeterminedsClientSends},
		{"create with changes", createWithChanges}, {"create from the standard input", createFromTheStandardInput}, {"a search that goes on as a new one", newSearchOfAnOldOne}, {"a search branches", branchOfASearch}, {"a plot is followed", followedPlot},
		{"waiting", waiting}, {"following to the end", followingToTheEnd}, {"an interrupted follower", interruptedFollower}, {"an interrupted request", interruptedRequest}, {"following what never begins", followingWhatNeverBegins}, {"set gc-policy", setGCPolicy}, {"a bounded description", boundedDescription}, {"a list of one", listOfOne},
		{"describe says which nodes are avoided", describeSaysWhichNodesAreAvoided},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.test(t, w)
			w.Front.Answer(nil)
		})
	}
}

func (w *world) program(ctx context.Context, a *servertest.Attempt) int {
	switch {
	case a.HParam("x") != 0:
		return kept(ctx, a)
	case a.HParam("held") != 0:
		select {
		case <-w.release:
		case <-ctx.Done():
		}
		return 0
	case a.HParam("code") < 0:
		<-ctx.Done()
		return 143
	case a.HParam("code") > 0:
		a.Log(ctx, "starting", "ModuleNotFoundError: no module named torch", "  ")
		a.Crash(ctx, "crashed: resources failed with non-zero exit code")
		return int(a.HParam("code"))
	case a.HParam("plotted") == 0:
		return servertest.Play(ctx, a)
	}
	code := servertest.Train(ctx, a)
	close(w.trained)
	<-w.over
	return code
}

// app is signed in there; what it prints is beside it.
func (w *world) app(t *testing.T) (*app.App, fmt.Stringer, fmt.Stringer) {
	t.Helper()
	io, out, errs := term.Buffers("")
	return appOf(t, w.Master, io), out, errs
}

func appOf(t *testing.T, m *servertest.Master, io *term.IO) *app.App {
	t.Helper()
	env := map[string]string{"DET_MASTER": m.URL, "HOME": t.TempDir()}
	return &app.App{IO: io, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
}

// submitted creates an experiment and returns its id.
func submitted(t *testing.T, a *app.App, text string, o createOptions) int {
	t.Helper()
	o.configFile, o.modelDef = project(t, text)
	c, err := a.Client(t.Context())
	if err == nil {
		err = runCreate(t.Context(), a, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return newest(t, c)
}

// newest is the ID of the experiment that was created last.
func newest(t *testing.T, c *client.Client) (id int) {
	t.Helper()
	for e, err := range client.Each(t.Context(), c, v1.ListExperiments, client.Page{}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		id = max(id, e.ID)
	}
	return id
}

// project is a folder with a configuration and code.
func project(t *testing.T, text string) (configFile, code string) {
	t.Helper()
	dir := t.TempDir()
	configFile, code = filepath.Join(dir, "const.yaml"), filepath.Join(dir, "code")
	err := os.MkdirAll(filepath.Join(code, "sub"), 0o755)
	for name, content := range map[string]string{configFile: text, filepath.Join(code, "train.py"): "print(1)\n", filepath.Join(code, "sub", "a.txt"): "a"} {
		if err == nil {
			err = os.WriteFile(name, []byte(content), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return configFile, code
}

func experiment(t *testing.T, m *world, id int) v1.Experiment {
	t.Helper()
	e, err := client.Call(t.Context(), m.Client("determined"), v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	return e.Experiment
}

func createSendsWhatDeterminedsClientSends(t *testing.T, m *world) {
	t.Helper()
	a, out, _ := m.app(t)
	resp, err := client.Send(t.Context(), m.Client("admin"), v1.CreateWorkspace, v1.PostWorkspaceRequest{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := client.Send(t.Context(), m.Client("admin"), v1.CreateProject, v1.PostProjectRequest{WorkspaceID: resp.Workspace.ID, Name: "p"}, resp.Workspace.ID)
	if err != nil {
		t.Fatal(err)
	}
	file, code := project(t, config)
	if err := runCreate(t.Context(), a, createOptions{configFile: file, modelDef: code, project: p.Project.ID}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "Created experiment 1\n" {
		t.Errorf("printed %q", out)
	}
	var body struct {
		Config          string `json:"config"`
		Activate        bool   `json:"activate"`
		ValidateOnly    bool   `json:"validateOnly"`
		ProjectID       int    `json:"projectId"`
		ModelDefinition []struct {
			Path, Content, Mtime string
			Type, Mode, UID, GID int
		} `json:"modelDefinition"`
	}
	if err := json.Unmarshal(m.Front.Body("POST /api/v1/experiments"), &body); err != nil {
		t.Fatal(err)
	}
	if body.Config != config || !body.Activate || body.ValidateOnly || body.ProjectID != p.Project.ID {
		t.Errorf("sent %+v", body)
	}
	var got []string
	for _, f := range body.ModelDefinition {
		got = append(got, fmt.Sprintf("%s %d %o %s", f.Path, f.Type, f.Mode, f.Content))
		if f.Mtime == "" || f.UID != 0 || f.GID != 0 {
			t.Errorf("%+v", f)
		}
	}
	if want := "[sub 53 40755  sub/a.txt 48 100644 YQ== train.py 48 100644 cHJpbnQoMSkK]"; fmt.Sprint(got) != want {
		t.Errorf("sent %v\nwant %s", got, want)
	}
}

func createWithChanges(t *testing.T, m *world) {
	t.Helper()
	a, _, errs := m.app(t)
	id := submitted(t, a, config, createOptions{paused: true, overrides: []string{"resources.slots_per_trial=8", "name=wide", "labels=a,b"}})
	e := experiment(t, m, id)
	text := strings.ReplaceAll(string(e.Config), " ", "")
	if e.Name != "wide" || e.State != v1.ExperimentStatePaused || !strings.Contains(text, `"slots_per_trial":8`) || !strings.Contains(text, `"labels":["a","b"]`) {
		t.Errorf("created %s: %s", e.State, e.Config)
	}
	if !strings.Contains(errs.String(), "8 slots are asked for and pool default has 2 at the moment") {
		t.Errorf("warned %q", errs)
	}
}

func createFromTheStandardInput(t *testing.T, m *world) {
	t.Helper()
	a, _, _ := m.app(t)
	a.IO.In = strings.NewReader(config)
	if err := runCreate(t.Context(), a, createOptions{configFile: "-", paused: true}); err != nil {
		t.Fatal(err)
	}
	if e := experiment(t, m, newest(t, m.Client("determined"))); e.OriginalConfig != config {
		t.Errorf("%+v", e)
	}
}

func nothingIsSentOfMistakes(t *testing.T, m *world) {
	t.Helper()
	a, _, _ := m.app(t)
	file, code := project(t, "entrypoint: x\nmax_restart: 3\nresources: {slots_per_trial: many}\nsearcher: {name: single, metric: m, max_length: {batches: 1}}\n")
	err := runCreate(t.Context(), a, createOptions{configFile: file, modelDef: code})
	if calls := m.Front.Calls(); !fault.Is(err, fault.Invalid) || len(calls) != 0 {
		t.Fatalf("%v; calls %v", err, calls)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || lines[0] != file+" has 2 problems:" || !strings.HasPrefix(lines[1], file+":2:1: max_restart: ") || !strings.HasPrefix(lines[2], file+":3:") {
		t.Errorf("%s", err)
	}
}

func TestWhatIsNotOffered(t *testing.T) {
	io, _, _ := term.Buffers("")
	a := &app.App{IO: io, Now: time.Now, Lookup: func(string) (string, bool) { return "", false }}
	for _, o := range []createOptions{{local: true}, {publish: []string{"80x"}}, {publish: []string{"8080:0"}}, {publish: []string{"70000"}}} {
		if err := runCreate(t.Context(), a, o); exit.Code(err) != exit.Usage {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestTestConfiguration(t *testing.T) {
	whole, _, err := expconf.Parse("test", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	complete, err := expconf.Complete(whole, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	answered, err := complete.JSON()
	if err != nil {
		t.Fatal(err)
	}
	text, err := testConfig(config, answered)
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := expconf.Parse("test", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"max_restarts":0`, `"save_experiment_best":0`, `"save_trial_latest":0`, `"min_validation_period":{"batches":1}`,
		`"metric":"validation_loss"`, `"description":"[test-mode] "`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the test's configuration lacks %s: %s", want, got)
		}
	}
	var hp struct {
		Hyperparameters map[string]any `json:"hyperparameters"`
	}
	if err := json.Unmarshal([]byte(quote(map[string]any{"hyperparameters": least(map[string]any{
		"lr":    map[string]any{"type": "log", "base": 10.0, "minval": -3.0},
		"units": map[string]any{"type": "int", "minval": 4.0}, "kind": map[string]any{"type": "categorical", "vals": []any{"b"}},
		"nested": map[string]any{"rate": map[string]any{"type": "double", "minval": 0.5}, "plain": "x"}, "fixed": map[string]any{"type": "const", "val": 7.0},
	})})), &hp); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(hp.Hyperparameters); got != "map[fixed:7 kind:b lr:0.001 nested:map[plain:x rate:0.5] units:4]" {
		t.Errorf("the least: %s", got)
	}
}

func TestStepsJoinWhatHappenedAtOnce(t *testing.T) {
	at := func(s int) *time.Time { v := time.Date(2026, 11, 20, 0, 0, s, 0, time.UTC); return &v }
	got := steps([]v1.WorkloadContainer{
		{Validation: &v1.MetricsWorkload{TotalBatches: 20, EndTime: at(3), Metrics: v1.Metrics{AvgMetrics: v1.Struct(`{"loss":"NaN","acc":0.5,"by":{"a":1}}`)}}},
		{Training: &v1.MetricsWorkload{TotalBatches: 10, EndTime: at(1), Metrics: v1.Metrics{AvgMetrics: v1.Struct(`{"loss":2}`)}}},
		{Training: &v1.MetricsWorkload{TotalBatches: 20, EndTime: at(2), Metrics: v1.Metrics{AvgMetrics: v1.Struct(`{"loss":1}`)}}},
		{Checkpoint: &v1.CheckpointWorkload{TotalBatches: 20, EndTime: at(4), State: v1.CheckpointStateDeleted}},
	})
	if len(got) != 2 || got[0].batches != 10 || got[0].state != "" || got[0].training["loss"] != 2.0 {
		t.Fatalf("%+v", got)
	}
	s := got[1]
	if s.batches != 20 || s.state != "DELETED" || s.checkpointState != "DELETED" || s.validationState != "COMPLETED" ||
		!s.reported.Equal(*at(4)) || s.training["loss"] != 1.0 || s.validation["loss"] != "NaN" || s.validation["by"] != `{"a":1}` {
		t.Errorf("%+v", s)
	}
}

func TestPanels(t *testing.T) {
	pts := func(ys ...float64) []chart.Point {
		var out []chart.Point
		for i, y := range ys {
			out = append(out, chart.Point{X: float64(10 * (i + 1)), Y: y})
		}
		return out
	}
	p := &plot{metric: "val_acc", smaller: false}
	p.arrange(map[string][]chart.Point{"loss": pts(3, 2), "acc": pts(0.1, 0.2), "lr": pts(1, 1)},
		map[string][]chart.Point{"val_acc": pts(0.3, 0.5, 0.4), "val_loss": pts(2), "zeta": pts(1)})
	if got := strings.Join(p.names(), " "); got != "acc loss lr zeta" {
		t.Errorf("panels: %s", got)
	}
	first := p.panels[0].series
	if len(first) != 2 || first[0].Name != "training acc" || first[1].Name != "val_acc" || first[1].Note != "0.4, best 0.5 at 20" || !first[1].Marks {
		t.Errorf("%+v", first)
	}
	if chosen, err := p.choose(plotOptions{}); err != nil || len(chosen) != 2 {
		t.Errorf("by default: %v, %v", chosen, err)
	}
	if found, ok := p.find("val_loss"); !ok || len(found.series) != 1 {
		t.Errorf("one metric: %+v", found)
	}
	if _, err := p.choose(plotOptions{metrics: []string{"nope"}}); exit.Code(err) != exit.Usage {
		t.Errorf("an unknown metric: %v", err)
	}
}

func TestNumbersOfAReport(t *testing.T) {
	for text, want := range map[string]string{
		`{"avg_metrics":{"loss":1.5,"n":"NaN","text":"x"},"batch_metrics":[{"loss":9}]}`: "map[loss:1.5 n:NaN]",
		`{"validation_metrics":{"acc":1,"inf":"-Infinity"}}`:                             "map[acc:1 inf:-Inf]",
		`{"loss":2}`: "map[loss:2]",
		``:           "map[]",
	} {
		if got := fmt.Sprint(numbers(v1.Struct(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// With --follow, each chart replaces the previous one until the experiment has ended.
func newSearchOfAnOldOne(t *testing.T, w *world) {
	t.Helper()
	a, out, _ := w.app(t)
	old := submitted(t, a, config, createOptions{paused: true, overrides: []string{"searcher.name=random", "searcher.max_trials=5"}})
	if err := runContinue(t.Context(), a, continueOptions{id: old, newSearch: true, overrides: []string{"name=again"}}); err != nil {
		t.Fatal(err)
	}
	c, err := a.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := newest(t, c)
	if want := fmt.Sprintf("Created experiment %d, which learns from experiment %d\n", id, old); !strings.Contains(out.String(), want) {
		t.Errorf("it prints %q, want %q", out, want)
	}
	made, err := client.Call(t.Context(), c, v1.GetExperiment, id)
	if err != nil || made.Experiment.Name != "again" || made.Experiment.ForkedFrom == nil || *made.Experiment.ForkedFrom != old || !strings.Contains(string(made.Experiment.Config), fmt.Sprintf(`"learn_from": [%d]`, old)) {
		t.Errorf("%v: %+v", err, made.Experiment)
	}
	if err := client.Act(t.Context(), c, v1.KillExperiment, id); err != nil {
		t.Error(err)
	}
	if err := runContinue(t.Context(), a, continueOptions{id: old, newSearch: true, configFile: "x.yaml"}); err == nil || !strings.Contains(err.Error(), "--config-file") {
		t.Errorf("with a file: %v", err)
	}
}

func branchOfASearch(t *testing.T, w *world) {
	t.Helper()
	a, out, _ := w.app(t)
	old := submitted(t, a, config, createOptions{overrides: []string{"searcher.name=random", "searcher.max_trials=2", "searcher.max_concurrent_trials=1"}})
	w.Ended(old)
	c, err := a.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := runEvents(t.Context(), a, c, old, eventsOptions{}); err != nil || !strings.Contains(out.String(), "trial 0 ended: completed") || !strings.Contains(out.String(), "trial 1 begins") {
		t.Errorf("%v: the events are\n%s", err, out)
	}
	whole := out.String()
	if err := runEvents(t.Context(), a, c, old, eventsOptions{after: 1, limit: 1}); err != nil {
		t.Fatal(err)
	}
	if part := strings.TrimPrefix(out.String(), whole); strings.Contains(part, "trial 0 begins") || strings.Count(part, "\n") >= strings.Count(whole, "\n") {
		t.Errorf("one event after the first is listed as\n%s\nall as\n%s", part, whole)
	}
	place, err := client.Send(t.Context(), c, v1.CreateWorkspace, v1.PostWorkspaceRequest{Name: "branches"})
	if err != nil {
		t.Fatal(err)
	}
	project, err := client.Send(t.Context(), c, v1.CreateProject, v1.PostProjectRequest{WorkspaceID: place.Workspace.ID, Name: "branches"}, place.Workspace.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := runBranch(t.Context(), a, branchOptions{id: old, at: "trial=1", set: []string{"searcher.max_trials=3"}, project: project.Project.ID, paused: true}); err != nil {
		t.Fatal(err)
	}
	id := newest(t, c)
	if made, err := client.Call(t.Context(), c, v1.GetExperiment, id); err != nil || made.Experiment.ProjectID != project.Project.ID || made.Experiment.State != v1.ExperimentStatePaused {
		t.Errorf("the branch is %s in project %d, want a paused one in project %d (%v)", made.Experiment.State, made.Experiment.ProjectID, project.Project.ID, err)
	}
	if want := fmt.Sprintf("Created experiment %d, a branch of experiment %d at event ", id, old); !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "1 trials are shared") {
		t.Errorf("it prints %q, want %q", out, want)
	}
	if err := client.Act(t.Context(), c, v1.KillExperiment, id); err != nil {
		t.Error(err)
	}
	if err := runBranch(t.Context(), a, branchOptions{id: old}); exit.Code(err) != exit.Usage {
		t.Errorf("without --at: %v", err)
	}
}

func followedPlot(t *testing.T, m *world) {
	t.Helper()
	a, out, _ := m.app(t)
	id := submitted(t, a, config, createOptions{overrides: []string{"hyperparameters.plotted=1"}})
	<-m.trained
	var looks atomic.Int32
	m.Front.Answer(func(_ http.ResponseWriter, r *http.Request) bool { // the third request shows that the experiment has ended
		if r.URL.Path == v1.GetExperiment.At(id) && looks.Add(1) == 5 {
			close(m.over)
			m.Ended(id)
		}
		return false
	})
	a.IO.OutTTY = true
	c, err := a.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := runPlot(t.Context(), a, c, plotOptions{id: id, follow: true}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, fmt.Sprintf("Experiment %d  iris", id)); n < 2 {
		t.Errorf("drawn %d times", n)
	}
	for _, want := range []string{"\x1b[?25l", "A", "RUNNING", "COMPLETED", "\x1b[?25h"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if n := len([]rune(strings.TrimRight(line, "\x1b[KJ"))); n > 100 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}

func waiting(t *testing.T, m *world) {
	t.Helper()
	a, _, errs := m.app(t)
	c := m.Client("determined")
	ended := func(code string) int {
		id := submitted(t, a, config, createOptions{overrides: []string{"hyperparameters.code=" + code, "max_restarts=0"}})
		if code == "-1" {
			if err := client.Act(t.Context(), c, v1.KillExperiment, id); err != nil {
				t.Fatal(err)
			}
		}
		m.Ended(id)
		return id
	}
	for _, w := range []struct {
		id    int
		state v1.ExperimentState
		want  int
	}{
		{ended("0"), v1.ExperimentStateCompleted, 0}, {ended("1"), v1.ExperimentStateError, 1}, {ended("-1"), v1.ExperimentStateCanceled, exit.Canceled},
		{submitted(t, a, config, createOptions{paused: true}), v1.ExperimentStatePaused, 1},
	} {
		if got := exit.Code(runWait(t.Context(), a, c, w.id, time.Second)); got != w.want || experiment(t, m, w.id).State != w.state {
			t.Errorf("%s: status %d, want %d (%s)", w.state, got, w.want, errs)
		}
	}
	id := submitted(t, a, config, createOptions{overrides: []string{"hyperparameters.held=1"}})
	var looks atomic.Int32
	m.Front.Answer(func(_ http.ResponseWriter, r *http.Request) bool { // the 60th request shows that the experiment has ended
		if r.URL.Path == v1.GetExperiment.At(id) && looks.Add(1) == 60 {
			close(m.release)
			m.Ended(id)
		}
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // with the default interval, 60 requests take five minutes
	defer cancel()
	cmd := New(a)
	cmd.SetArgs([]string{"wait", "--polling-interval", "0.001", strconv.Itoa(id)})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Error(err)
	}
	if err := runWait(t.Context(), a, c, 99, time.Millisecond); !fault.Is(err, fault.NotFound) {
		t.Errorf("what there is not: %v", err)
	}
}

// If an experiment ends before it has a trial, det stops waiting.
func followingWhatNeverBegins(t *testing.T, m *world) {
	t.Helper()
	a, _, errs := m.app(t)
	id := submitted(t, a, "name: x\nentrypoint: x\nsearcher: {name: custom, metric: loss, unit: batches}\n", createOptions{paused: true})
	c, err := a.Client(t.Context())
	if err == nil {
		err = client.Act(t.Context(), c, v1.KillExperiment, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(id)
	if err := followFirstTrial(t.Context(), a, c, id); exit.Code(err) != exit.Canceled || !strings.Contains(errs.String(), "ended as CANCELED") {
		t.Errorf("%v\n%s", err, errs)
	}
}

// det describe shows the nodes that an experiment avoids, as long as the experiment has trials to run.
func describeSaysWhichNodesAreAvoided(t *testing.T, m *world) {
	t.Helper()
	a, out, _ := m.app(t)
	m.Nomad.AddNode("node-2", 16, 16384)
	id := submitted(t, a, config, createOptions{overrides: []string{fmt.Sprintf("hyperparameters.fails=%d", servertest.AvoidAfter)}})
	m.Ended(id)
	if err := runDescribe(t.Context(), a, describeOptions{ids: []int{id}}); err != nil {
		t.Fatal(err)
	}
	avoided := fmt.Sprintf("Experiment %d avoided node ", id)
	if text := out.String(); !strings.Contains(text, avoided) || !strings.Contains(text, fmt.Sprintf(": %d of its attempts in a row failed there.\n", servertest.AvoidAfter)) {
		t.Errorf("described\n%s", text)
	}
}

// TestTestOfAConditionalSpace: the test of a space with conditions has no inactive hyperparameter, and fulfils the constraints.
func TestTestOfAConditionalSpace(t *testing.T) {
	whole, _, err := expconf.Parse("test", []byte(`
entrypoint: e
searcher: {name: random, metric: m, max_trials: 3, constraints: ["low < high"]}
hyperparameters:
  optimizer: {type: categorical, vals: [adam]}
  momentum: {type: double, minval: 0, maxval: 1, when: {kind: b}}
  kind: {type: categorical, vals: [a, b], when: {optimizer: adam}}
  low: {type: double, minval: 0, maxval: 1}
  high: {type: double, minval: 0, maxval: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(whole, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	complete, err := cfg.JSON()
	if err != nil {
		t.Fatal(err)
	}
	values, err := tested(complete, map[string]any{"unused": 1})
	if err != nil {
		t.Fatal(err)
	}
	hp := values.(map[string]any)
	_, momentum := hp["momentum"]
	if hp["low"].(float64) >= hp["high"].(float64) || momentum != (hp["kind"] == "b") {
		t.Errorf("the test has %v", hp)
	}
}
