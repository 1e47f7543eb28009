package imports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/tfevents"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

const tensorBoardLong = `Reads the scalars that TensorFlow, PyTorch, Keras, Lightning and others have written for
TensorBoard, and reports them as metrics of an unmanaged experiment. Each folder with event
files is a run, as in TensorBoard, and becomes a trial. Sub-folders train and validation, which
Keras writes, are the training and validation metrics of one run; elsewhere the names of tags
decide (eval/loss and val_loss are validations). Hyperparameters of TensorBoard's plugin become
those of the trial. Graphs, images and histograms are not read.

Repeat the command as often as you like: it reports only what is new, also in files that a
program still writes. If a file is damaged, what stands before the damage is imported, and the
exit status is 1.`

func newTensorBoard(a *app.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "tensorboard FOLDER",
		Short:   "report the scalars of TensorBoard's event files",
		Long:    tensorBoardLong,
		Example: "  det import tensorboard runs\n  det import tensorboard logs --workspace Vision --project old --metric eval/accuracy --larger-is-better",
		Args:    oneFolder,
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			return runTensorBoard(ctx, a, c, given[0], o)
		}),
	}
	o.flags(cmd)
	return cmd
}

// events are the event files of a run.
type events struct {
	run   string // its folder below the one that is imported; "." for that one
	files []eventFile
}

type eventFile struct {
	path  string // below the folder that is imported
	group string // "": the names of tags decide
}

func runTensorBoard(ctx context.Context, a *app.App, c *client.Client, given string, o options) error {
	root, err := folder(given)
	if err != nil {
		return err
	}
	runs, err := findEvents(root)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return &exit.UsageError{Message: fmt.Sprintf("%s has no file whose name has tfevents, also not in its sub-folders", given)}
	}
	e := experiment{externalID: o.externalID, name: orBase(o.name, root), notes: "imported from TensorBoard's files in " + root, labels: []string{"tensorboard"}, options: o}
	if e.externalID == "" {
		if e.externalID, err = identity(ctx, c, "tensorboard", root); err != nil {
			return err
		}
	}
	s := sender{a: a, c: c, from: "tensorboard"}
	var done outcome
	for _, of := range runs {
		m, err := s.earlier(ctx, e.externalID, of.run)
		if err != nil {
			return err
		}
		r, damaged, err := readEvents(root, of, m)
		if err != nil {
			return err
		}
		done.damaged, done.left = append(done.damaged, damaged...), done.left+r.left
		if len(r.points) == 0 && len(r.hparams) == 0 {
			continue
		}
		if s.experiment == 0 {
			metric := o.metric
			if metric == "" {
				metric = searcherMetric([]*run{r})
			}
			if s.experiment, err = e.put(ctx, c, metric); err != nil {
				return err
			}
		}
		if err := s.all(ctx, r, m, &done); err != nil {
			return err
		}
	}
	if s.experiment == 0 {
		a.IO.Warn("the files in %s have no scalars", given)
		return done.finish(a, nil)
	}
	return done.finish(a, []int{s.experiment})
}

// earlier is the mark of an earlier import of a run; an empty one if there was none.
func (s sender) earlier(ctx context.Context, experiment, run string) (*mark, error) {
	got, err := client.Call(ctx, s.c, v1.GetTrialByExternalID, experiment, externalTrial(run))
	if fault.Is(err, fault.NotFound) {
		return &mark{From: s.from}, nil
	}
	if err != nil {
		return nil, err
	}
	m, _, err := s.marked(ctx, got.Trial.ID)
	return m, err
}

// all creates the trial of a run and reports what is new.
func (s sender) all(ctx context.Context, r *run, m *mark, done *outcome) error {
	id, err := s.trial(ctx, r)
	if err != nil {
		return err
	}
	values, err := s.send(ctx, r, id, m)
	if err != nil {
		return err
	}
	if done.values += values; values > 0 {
		done.runs++
		s.a.Printf("trial %d: %d values of %s\n", id, values, r.name)
	}
	return nil
}

