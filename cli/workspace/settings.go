package workspace

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// settings are the flags of create and edit.
type settings struct {
	storage, storageFile string
	compute, aux         string
	uid, gid             int
	user, group          string
	cmd                  *cobra.Command
}

func (s *settings) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.compute, "default-compute-pool", "", "pool of tasks with slots")
	f.StringVar(&s.aux, "default-aux-pool", "", "pool of tasks without slots")
	f.StringVar(&s.storage, "checkpoint-storage-config", "", "checkpoint storage of the workspace, as JSON; {} removes it")
	f.StringVar(&s.storageFile, "checkpoint-storage-config-file", "", "the same in a file, as YAML or JSON")
	f.IntVar(&s.uid, "agent-uid", 0, "user id of the account on nodes that tasks of the workspace run as")
	f.StringVar(&s.user, "agent-user", "", "name of the account")
	f.IntVar(&s.gid, "agent-gid", 0, "group id of the account")
	f.StringVar(&s.group, "agent-group", "", "name of the group")
	s.cmd = cmd
}

// account is the account on nodes; nil if no flag sets it.
func (s *settings) account() *v1.AgentUserGroup {
	g := v1.AgentUserGroup{AgentUid: args.Given(s.cmd, "agent-uid", s.uid), AgentGid: args.Given(s.cmd, "agent-gid", s.gid),
		AgentUser: args.Given(s.cmd, "agent-user", s.user), AgentGroup: args.Given(s.cmd, "agent-group", s.group)}
	if g == (v1.AgentUserGroup{}) {
		return nil
	}
	return &g
}

// checkpoints is the storage as JSON; nil if no flag sets it.
func (s *settings) checkpoints() (v1.Struct, error) {
	name, text := "--checkpoint-storage-config", []byte(s.storage)
	switch {
	case s.storage != "" && s.storageFile != "":
		return nil, &exit.UsageError{Message: "use --checkpoint-storage-config or --checkpoint-storage-config-file, not both"}
	case s.storageFile != "":
		name = s.storageFile
		var err error
		if text, err = os.ReadFile(s.storageFile); err != nil {
			return nil, fault.New(fault.Invalid, "--checkpoint-storage-config-file: %w", err)
		}
	case s.storage == "":
		return nil, nil
	}
	asJSON, err := input.YAML(name, text)
	return v1.Struct(asJSON), err
}

func newCreate(a *app.App) *cobra.Command {
	var s settings
	var format output.Format
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "create a workspace",
		Args:  args.Exactly("a name"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runCreate(cmd.Context(), a, given[0], &s, format)
		},
	}
	s.flags(cmd)
	format.Flags(cmd)
	return cmd
}

func runCreate(ctx context.Context, a *app.App, name string, s *settings, format output.Format) error {
	storage, err := s.checkpoints()
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	resp, err := client.Send(ctx, c, v1.CreateWorkspace, v1.PostWorkspaceRequest{Name: name, AgentUserGroup: s.account(), CheckpointStorageConfig: storage,
		DefaultComputePool: args.Given(s.cmd, "default-compute-pool", s.compute), DefaultAuxPool: args.Given(s.cmd, "default-aux-pool", s.aux)})
	if err != nil {
		return err
	}
	return format.Print(a.IO, workspaceTable([]v1.Workspace{resp.Workspace}, true), &resp.Workspace)
}

func newEdit(a *app.App) *cobra.Command {
	var s settings
	var name string
	var format output.Format
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "change a workspace",
		Args:  args.Exactly("the name of a workspace"),
		RunE: func(cmd *cobra.Command, of []string) error {
			return runEdit(cmd.Context(), a, of[0], args.Given(cmd, "name", name), &s, format)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "new name of the workspace")
	s.flags(cmd)
	format.Flags(cmd)
	return cmd
}

func runEdit(ctx context.Context, a *app.App, of string, name *string, s *settings, format output.Format) error {
	storage, err := s.checkpoints()
	if err != nil {
		return err
	}
	change := v1.PatchWorkspace{Name: name, AgentUserGroup: s.account(), CheckpointStorageConfig: storage,
		DefaultComputePool: args.Given(s.cmd, "default-compute-pool", s.compute), DefaultAuxPool: args.Given(s.cmd, "default-aux-pool", s.aux)}
	if name == nil && change.AgentUserGroup == nil && storage == nil && change.DefaultComputePool == nil && change.DefaultAuxPool == nil {
		return &exit.UsageError{Message: "nothing to change: set --name or another flag"}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	w, err := c.WorkspaceByName(ctx, of)
	if err != nil {
		return err
	}
	resp, err := client.Send(ctx, c, v1.ChangeWorkspace, change, w.ID)
	if err != nil {
		return err
	}
	return format.Print(a.IO, workspaceTable([]v1.Workspace{resp.Workspace}, true), &resp.Workspace)
}
