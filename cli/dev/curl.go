package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/quote"
)

type curlOptions struct {
	show bool
	path string
	args []string
}

func newCurl(a *app.App) *cobra.Command {
	var o curlOptions
	cmd := &cobra.Command{
		Use:     "curl [-x] PATH [CURL_ARGUMENT...]",
		Aliases: []string{"c"},
		Short:   "call curl with the session's token",
		Long: `Calls curl with a path of the master and the session's token. Arguments after the
path are passed to curl. On a terminal det indents JSON.`,
		Example:               "  det dev curl /api/v1/experiments\n  det dev curl /api/v1/experiments/3/pause -X POST",
		DisableFlagsInUseLine: true,
		Args:                  args.AtLeastOne("a path, such as /api/v1/me"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.path, o.args = given[0], given[1:]
			return runCurl(cmd.Context(), a, o)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVarP(&o.show, "show", "x", false, "print the command, including the token")
	return cmd
}

func runCurl(ctx context.Context, a *app.App, o curlOptions) error {
	if strings.Contains(o.path, "://") || strings.HasPrefix(o.path, "//") {
		return &exit.UsageError{Message: "det dev curl expects a path, not a whole address; select the master with -m"}
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		return fault.New(fault.Invalid, "curl is not installed on this machine")
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Me(ctx); err != nil { // signs in again if necessary
		return err
	}
	header := "Authorization: Bearer " + c.Token()
	argv := append([]string{c.Master() + "/" + strings.TrimLeft(o.path, "/"), "-s", "--globoff"}, o.args...)
	if o.show {
		a.Printf("curl -H %s %s\n", quote.Word(header), quoteAll(argv))
	}
	return call(ctx, a, curl, header, argv)
}

// call passes the header to curl through a pipe, because all users of the machine can read the
// arguments of a process.
func call(ctx context.Context, a *app.App, curl, header string, argv []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := w.WriteString(header + "\n"); err != nil { // fits into the buffer of a pipe
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, curl, append([]string{"-H", "@/dev/fd/3"}, argv...)...)
	cmd.ExtraFiles = []*os.File{r}
	cmd.Stdin, cmd.Stderr, cmd.Stdout = a.IO.In, a.IO.Err, a.IO.Out
	var body bytes.Buffer
	if a.IO.OutTTY {
		cmd.Stdout = &body
	}
	err = cmd.Run()
	if a.IO.OutTTY {
		var pretty bytes.Buffer
		if output.JSON(&pretty, body.Bytes()) == nil {
			body = pretty
		}
		if _, werr := body.WriteTo(a.IO.Out); err == nil {
			err = werr
		}
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Status(ended.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("curl: %w", err)
	}
	return nil
}

func quoteAll(argv []string) string {
	return strings.Join(each.Of(argv, quote.Word), " ")
}