// externalTrial is the external id of a run: its name, without slashes, which external ids do not have.
func externalTrial(run string) string {
	const maxLength = 400
	if run == "." { // which an address cannot have as a part
		return "(the folder itself)"
	}
	id := strings.ReplaceAll(run, "/", ":")
	if strings.Contains(run, ":") || len(id) > maxLength {
		sum := sha256.Sum256([]byte(run))
		id = strings.ToValidUTF8(id[:min(len(id), maxLength)], "") + "-" + hex.EncodeToString(sum[:4])
	}
	return id
}

// findEvents finds the event files below a folder, by their runs.
func findEvents(root string) ([]events, error) {
	found := map[string][]eventFile{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() || !strings.Contains(d.Name(), "tfevents") {
			return nil
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		run, group := runOf(path.Dir(below))
		found[run] = append(found[run], eventFile{below, group})
		return nil
	})
	if err != nil {
		return nil, err
	}
	joinHParams(found)
	var list []events
	for _, run := range slices.Sorted(maps.Keys(found)) {
		files := found[run]
		slices.SortFunc(files, func(a, b eventFile) int { return strings.Compare(a.path, b.path) })
		list = append(list, events{run, files})
	}
	return list, nil
}

// hparamsFolder is the name of the sub-folder in which add_hparams of PyTorch's SummaryWriter stores hyperparameters: the time.
var hparamsFolder = regexp.MustCompile(`^[0-9]{9,11}\.[0-9]+$`)

// joinHParams lets a run have the hyperparameters that its program stored with add_hparams. If there are several sub-folders of
// hyperparameters, nothing says which of them trained: they remain runs of their own, as in TensorBoard.
func joinHParams(found map[string][]eventFile) {
	folders := map[string][]string{}
	for run := range found {
		if parent := path.Dir(run); hparamsFolder.MatchString(path.Base(run)) && found[parent] != nil {
			folders[parent] = append(folders[parent], run)
		}
	}
	for parent, runs := range folders {
		if len(runs) == 1 {
			found[parent] = append(found[parent], found[runs[0]]...)
			delete(found, runs[0])
		}
	}
}

// runOf is the run of a folder, and the group of its metrics if the name of the folder says one.
func runOf(dir string) (run, group string) {
	switch path.Base(dir) {
	case "train", "training":
		return path.Dir(dir), training
	case "validation", "valid", "val", "eval", "evaluation", "test":
		return path.Dir(dir), validation
	}
	return dir, ""
}

// readEvents reads the files of a run. A value is new if the mark does not have its place.
func readEvents(root string, of events, m *mark) (r *run, damaged []error, err error) {
	r = newRun(of.run)
	for _, f := range of.files {
		end, broken, err := readFile(r, filepath.Join(root, filepath.FromSlash(f.path)), f, m.read(f.path))
		if err != nil {
			return nil, nil, err
		}
		if broken != nil {
			damaged = append(damaged, fmt.Errorf("%s: %w", f.path, broken))
		}
		r.files[f.path] = end
	}
	return r, damaged, nil
}

func readFile(r *run, name string, f eventFile, before int64) (end int64, damaged, err error) {
	in, err := os.Open(name)
	if err != nil {
		return 0, nil, err
	}
	defer in.Close()
	var full error
	end, damaged = tfevents.Read(in, tfevents.Sink{
		Scalar: func(at int64, s tfevents.Scalar) error {
			group := f.group
			if group == "" {
				group = groupOf(s.Tag)
			}
			full = r.add(group, s.Tag, s.Step, s.Time, s.Value, at >= before)
			return full
		},
		Restarted: func(at, step int64) { r.voidFrom(f.group, step, at >= before) },
		HParams:   func(values map[string]any) { maps.Copy(r.hparams, values) },
	})
	if full != nil {
		return 0, nil, full
	}
	return end, damaged, nil
}
