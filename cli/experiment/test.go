package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/v1"
)

// runTest submits an experiment that trains one batch, validates once and stores one
// checkpoint, and watches it. A test that is submitted paused has nothing to watch.
func runTest(ctx context.Context, a *app.App, c *client.Client, req v1.CreateExperimentRequest, config loaded) error {
	checked, err := submit(ctx, a, c, req)
	if err != nil {
		return config.named(err)
	}
	a.Done("Experiment configuration validation succeeded!")
	tiny, err := testConfig(config.text, checked.Config)
	if err != nil {
		return err
	}
	req.Config, req.ValidateOnly = &tiny, new(false)
	resp, err := submit(ctx, a, c, req)
	if err != nil {
		return unanswered(ctx, a, err)
	}
	id := resp.Experiment.ID
	a.Done("Created test experiment %d", id)
	config.remark(a, resp)
	if !*req.Activate {
		a.Printf("It is paused; start it with `det experiment activate %d`, and follow it with `det experiment wait %d`.\n", id, id)
		return nil
	}
	return watchTest(ctx, a, c, id)
}

// testConfig reduces a configuration: a single trial of one batch with the lowest
// hyperparameters, without restarts, keeping no checkpoints. It starts from the complete
// configuration, which includes values of a template and the cluster.
func testConfig(config string, complete v1.Struct) (string, error) {
	var doc struct {
		Description string `json:"description"`
		Searcher    struct {
			Metric string `json:"metric"`
		} `json:"searcher"`
		Hyperparameters map[string]any `json:"hyperparameters"`
	}
	if err := complete.Into(&doc); err != nil {
		return "", fault.New(fault.Invalid, "cannot decode the master's answer: %w", err)
	}
	searcher := map[string]any{"name": "single", "metric": doc.Searcher.Metric, "max_length": map[string]int{"batches": 1}}
	overrides := []string{
		"description=" + quote("[test-mode] "+doc.Description),
		"scheduling_unit=1",
		"min_validation_period={batches: 1}",
		"checkpoint_storage.save_experiment_best=0",
		"checkpoint_storage.save_trial_best=0",
		"checkpoint_storage.save_trial_latest=0",
		"max_restarts=0",
		"searcher=" + quote(searcher),
	}
	if len(doc.Hyperparameters) > 0 {
		values, err := tested(complete, doc.Hyperparameters)
		if err != nil {
			return "", err
		}
		overrides = append(overrides, "hyperparameters="+quote(values))
	}
	out, err := expconf.ApplyOverrides("the test's configuration", []byte(config), overrides)
	if err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	return string(out), nil
}

// tested returns the hyperparameters of a test: the least ones or, if some exclude others, those of a first trial.
func tested(complete v1.Struct, space map[string]any) (any, error) {
	cfg, err := expconf.ParseConfigJSON(complete)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot decode the master's answer: %w", err)
	}
	if !cfg.Restricted() {
		return least(space), nil
	}
	cfg.Searcher = expconf.Searcher{Name: expconf.Single, Metric: cfg.Searcher.Metric, Constraints: cfg.Searcher.Constraints}
	s, err := search.New(cfg, 0)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	return s.HParams(0), nil
}

// quote encodes a value as JSON, which is also YAML.
func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "null"
	}
	return string(text)
}

// least is the smallest value of a hyperparameter, or of each hyperparameter in a group.
func least(value any) any {
	group, ok := value.(map[string]any)
	if !ok {
		return value
	}
	switch group["type"] {
	case "const":
		return group["val"]
	case "int", "double":
		return group["minval"]
	case "log":
		base, _ := group["base"].(float64)
		exponent, _ := group["minval"].(float64)
		return math.Pow(cmp.Or(base, 10), exponent)
	case "categorical":
		if vals, ok := group["vals"].([]any); ok && len(vals) > 0 {
			return vals[0]
		}
		return nil
	}
	out := map[string]any{}
	for name, v := range group {
		out[name] = least(v)
	}
	return out
}

// stages of a test, in their order.
var stages = [...]string{"Scheduling task", "Testing training", "Testing validation", "Testing checkpointing"}

// watchTest shows the stages until the experiment has ended.
func watchTest(ctx context.Context, a *app.App, c *client.Client, id int) error {
	shown := ""
	for {
		resp, err := client.Call(ctx, c, v1.GetExperiment, id)
		if err != nil {
			return err
		}
		trials, err := client.List(ctx, c, v1.ListTrials, client.Page{}, nil, id)
		if err != nil {
			return err
		}
		state := resp.Experiment.State
		line := stageLine(a, stageOf(state, trials), isFinal(state))
		if a.IO.OutTTY {
			a.Printf("\r%s", line)
		} else if line != shown {
			a.Printf("%s\n", line)
		}
		shown = line
		if isFinal(state) {
			if a.IO.OutTTY {
				a.Printf("\n")
			}
			return testEnd(ctx, a, c, id, state, trials)
		}
		if err := sleep.For(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// stageOf is the number of completed stages.
func stageOf(state v1.ExperimentState, trials []v1.Trial) int {
	if state == v1.ExperimentStateCompleted {
		return len(stages)
	}
	if len(trials) == 0 || trials[0].RunnerState == "" {
		return 0
	}
	switch strings.ToLower(trials[0].RunnerState) {
	case "checkpointing":
		return 3
	case "validating":
		return 2
	case "unspecified", "training":
		return 1
	}
	return 0
}

func stageLine(a *app.App, done int, over bool) string {
	s := a.IO.OutStyle()
	parts := make([]string, len(stages))
	for i, name := range stages {
		text := func(mark string) string {
			return name + strings.Repeat(".", 25-len(name)) + " [" + mark + "]"
		}
		switch {
		case i < done:
			parts[i] = s.Green(text("✔"))
		case i == done && over:
			parts[i] = s.Red(text("✗"))
		case i == done:
			parts[i] = s.Yellow(text(" "))
		default:
			parts[i] = text(" ")
		}
	}
	return strings.Join(parts, ", ")
}

func testEnd(ctx context.Context, a *app.App, c *client.Client, id int, state v1.ExperimentState, trials []v1.Trial) error {
	if state == v1.ExperimentStateCompleted {
		a.Done("Model definition test succeeded!")
		return nil
	}
	if state == v1.ExperimentStateError && len(trials) > 0 {
		var o logs.Options
		if err := o.Print(ctx, a.IO, c.TrialLogs(ctx, trials[0].ID, client.LogQuery{}), logs.OfTrial(trials[0].ID)); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.IO.Err, a.IO.ErrStyle().Red(fmt.Sprintf("The test experiment %d ended as %s.", id, bare(state))))
	return exit.Status(exit.Failed)
}
