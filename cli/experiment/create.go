package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/entry"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/cli/internal/publish"
	"github.com/detent-ml/detent/cli/internal/upload"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

type createOptions struct {
	configFile, modelDef string
	includes, overrides  []string
	project              int
	template             string
	follow, paused, test bool
	local                bool
	publish              []string
}

const createLong = `Submits an experiment: its configuration, and the folder with its code.

det checks the configuration before it sends anything, and reports all errors
together. The configuration "-" is read from the standard input.

det sends all files of the folder except those that .detignore excludes, in the
syntax of .gitignore. Caches of Python and the folders of git and of editors are
always excluded, unless .detignore includes them with "!". The limit is 95 MiB.

With --follow the exit status is 0 if the experiment was completed, 1 if it
failed, and 9 if it was canceled or killed. If the first trial has ended and the
experiment trains others, the status is that of the trial.`

func newCreate(a *app.App) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create CONFIG [MODEL_DEF]",
		Short: "submit an experiment",
		Long:  createLong,
		Example: `  det experiment create const.yaml . -f
  det experiment create const.yaml . --config resources.slots_per_trial=2 --config name=wide`,
		Args: args.Between(1, "a configuration file", "the folder with the code"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.configFile = given[0]
			if len(given) > 1 {
				o.modelDef = given[1]
			}
			return runCreate(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.includes, "include", "i", nil, "also send this file or folder, under its own name (may be repeated)")
	f.StringArrayVar(&o.overrides, "config", nil, "override a field: path=value, as in resources.slots_per_trial=2 (may be repeated)")
	f.IntVar(&o.project, "project_id", 0, "put the experiment into this project")
	f.StringVar(&o.template, "template", "", "use this template for fields that the configuration does not set")
	f.BoolVarP(&o.follow, "follow-first-trial", "f", false, "follow the log of the first trial")
	f.BoolVar(&o.paused, "paused", false, "submit the experiment paused")
	f.BoolVarP(&o.test, "test-mode", "t", false, "test the code: train one batch, validate, and store a checkpoint")
	f.BoolVar(&o.test, "test", false, "the same as --test-mode")
	f.BoolVar(&o.follow, "follow", false, "the same as --follow-first-trial")
	f.BoolVar(&o.local, "local", false, "run on this machine (not supported)")
	f.StringArrayVarP(&o.publish, "publish", "p", nil, "make PORT or LOCAL_PORT:PORT of the first trial reachable on this machine, and follow its log (may be repeated)")
	for _, hidden := range []string{"test", "follow", "local"} {
		if err := f.MarkHidden(hidden); err != nil {
			panic(err)
		}
	}
	return cmd
}

func runCreate(ctx context.Context, a *app.App, o createOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	ports, err := publish.Parse(o.publish)
	if err != nil {
		return err
	}
	config, err := loadConfig(a, o)
	if err != nil {
		return err
	}
	files, err := upload.Gather(a.IO, o.modelDef, o.includes)
	if err != nil {
		return err
	}
	warnMissing(a, config.entrypoint, files)
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	req := o.request(config.text, files)
	if o.test {
		return runTest(ctx, a, c, req, config)
	}
	resp, err := submit(ctx, a, c, req)
	if err != nil {
		return unanswered(ctx, a, config.named(err))
	}
	id := resp.Experiment.ID
	a.Printf("Created experiment %d\n", id)
	config.remark(a, resp)
	if len(ports) > 0 {
		end, err := publish.Open(ctx, a, c, taskOfFirstTrial(c, id), ports)
		if err != nil {
			return err
		}
		defer end()
	}
	if o.follow && !o.paused || len(ports) > 0 {
		return followFirstTrial(ctx, a, c, id)
	}
	return nil
}

func (o createOptions) check() error {
	if o.local {
		return &exit.UsageError{Message: "--local is not offered: experiments run in the cluster",
			Hint: "Run your script directly; off the cluster the harness works without a master."}
	}
	return nil
}

func (o createOptions) request(config string, files []v1.File) v1.CreateExperimentRequest {
	return v1.CreateExperimentRequest{
		Config: &config, ModelDefinition: files, Activate: new(!o.paused), ValidateOnly: new(o.test),
		ProjectID: optional.NonZero(o.project), Template: optional.NonZero(o.template),
	}
}

