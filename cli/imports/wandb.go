package imports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/wandb"
	"github.com/detent-ml/detent/master/client"
)

const wandbLong = `Reads the runs that W&B has stored in a folder, such as wandb/offline-run-*/run-*.wandb with
WANDB_MODE=offline, and reports their numbers as metrics of unmanaged experiments. Runs of
one group become trials of one experiment, and a run without a group becomes an experiment. The
configuration of a run becomes the hyperparameters of its trial; project, tags and summary
become metadata. Nothing of W&B's is needed, and nothing is sent there.

Repeat the command as often as you like: it reports only what is new. If a file is damaged, what
stands before the damage is imported, and the exit status is 1.`

func newWandB(a *app.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "wandb FOLDER",
		Short:   "report the runs of an offline folder of W&B",
		Long:    wandbLong,
		Example: "  det import wandb wandb\n  det import wandb . --workspace Vision --project old",
		Args:    oneFolder,
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			return runWandB(ctx, a, c, given[0], o)
		}),
	}
	o.flags(cmd)
	return cmd
}

// logged are the files of one run of W&B: a run that was resumed has several.
type logged struct {
	about wandb.Run
	files []string // below the folder
}

// runFolder is the name of a folder that W&B makes for a run, such as offline-run-20261130_120000-shapes01.
var runFolder = regexp.MustCompile(`^(offline-)?run-`)

// set identifies the experiment of a run.
func (l logged) set() string {
	if l.about.Group != "" {
		return "group\x00" + l.about.Group
	}
	return "run\x00" + l.about.ID
}

func runWandB(ctx context.Context, a *app.App, c *client.Client, given string, o options) error {
	root, err := folder(given)
	if err != nil {
		return err
	}
	runs, damaged, err := findLogged(root)
	if err != nil {
		return err
	}
	if len(runs) == 0 && len(damaged) == 0 {
		return &exit.UsageError{Message: fmt.Sprintf("%s has no file *.wandb, also not in its sub-folders", given)}
	}
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	done := outcome{damaged: damaged}
	var made []int
	sets := map[string]int{}
	for _, of := range runs {
		// W&B's own names identify a run, so that a folder that was moved is known again.
		set := strings.Join([]string{strconv.Itoa(me.ID), of.about.Entity, of.about.Project, of.set()}, "\x00")
		sum := sha256.Sum256([]byte(set))
		e := experiment{externalID: cmp.Or(o.externalID, "wandb-"+hex.EncodeToString(sum[:16])), name: cmp.Or(o.name, of.about.Group, of.about.Name, of.about.ID),
			notes: "imported from W&B's project " + of.about.Project, labels: []string{"wandb"}, options: o}
		s := sender{a: a, c: c, from: "wandb", experiment: sets[e.externalID]}
		m, err := s.earlier(ctx, e.externalID, of.about.ID)
		if err != nil {
			return err
		}
		r, err := readLogged(root, of, m)
		if err != nil {
			return err
		}
		done.left += r.left
		if s.experiment == 0 {
			if s.experiment, err = e.put(ctx, c, cmp.Or(o.metric, searcherMetric([]*run{r}))); err != nil {
				return err
			}
			sets[e.externalID] = s.experiment
			made = append(made, s.experiment)
		}
		if err := s.all(ctx, r, m, &done); err != nil {
			return err
		}
	}
	return done.finish(a, made)
}

// findLogged finds the files below a folder, by their runs. Files without a run are damaged.
func findLogged(root string) (runs []logged, damaged []error, err error) {
	byID := map[string]*logged{}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() || path.Ext(d.Name()) != ".wandb" {
			return nil
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		defer in.Close()
		about, _, broken := wandb.Read(in, func(int64, wandb.Row) error { return nil })
		if broken != nil {
			damaged = append(damaged, fmt.Errorf("%s: %w", below, broken))
		}
		if about.ID == "" {
			if broken == nil {
				damaged = append(damaged, fmt.Errorf("%s has no run", below))
			}
			return nil
		}
		id := about.Entity + "/" + about.Project + "/" + about.ID
		if byID[id] == nil {
			byID[id] = &logged{}
		}
		l := byID[id]
		l.about, l.files = about, append(l.files, filepath.ToSlash(below)) // WalkDir goes by name, so the newest file is the last
		return nil
	})
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		runs = append(runs, *byID[id])
	}
	slices.SortStableFunc(runs, func(a, b logged) int { return strings.Compare(a.files[0], b.files[0]) })
	return runs, damaged, err
}

// readLogged reads the files of a run. Damage was reported before.
func readLogged(root string, of logged, m *mark) (*run, error) {
	r := newRun(of.about.ID)
	for _, name := range of.files {
		in, err := os.Open(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		known := path.Base(name) // in a folder that was moved, too
		dir := path.Base(path.Dir(name))
		if base := filepath.Base(root); dir == "." && runFolder.MatchString(base) { // somebody imports one run alone
			dir = base
		}
		if dir != "." {
			known = dir + "/" + known
		}
		before := m.read(known)
		var full error
		about, end, _ := wandb.Read(in, func(at int64, row wandb.Row) error {
			for name, value := range row.Values {
				if full = r.add(groupOf(name), name, row.Step, row.Time, value, at >= before); full != nil {
					return full
				}
			}
			return nil
		})
		if err := errors.Join(full, in.Close()); err != nil {
			return nil, err
		}
		r.files[known] = end
		maps.Copy(r.hparams, about.Config)
		r.state = stateOf(about.ExitCode)
	}
	r.notes["wandb"] = notesOf(of.about)
	return r, nil
}

// stateOf is the state of a run with an exit code, or without one: then its program may still run.
func stateOf(exitCode *int64) state {
	switch {
	case exitCode == nil:
		return running
	case *exitCode == 0:
		return completed
	}
	return failed
}

// The metadata of a run have bounds of their own, which the rest of W&B's summary must not reach.
const (
	maxNotes   = 300
	maxNoteKey = 50
	maxNote    = 5000
)

// notesOf is what the metadata of a run say of W&B.
func notesOf(about wandb.Run) map[string]any {
	notes := map[string]any{"id": about.ID}
	for name, text := range map[string]string{"entity": about.Entity, "project": about.Project, "group": about.Group, "job_type": about.JobType,
		"name": about.Name, "notes": about.Notes, "host": about.Host} {
		if text != "" && utf8.RuneCountInString(text) <= maxNote {
			notes[name] = text
		}
	}
	if len(about.Tags) > 0 && len(about.Tags) <= 100 {
		notes["tags"] = about.Tags
	}
	summary := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(about.Summary)) {
		text, isText := about.Summary[name].(string)
		_, isNumber := about.Summary[name].(float64)
		if strings.HasPrefix(name, "_") || len(summary) == maxNotes || utf8.RuneCountInString(name) > maxNoteKey || !isNumber && !isText || utf8.RuneCountInString(text) > maxNote {
			continue
		}
		summary[name] = about.Summary[name]
	}
	if len(summary) > 0 {
		notes["summary"] = summary
	}
	return notes
}
