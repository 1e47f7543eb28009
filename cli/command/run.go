package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/cli/internal/upload"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

type runOptions struct {
	entrypoint                   []string
	configFile                   string
	volumes, includes, overrides []string
	context, workspace, template string
	detach                       bool
}

const runLong = `Runs a program in the cluster and follows its log.

What stands behind the first word that is no flag belongs to the program. The
exit status is 1 when the program failed.`

func newRun(a *app.App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] PROGRAM [ARGUMENT...]",
		Short: "run a program",
		Long:  runLong,
		Example: `  det command run nvidia-smi
  det command run --config resources.slots=2 --context . python train.py --epochs 3`,
		RunE: func(cmd *cobra.Command, given []string) error {
			o.entrypoint = given
			return runRun(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.configFile, "config-file", "", "configuration of the command, in YAML")
	f.StringArrayVarP(&o.volumes, "volume", "v", nil, "mount <host path>:<container path> (may be repeated)")
	f.StringVarP(&o.context, "context", "c", "", "send the contents of this folder along")
	f.StringArrayVarP(&o.includes, "include", "i", nil, "also send this file or folder, under its own name (may be repeated)")
	f.StringVarP(&o.workspace, "workspace-name", "w", "", "run in this workspace")
	f.StringArrayVar(&o.overrides, "config", nil, "change the configuration: path=value, as in resources.slots=2 (may be repeated)")
	f.StringVar(&o.template, "template", "", "lay the configuration over this template")
	f.BoolVarP(&o.detach, "detach", "d", false, "print the ID and return at once")
	return cmd
}

func runRun(ctx context.Context, a *app.App, o runOptions) error {
	config, err := o.config()
	if err != nil {
		return err
	}
	files, err := o.files(a)
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	req := v1.LaunchCommandRequest{Config: config, Files: files}
	if o.template != "" {
		req.TemplateName = &o.template
	}
	if o.workspace != "" {
		w, err := c.WorkspaceByName(ctx, o.workspace)
		if err != nil {
			return err
		}
		if w.Archived {
			return fault.New(fault.Invalid, "workspace %q is archived; nothing can be run in it", o.workspace)
		}
		req.WorkspaceID = &w.ID
	}
	resp, err := c.LaunchCommand(ctx, req)
	if err != nil {
		return err
	}
	upload.Remark(a.IO, resp.Warnings, resp.Remarks, nil)
	id := resp.Command.ID
	if o.detach {
		a.Printf("%s\n", id)
		return nil
	}
	a.Printf("%s\n", a.IO.OutStyle().Green(fmt.Sprintf("Launched command (id: %s, name: %s).", id, resp.Command.Description)))
	lo := logs.Options{Follow: true}
	if err := lo.Print(ctx, a.IO, c.TaskLogs(ctx, id, client.LogQuery{Follow: true}), logs.TaskEnded(id)); err != nil {
		return err
	}
	return verdict(ctx, a, c, id)
}

// verdict is an error when the program failed.
func verdict(ctx context.Context, a *app.App, c *client.Client, id string) error {
	task, err := c.Task(ctx, id)
	if err != nil || len(task.Allocations) == 0 {
		return err
	}
	last := task.Allocations[0]
	if last.StatusCode == nil || *last.StatusCode == 0 {
		return nil
	}
	text := fmt.Sprintf("Command %s ended with status %d", id, *last.StatusCode)
	if why := last.ExitReason; why != nil && *why != "" && *why != fmt.Sprintf("exit code %d", *last.StatusCode) {
		text += ": " + *why
	}
	fmt.Fprintln(a.IO.Err, a.IO.ErrStyle().Red(text))
	return exit.Status(exit.Failed)
}

func (o runOptions) files(a *app.App) ([]v1.File, error) {
	if o.context != "" {
		if info, err := os.Stat(o.context); err == nil && !info.IsDir() {
			return nil, fault.New(fault.Invalid, "the context %s must be a folder; send a file with --include", o.context)
		}
	}
	return upload.Gather(a.IO, o.context, o.includes)
}

// config joins file, overrides, volumes and the program. The program of the file
// goes before the one on the command line, as with Determined's client.
func (o runOptions) config() (v1.Struct, error) {
	name, text := "the configuration", []byte("{}")
	if o.configFile != "" {
		var err error
		name = o.configFile
		if text, err = os.ReadFile(o.configFile); err != nil {
			return nil, fault.New(fault.Invalid, "cannot read the configuration: %w", err)
		}
	}
	text, err := expconf.ApplyOverrides(name, text, o.overrides)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s", err)
	}
	if _, _, err := expconf.ParseCommand(name, text); err != nil {
		return nil, fault.New(fault.Invalid, "%s", err)
	}
	raw, err := input.YAML(name, text)
	if err != nil {
		return nil, err
	}
	config := map[string]any{}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", name, err)
	}
	if err := addVolumes(config, o.volumes); err != nil {
		return nil, err
	}
	if config["entrypoint"] == nil {
		if len(o.entrypoint) == 0 {
			return nil, &exit.UsageError{Message: "det command run needs a program to run", Hint: "See `det command run --help`."}
		}
		config["entrypoint"] = o.entrypoint
	}
	return v1.StructOf(config), nil
}

func addVolumes(config map[string]any, volumes []string) error {
	if len(volumes) == 0 {
		return nil
	}
	mounts, _ := config["bind_mounts"].([]any)
	for _, v := range volumes {
		host, container, ok := strings.Cut(v, ":")
		if !ok || host == "" || container == "" {
			return &exit.UsageError{Message: fmt.Sprintf("--volume %s is not of the form <host path>:<container path>", v)}
		}
		mounts = append(mounts, map[string]string{"host_path": host, "container_path": container})
	}
	config["bind_mounts"] = mounts
	return nil
}
