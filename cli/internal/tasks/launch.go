package tasks

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
	"github.com/detent-ml/detent/cli/internal/upload"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/v1"
)

// Launch has the flags of a task's start.
type Launch struct {
	configFile                   string
	volumes, includes, overrides []string
	context, workspace, template string

	// Detach prints the ID and returns at once.
	Detach bool
}

// Flags adds the flags that all starts of tasks have.
func (o *Launch) Flags(cmd *cobra.Command, noun string) {
	f := cmd.Flags()
	f.StringVar(&o.configFile, "config-file", "", "configuration of the "+noun+", in YAML")
	f.StringArrayVarP(&o.volumes, "volume", "v", nil, "mount <host path>:<container path> (may be repeated)")
	f.StringVarP(&o.context, "context", "c", "", "also send the files of this folder")
	f.StringArrayVarP(&o.includes, "include", "i", nil, "also send this file or folder, under its own name (may be repeated)")
	f.StringVarP(&o.workspace, "workspace-name", "w", "", "run in this workspace")
	f.StringArrayVar(&o.overrides, "config", nil, "override a field: path=value, as in resources.slots=2 (may be repeated)")
	f.StringVar(&o.template, "template", "", "use this template for fields that the configuration does not set")
	f.BoolVarP(&o.Detach, "detach", "d", false, "print the ID and return at once")
}

// A Request is the part of a launch request that all kinds share.
type Request struct {
	Config      v1.Struct
	Files       []v1.File
	Template    *string
	WorkspaceID *int
}

// Request reads the files that the flags name, and finds the workspace. program is that of the
// command line; a program in the configuration wins.
func (o *Launch) Request(ctx context.Context, a *app.App, program []string) (*client.Client, Request, error) {
	var r Request
	var err error
	if r.Config, err = o.config(program); err != nil {
		return nil, r, err
	}
	if r.Files, err = o.files(a); err != nil {
		return nil, r, err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return nil, r, err
	}
	r.Template = optional.NonZero(o.template)
	if o.workspace == "" {
		return c, r, nil
	}
	w, err := c.WorkspaceByName(ctx, o.workspace)
	if err != nil {
		return nil, r, err
	}
	if w.Archived {
		return nil, r, fault.New(fault.Invalid, "workspace %q is archived; unarchive it first", o.workspace)
	}
	r.WorkspaceID = &w.ID
	return c, r, nil
}

func (o *Launch) files(a *app.App) ([]v1.File, error) {
	if o.context != "" {
		if info, err := os.Stat(o.context); err == nil && !info.IsDir() {
			return nil, fault.New(fault.Invalid, "the context %s must be a folder; send a file with --include", o.context)
		}
	}
	return upload.Gather(a.IO, o.context, o.includes)
}

// config merges the file, overrides, volumes and the program. As in Determined's client, a
// program in the file wins over the one on the command line.
func (o *Launch) config(program []string) (v1.Struct, error) {
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
	if config["entrypoint"] == nil && len(program) > 0 {
		config["entrypoint"] = program
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

// Launched prints which task was started; it returns whether --detach is set.
func (o *Launch) Launched(a *app.App, noun, id, name string, warnings []v1.LaunchWarning, remarks []string) (done bool) {
	upload.Remark(a.IO, warnings, remarks, nil)
	if o.Detach {
		a.Printf("%s\n", id)
		return true
	}
	a.Done("Launched %s (id: %s, name: %s).", noun, id, name)
	return false
}
