package task

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/cli/internal/upload"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/v1"
)

type createOptions struct {
	file, context             string
	includes, overrides       []string
	project                   int
	follow, inherits, noPause bool
	fork, parent              string
}

const createLong = `Starts a program that can be paused, from a configuration with its entrypoint.

A task with --parent belongs to the tree of its parent: killing or pausing the
parent does the same to the task.`

func newCreate(a *app.App) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:     "create CONFIG_FILE",
		Short:   "start a generic task",
		Long:    createLong,
		Example: "  det task create preprocess.yaml --context . --follow",
		Args:    args.Exactly("a configuration file"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.file = given[0]
			return runCreate(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.SetNormalizeFunc(dashes)
	f.StringVarP(&o.context, "context", "c", "", "also send the files of this folder")
	f.StringArrayVarP(&o.includes, "include", "i", nil, "also send this file or folder, under its own name (may be repeated)")
	f.StringArrayVar(&o.overrides, "config", nil, "override a field: path=value, as in resources.slots=2 (may be repeated)")
	f.StringVar(&o.fork, "fork", "", "lay the configuration over that of this task, and use its code unless other code is sent")
	f.StringVarP(&o.parent, "parent", "p", "", "start below this task")
	f.BoolVar(&o.inherits, "inherit-context", false, "use the code of the parent")
	f.BoolVar(&o.noPause, "no-pause", false, "do not pause the task, also not with its parent")
	o.flags(f)
	return cmd
}

func newFork(a *app.App) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "fork TASK_ID",
		Short: "start a generic task with the configuration and the code of another",
		Args:  args.Exactly("the ID of a task"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.fork = given[0]
			return o.send(cmd.Context(), a, "", nil)
		},
	}
	cmd.Flags().SetNormalizeFunc(dashes)
	o.flags(cmd.Flags())
	return cmd
}

// dashes accepts --project_id, as Determined's client has it, for --project-id.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// flags adds the flags that create and fork share.
func (o *createOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.project, "project-id", 0, "run in the workspace of this project")
	f.BoolVarP(&o.follow, "follow", "f", false, "follow the log of the task")
}

func runCreate(ctx context.Context, a *app.App, o createOptions) error {
	text, err := os.ReadFile(o.file)
	if err != nil {
		return fault.New(fault.Invalid, "cannot read the configuration: %w", err)
	}
	if text, err = expconf.ApplyOverrides(o.file, text, o.overrides); err != nil {
		return fault.New(fault.Invalid, "%s", err)
	}
	if _, _, err := expconf.ParseCommand(o.file, text); err != nil {
		return fault.New(fault.Invalid, "%s", err)
	}
	files, err := upload.Gather(a.IO, o.context, o.includes)
	if err != nil {
		return err
	}
	return o.send(ctx, a, string(text), files)
}

// send submits the task, and follows its log if --follow is set.
func (o *createOptions) send(ctx context.Context, a *app.App, config string, files []v1.File) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	req := v1.CreateGenericTaskRequest{Config: config, ContextDirectory: files, ForkedFrom: optional.NonZero(o.fork), ParentID: optional.NonZero(o.parent),
		ProjectID: optional.NonZero(o.project), InheritContext: optional.NonZero(o.inherits), NoPause: optional.NonZero(o.noPause)}
	resp, err := client.Send(ctx, c, v1.CreateGenericTask, req)
	if err != nil {
		return err
	}
	a.Printf("Created task %s\n", resp.TaskID)
	upload.Remark(a.IO, resp.Warnings, resp.Remarks, nil)
	if !o.follow {
		return nil
	}
	lo := logs.Options{Follow: true}
	return lo.Print(ctx, a.IO, c.TaskLogs(ctx, resp.TaskID, client.LogQuery{Follow: true}), logs.OfTask(resp.TaskID))
}
