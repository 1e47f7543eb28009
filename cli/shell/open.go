package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/cli/internal/tokens"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/quote"
	v1 "github.com/detent-ml/detent/master/v1"
)

type startOptions struct {
	tasks.Launch
	show bool
}

const startLong = `Starts a shell, waits until it is ready, and logs in to it.

Arguments after -- are passed to ssh: options, or a program to run. The shell
continues to run after you log out; end it with det shell kill.`

func newStart(a *app.App) *cobra.Command {
	var o startOptions
	cmd := &cobra.Command{
		Use:   "start [flags] [-- SSH_OPTION...]",
		Short: "start a shell",
		Long:  startLong,
		Example: `  det shell start --config resources.slots=1
  det shell start -- -L 8080:localhost:8080`,
		Args: cobra.ArbitraryArgs, // ssh's
		RunE: func(cmd *cobra.Command, given []string) error { return o.start(cmd.Context(), a, given) },
	}
	o.Flags(cmd, "shell")
	cmd.Flags().BoolVar(&o.show, "show-ssh-command", false, "print the ssh command before it is run")
	return cmd
}

func (o *startOptions) start(ctx context.Context, a *app.App, options []string) error {
	c, r, err := o.Request(ctx, a, nil)
	if err != nil {
		return err
	}
	resp, err := client.Send(ctx, c, v1.CreateShell, v1.LaunchShellRequest{Config: r.Config, Files: r.Files, TemplateName: r.Template, WorkspaceID: r.WorkspaceID})
	if err != nil {
		return err
	}
	if o.Launched(a, "shell", resp.Shell.ID, resp.Shell.Description, resp.Warnings, resp.Remarks) {
		return nil
	}
	if err := kind().Await(ctx, a, c, resp.Shell.ID); err != nil {
		return err
	}
	return logIn(ctx, a, c, resp.Shell.ID, options, o.show)
}

func newOpen(a *app.App) *cobra.Command {
	var show bool
	k := kind()
	cmd := &cobra.Command{
		Use:   "open SHELL_ID [-- SSH_OPTION...]",
		Short: "log in to a shell",
		Long: `Logs in to a shell. Arguments after -- are passed to ssh: options, or a program
to run. The exit status is ssh's.`,
		Example: `  det shell open 2fb1c3e0
  det shell open 2fb1c3e0 -- nvidia-smi`,
		Args:              args.AtLeastOne(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: k.OnUsable(a, func(ctx context.Context, c *client.Client, id string, given []string) error {
			return logIn(ctx, a, c, id, given[1:], show)
		}),
	}
	cmd.Flags().BoolVar(&show, "show-ssh-command", false, "print the ssh command before it is run")
	return cmd
}

// logIn runs ssh. Its keys are in a temporary folder until ssh has ended.
func logIn(ctx context.Context, a *app.App, c *client.Client, id string, options []string, show bool) error {
	resp, err := client.Call(ctx, c, v1.GetShell, id)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "det-shell-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	argv, err := prepare(a, dir, resp.Shell, options)
	if err != nil {
		return err
	}
	if show {
		a.Printf("%s\n", words(argv))
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return fault.New(fault.Invalid, "ssh is not on PATH; install OpenSSH's client (Debian: apt-get install openssh-client)")
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.IO.In, a.IO.Out, a.IO.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var ended *exec.ExitError
	if err := cmd.Run(); errors.As(err, &ended) && ended.ExitCode() > 0 {
		return exit.Status(ended.ExitCode())
	} else if err != nil {
		return fmt.Errorf("ssh: %w", err)
	}
	return nil
}

func prepare(a *app.App, dir string, s v1.Shell, options []string) ([]string, error) {
	k, err := writeKeys(dir, s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return command(a, self, s, k, options)
}

const showLong = `Prints the ssh command that logs in to a shell, for editors and other programs
that start ssh themselves. The shell's keys are in the folder of det's settings,
and only you can read them.`

func newShowCommand(a *app.App) *cobra.Command {
	k := kind()
	return &cobra.Command{
		Use:               "show-ssh-command SHELL_ID [-- SSH_OPTION...]",
		Aliases:           []string{"show_ssh_command"},
		Short:             "print the ssh command that logs in to a shell",
		Long:              showLong,
		Args:              args.AtLeastOne(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: k.OnUsable(a, func(ctx context.Context, c *client.Client, id string, given []string) error {
			resp, err := client.Call(ctx, c, v1.GetShell, id)
			if err != nil {
				return err
			}
			dir, err := tokens.ConfigDir(a.Env)
			if err != nil {
				return err
			}
			argv, err := prepare(a, filepath.Join(dir, "shells"), resp.Shell, given[1:])
			return a.Say(err, "%s\n", words(argv))
		}),
	}
}

// words quotes a command line for a shell.
func words(argv []string) string {
	quoted := make([]string, len(argv))
	for i, w := range argv {
		if quoted[i] = w; strings.ContainsAny(w, " \t\n'\"\\$`&|;<>()*?[]#~!{}%") || w == "" {
			quoted[i] = quote.Shell(w)
		}
	}
	return strings.Join(quoted, " ")
}
