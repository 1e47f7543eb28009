// Package audit has the command det audit: who did what on the cluster.
package audit

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// New is det audit.
func New(a *app.App) *cobra.Command {
	return noun.New("audit", "show who did what on the cluster (administrators)", nil, nil, newList(a), newExport(a))
}

// filters are the flags that choose entries.
type filters struct {
	request      v1.GetAuditRequest
	since, until string
}

func (f *filters) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.request.Username, "user", "", "only the calls of this user")
	cmd.Flags().StringVar(&f.request.Kind, "kind", "", "only calls about this kind of object, such as experiment or user")
	cmd.Flags().StringVar(&f.request.Object, "object", "", "only calls about the object with this id or name")
	cmd.Flags().StringVar(&f.request.Verb, "verb", "", "only create, edit, change, enter, view, administer, login or logout")
	cmd.Flags().IntVar(&f.request.WorkspaceID, "workspace-id", 0, "only calls about objects in the workspace with this id")
	cmd.Flags().BoolVar(&f.request.Failed, "failed", false, "only calls that failed or have no result")
	cmd.Flags().StringVar(&f.since, "since", "", "only entries since this time, or younger than this duration: 2026-11-20T23:17:12Z, 24h")
	cmd.Flags().StringVar(&f.until, "until", "", "only entries before this time, or older than this duration")
}

func (f *filters) read(now time.Time) (v1.GetAuditRequest, error) {
	var err error
	if f.request.Since, err = moment("--since", f.since, now); err != nil {
		return f.request, err
	}
	f.request.Until, err = moment("--until", f.until, now)
	return f.request, err
}

// moment parses a time, or a duration before now.
func moment(flag, value string, now time.Time) (*time.Time, error) {
	if value == "" {
		return nil, nil
	}
	if age, err := time.ParseDuration(value); err == nil && age >= 0 {
		return new(now.Add(-age)), nil
	}
	t, err := v1.ParseTime(value)
	if err != nil {
		return nil, &exit.UsageError{Message: fmt.Sprintf("%s %q is not a time; write it as 2026-11-20T23:17:12Z, or as a duration such as 24h", flag, value)}
	}
	return &t, nil
}

func newList(a *app.App) *cobra.Command {
	var f filters
	var limit int
	var format output.Format
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list entries of the audit trail, the newest first",
		Args:    args.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request, err := f.read(time.Now())
			if err != nil {
				return err
			}
			if limit < 1 {
				return args.Wrong(cmd, "--limit %d: expected a number from 1", limit)
			}
			return runList(cmd.Context(), a, request, limit, format)
		},
	}
	f.flags(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "number of entries")
	format.Flags(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, request v1.GetAuditRequest, limit int, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	list, err := client.Collect(c.Audit(ctx, request, limit))
	if err != nil {
		return err
	}
	t := table.New("ID", "Time", "User", "Verb", "Kind", "Object", "Names", "Result", "Times", "Credential", "Address", "Call")
	for _, e := range list {
		t.Row(e.ID, e.Time, e.Username, e.Verb, e.Kind, e.Object, string(e.Names), result(e), e.Times, e.Credential, e.Address, e.Method+" "+e.Path)
	}
	return format.Print(a.IO, t, list)
}

// result is the result of a call, in a word or with its error.
func result(e v1.AuditEntry) string {
	switch {
	case e.Status == nil:
		return "unknown: the master ended first"
	case e.Error != "":
		return fmt.Sprintf("%d %s", *e.Status, e.Error)
	case *e.Status >= 400:
		return fmt.Sprint(*e.Status)
	}
	return "ok"
}

func newExport(a *app.App) *cobra.Command {
	var f filters
	cmd := &cobra.Command{
		Use:   "export",
		Short: "print all entries as lines of JSON, the newest first",
		Args:  args.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request, err := f.read(time.Now())
			if err != nil {
				return err
			}
			return runExport(cmd.Context(), a, request)
		},
	}
	f.flags(cmd)
	return cmd
}

func runExport(ctx context.Context, a *app.App, request v1.GetAuditRequest) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.IO.Out)
	for e, err := range c.Audit(ctx, request, 0) {
		if err != nil {
			return err
		}
		line, err := v1.Marshal(e)
		if err != nil {
			return err
		}
		_, _ = out.Write(append(line, '\n')) // Flush returns the error
	}
	return out.Flush()
}
