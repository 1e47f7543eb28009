package trial

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

const bundleLong = `Writes det-bundle-trial-<id>-<time>.tar.gz, to analyse a failure: the logs of the
trial and of the master, the master's records of the experiment and the trial, all
metric reports, and all attempts with the reasons why they ended.

det masks the secrets of the configuration. It does not mask what the program printed.`

func newSupportBundle(a *app.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "support-bundle TRIAL_ID",
		Short: "collect logs, metrics and records of a trial in one archive",
		Long:  bundleLong,
		Args:  args.Exactly("the ID of a trial"),
		RunE: app.Checked(a, aTrial, func(context.Context) error {
			if dir == "" {
				return nil
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return fault.New(fault.Invalid, "--output-dir: %s is not a folder", dir)
			}
			return nil
		}, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return runSupportBundle(ctx, a, c, id, dir, a.Now())
		}),
	}
	cmd.Flags().StringVarP(&dir, "output-dir", "o", "", "folder for the archive (default: the current folder)")
	return cmd
}

func runSupportBundle(ctx context.Context, a *app.App, c *client.Client, id int, dir string, now time.Time) error {
	trial, err := c.Trial(ctx, id)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("det-bundle-trial-%d-%s", id, now.Format("20060102T150405"))
	where, err := filepath.Abs(filepath.Join(dir, name+".tar.gz"))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(where, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // logs are private to their owner
	if err != nil {
		return fault.New(fault.Invalid, "cannot write the bundle: %w", err)
	}
	b := newBundle(file, name, now)
	if err := errors.Join(b.fill(ctx, c, trial), b.close(), file.Close()); err != nil {
		_ = os.Remove(where) // an incomplete bundle would look complete
		return err
	}
	for _, missing := range b.missing {
		a.IO.Warn("%s", missing)
	}
	a.Printf("bundle path: %s\n", where)
	return nil
}

// A bundle is a gzipped tar whose files are in one folder.
type bundle struct {
	folder  string
	now     time.Time
	gz      *gzip.Writer
	tar     *tar.Writer
	missing []string // what could not be collected, in words
}

func newBundle(w io.Writer, folder string, now time.Time) *bundle {
	gz := gzip.NewWriter(w)
	return &bundle{folder: folder, now: now, gz: gz, tar: tar.NewWriter(gz)}
}

func (b *bundle) close() error { return errors.Join(b.tar.Close(), b.gz.Close()) }

// fill writes the files: first the four of Determined's bundle with the same names, then
// Detent's.
func (b *bundle) fill(ctx context.Context, c *client.Client, trial *v1.Trial) error {
	if err := b.stream("trial_logs.txt", func(w io.Writer) error {
		for record, err := range c.TrialLogs(ctx, trial.ID, client.LogQuery{}) {
			if err != nil {
				return err
			}
			if _, err := io.WriteString(w, record.Message); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := b.masterLogs(ctx, c); err != nil {
		return err
	}
	experiment, err := client.Call(ctx, c, v1.GetExperiment, trial.ExperimentID)
	if err != nil {
		return err
	}
	experiment.Experiment.OriginalConfig = "" // as submitted, with its secrets; the complete configuration has the rest
	workloads, err := client.List(ctx, c, v1.ListTrialWorkloads, client.Page{Limit: 1000}, nil, trial.ID)
	if err != nil {
		return err
	}
	var tasks []v1.Task // each with its attempts
	for _, id := range trial.TaskIDs {
		task, err := c.Task(ctx, id)
		if err != nil {
			return err
		}
		tasks = append(tasks, *task)
	}
	return errors.Join(b.message("api_experiment_call.json", experiment), b.message("api_trial_call.json", trial),
		b.message("workloads.json", workloads), b.message("tasks.json", tasks))
}

// message writes a message of the API.
func (b *bundle) message(name string, m any) error {
	var text bytes.Buffer
	if err := (output.Format{JSON: true}).Messages(&text, m); err != nil {
		return err
	}
	return b.add(name, int64(text.Len()), &text)
}

// masterLogs writes the master's log, or why the user may not read it.
func (b *bundle) masterLogs(ctx context.Context, c *client.Client) error {
	const name = "master_logs.txt"
	err := b.stream(name, func(w io.Writer) error {
		for r, err := range c.MasterLogs(ctx, false, 0) {
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(w, output.LogLine(r.LogEntry)); err != nil {
				return err
			}
		}
		return nil
	})
	if !fault.Is(err, fault.Forbidden) {
		return err
	}
	b.missing = append(b.missing, name+" is left out: "+err.Error())
	return nil
}

// stream writes a file whose length is known only at its end.
func (b *bundle) stream(name string, write func(io.Writer) error) error {
	held, err := os.CreateTemp("", "det-bundle-")
	if err != nil {
		return fault.New(fault.Invalid, "cannot write the bundle: %w", err)
	}
	defer func() {
		_ = held.Close()
		_ = os.Remove(held.Name())
	}()
	if err := write(held); err != nil {
		return err
	}
	size, err := held.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err := held.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return b.add(name, size, held)
}

func (b *bundle) add(name string, size int64, content io.Reader) error {
	header := &tar.Header{Name: path.Join(b.folder, name), Mode: 0o644, Size: size, ModTime: b.now, Typeflag: tar.TypeReg}
	if err := b.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(b.tar, content)
	return err
}
