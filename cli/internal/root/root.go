// Package root joins the commands of det, and converts their errors to messages and exit
// statuses.
package root

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/agent"
	"github.com/detent-ml/detent/cli/audit"
	"github.com/detent-ml/detent/cli/auth"
	"github.com/detent-ml/detent/cli/checkpoint"
	"github.com/detent-ml/detent/cli/command"
	"github.com/detent-ml/detent/cli/completion"
	"github.com/detent-ml/detent/cli/configpolicies"
	"github.com/detent-ml/detent/cli/deploy"
	"github.com/detent-ml/detent/cli/dev"
	"github.com/detent-ml/detent/cli/experiment"
	"github.com/detent-ml/detent/cli/imports"
	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/job"
	"github.com/detent-ml/detent/cli/master"
	"github.com/detent-ml/detent/cli/model"
	"github.com/detent-ml/detent/cli/notebook"
	"github.com/detent-ml/detent/cli/pool"
	"github.com/detent-ml/detent/cli/preview"
	"github.com/detent-ml/detent/cli/project"
	"github.com/detent-ml/detent/cli/queue"
	"github.com/detent-ml/detent/cli/quota"
	"github.com/detent-ml/detent/cli/rbac"
	"github.com/detent-ml/detent/cli/resources"
	"github.com/detent-ml/detent/cli/secret"
	"github.com/detent-ml/detent/cli/shell"
	"github.com/detent-ml/detent/cli/slot"
	"github.com/detent-ml/detent/cli/task"
	"github.com/detent-ml/detent/cli/template"
	"github.com/detent-ml/detent/cli/tensorboard"
	"github.com/detent-ml/detent/cli/token"
	"github.com/detent-ml/detent/cli/trial"
	"github.com/detent-ml/detent/cli/user"
	"github.com/detent-ml/detent/cli/usergroup"
	"github.com/detent-ml/detent/cli/version"
	"github.com/detent-ml/detent/cli/webhook"
	"github.com/detent-ml/detent/cli/workspace"
	"github.com/detent-ml/detent/master/v1"
)

// Main runs det as a process and returns its exit status.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // a second interrupt ends the process at once
		<-ctx.Done()
		stop()
	}()
	return Run(ctx, app.New(), os.Args[1:])
}

// Run runs one command line.
func Run(ctx context.Context, a *app.App, args []string) int {
	cmd := Command(a)
	cmd.SetArgs(args)
	began := false
	watch(cmd, &began)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exit.OK
	}
	if !began {
		err = usage(err)
	}
	explain(ctx, a, err)
	if ctx.Err() != nil {
		return exit.Interrupted
	}
	return exit.Code(err)
}

// watch records when a command begins to run: errors before that are errors in the command
// line.
func watch(cmd *cobra.Command, began *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*began = true
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		watch(sub, began)
	}
}

func usage(err error) error {
	if _, ok := errors.AsType[*exit.UsageError](err); ok {
		return err
	}
	return &exit.UsageError{Message: groupError(err.Error()), Hint: "See the command's --help."}
}

// groups are cobra's messages about flags of which one or all must be given, with what they mean.
var groups = []struct {
	cobra *regexp.Regexp
	means string
}{
	{regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required$`), "give at least one of %s"},
	{regexp.MustCompile(`^if any flags in the group \[(?:.*)\] are set none of the others can be; \[(.*)\] were all set$`), "give only one of %s"},
	{regexp.MustCompile(`^if any flags in the group \[(.*)\] are set they must all be set; missing \[.*\]$`), "give all of %s, or none"},
}

// groupError says cobra's messages about groups of flags with the flags as one types them.
func groupError(message string) string {
	for _, g := range groups {
		if m := g.cobra.FindStringSubmatch(message); m != nil {
			return fmt.Sprintf(g.means, "--"+strings.Join(strings.Fields(m[1]), ", --"))
		}
	}
	return message
}

const long = `det submits experiments, follows them, and manages their results.

The flag -m or the variable DET_MASTER sets the master's address (default localhost:8080).`

// Command is the tree of all commands.
func Command(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:               "det",
		Short:             "deep learning training on Nomad",
		Long:              long,
		Version:           v1.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		TraverseChildren:  true, // -m before a verb names the master, also where the verb has another -m
	}
	noun.Group(root, nil)
	root.SetVersionTemplate(versionText())
	root.SetOut(a.IO.Out)
	root.SetErr(a.IO.Err)
	root.SetIn(a.IO.In)
	root.PersistentFlags().StringVarP(&a.Master, "master", "m", "", "address of the master")
	root.PersistentFlags().StringVarP(&a.User, "user", "u", "", "act as this user")
	root.Flags().BoolP("version", "v", false, "print the version and exit")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &exit.UsageError{
			Message: flagError(err),
			Hint:    "See `" + cmd.CommandPath() + " --help`.",
		}
	})
	root.AddGroup(&cobra.Group{ID: "work", Title: "Work:"}, &cobra.Group{ID: "cluster", Title: "Cluster:"}, &cobra.Group{ID: "users", Title: "Users:"})
	add(root, "work", experiment.New(a), preview.New(a), trial.New(a), checkpoint.New(a), model.New(a),
		notebook.New(a), shell.New(a), command.New(a), tensorboard.New(a), task.New(a), template.New(a), imports.New(a))
	add(root, "cluster", master.New(a), agent.New(a), slot.New(a), job.New(a), queue.New(a), pool.New(a), configpolicies.New(a), quota.New(a), resources.New(a), webhook.New(a), audit.New(a), deploy.New(a))
	add(root, "users", user.New(a), usergroup.New(a), rbac.New(a), auth.New(a), token.New(a), secret.New(a), workspace.New(a), project.New(a))
	root.AddCommand(dev.New(a), version.New(a), completion.New(a))
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short = "explain any command"
		}
	}
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// versionText is what --version prints. Programs in tasks compare it with the version of Determined.
func versionText() string {
	if os.Getenv("DET_TASK_ID") != "" {
		return "det " + v1.Compatible + "\n"
	}
	return "det " + v1.Version + " (interface of Determined " + v1.Compatible + ")\n"
}

// numbers are what Go says of texts that are not the number that a flag takes.
var numbers = regexp.MustCompile(`^invalid argument ("(?:[^"\\]|\\.)*") for "(?:-\w, )?(--[\w-]+)" flag: strconv\.Parse(\w+): .*: (invalid syntax|value out of range)$`)

// flagError says what is wrong with a flag, without the words of Go's packages.
func flagError(err error) string {
	text := strings.TrimPrefix(err.Error(), "pflag: ")
	m := numbers.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	want := map[string]string{"Int": "a whole number", "Uint": "a whole number", "Float": "a number", "Bool": "true or false"}[m[3]]
	if m[4] != "invalid syntax" {
		want = "a number that is nearer to 0"
	}
	return fmt.Sprintf("%s: expected %s, found %s", m[2], want, m[1])
}