// warnMissing warns if the entrypoint's file is not sent.
func warnMissing(a *app.App, entrypoint *expconf.Entrypoint, files []v1.File) {
	if entrypoint == nil {
		return
	}
	paths := each.Of(files, func(f v1.File) string { return f.Path })
	if missing := entry.Missing(*entrypoint, paths); missing != "" {
		a.IO.Warn("Warning: %s", missing)
	}
}

// A loaded configuration is the text that det sends, with its name in messages.
type loaded struct {
	name, text string
	entrypoint *expconf.Entrypoint
	said       []string // the warnings that det has printed
}

// named puts the configuration's name into an error of the master, which knows only the text.
func (l loaded) named(err error) error { return input.Named(err, masterName, l.name) }

// remark prints the master's remarks about the configuration.
func (l loaded) remark(a *app.App, resp *v1.CreateExperimentResponse) {
	remarks := each.Of(resp.Remarks, func(r string) string { return input.NamedText(r, masterName, l.name) })
	upload.Remark(a.IO, resp.Warnings, remarks, l.said)
}

const masterName = "config" // the name of every configuration in messages of the master

// loadConfig reads and checks the configuration, and prints its warnings. Without overrides
// det sends the file unchanged, with comments.
func loadConfig(a *app.App, o createOptions) (l loaded, err error) {
	name, text, err := readConfig(a, o.configFile)
	if err != nil {
		return l, err
	}
	changed, err := expconf.ApplyOverrides(name, text, o.overrides)
	if err != nil {
		return l, invalidConfig(name, err)
	}
	if len(o.overrides) > 0 {
		name += " with --config"
	}
	raw, warnings, err := expconf.Parse(name, changed)
	if err != nil {
		return l, invalidConfig(name, err)
	}
	l = loaded{name: name, text: string(changed), entrypoint: raw.Entrypoint, said: warnings.Strings()}
	if strings.TrimSpace(l.text) == "" { // the master says only that a configuration is required
		if o.template == "" {
			return l, nothingIn(name, raw)
		}
		l.text = "{}"
	}
	for _, w := range l.said {
		a.IO.Warn("%s", w)
	}
	return l, nil
}

// nothingIn lists what an empty configuration lacks. The cluster has a storage for checkpoints.
func nothingIn(name string, raw expconf.Raw) error {
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "unnamed"})
	if err == nil {
		err = cfg.Validate()
	}
	if problems, ok := errors.AsType[document.Errors](err); ok {
		err = slices.DeleteFunc(problems, func(p document.Problem) bool { return strings.HasPrefix(p.Path, "checkpoint_storage") })
	}
	return invalidConfig(name, err)
}

func readConfig(a *app.App, file string) (name string, text []byte, err error) {
	if name = file; file == "-" {
		name = "the standard input"
	}
	text, err = input.Read(a.IO.In, file)
	if err != nil {
		return "", nil, fault.New(fault.Invalid, "cannot read the configuration: %w", err)
	}
	return name, text, nil
}

func invalidConfig(name string, err error) error {
	var problems document.Errors
	if !errors.As(err, &problems) || len(problems) == 1 {
		return fault.New(fault.Invalid, "%s", err)
	}
	return fault.New(fault.Invalid, "%s has %d problems:\n%s", name, len(problems), err)
}

// submit sends the request, with a progress bar if it takes long.
func submit(ctx context.Context, a *app.App, c *client.Client, req v1.CreateExperimentRequest) (*v1.CreateExperimentResponse, error) {
	bar := upload.NewBar(a.IO, "Sending")
	resp, err := c.CreateExperiment(ctx, req, bar.Update)
	bar.Done()
	return resp, err
}

// unanswered tells who interrupted a request that it may have succeeded.
func unanswered(ctx context.Context, a *app.App, err error) error {
	if ctx.Err() != nil {
		fmt.Fprintln(a.IO.Err, "The master may have created the experiment all the same. See your experiments with `det experiment list`.")
	}
	return err
}
