package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/spelling"
	v1 "github.com/detent-ml/detent/master/v1"
)

// all is the pattern for all files of a checkpoint.
const all = "**/*"

// reportFor is how long a report waits for a master.
const reportFor = 10 * time.Minute

// Reporter receives reports about removed files, and knows which checkpoints there are.
type Reporter interface {
	Freed(ctx context.Context, task string, freed v1.FreedRequest) error
	// Strays returns those of the names that no checkpoint has.
	Strays(ctx context.Context, task string, names []string) ([]string, error)
}

// A removal is the task of the program.
type removal struct {
	task     string
	cluster  string // the cluster's id: the folder with the TensorBoard files of all experiments
	keysFile string // file with the keys of a bucket, replaced when they expire; "": the keys are in the environment
	v1.Collect
}

// remove removes what the file lists. It fails if anything could not be removed.
func remove(ctx context.Context, file, keysFile string, out io.Writer) error {
	r := removal{task: os.Getenv("DET_TASK_ID"), cluster: os.Getenv("DET_CLUSTER_ID"), keysFile: keysFile}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil { // the file may contain a key
		return err
	}
	if err := json.Unmarshal(text, &r.Collect); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	master, err := client.New(client.Options{Master: os.Getenv("DET_MASTER"), TaskToken: os.Getenv("DET_SESSION_TOKEN"),
		UserAgent: "det-remover", Patience: reportFor, Insist: true})
	if err != nil {
		return err
	}
	defer master.Close()
	place, err := r.open(ctx)
	if err != nil {
		return errors.Join(err, r.refuse(ctx, master, err))
	}
	defer place.close()
	return r.run(ctx, place, master, out)
}

// refuse reports for everything that nothing could be removed.
func (r *removal) refuse(ctx context.Context, to Reporter, why error) error {
	var errs []error
	for _, k := range r.Checkpoints {
		errs = append(errs, to.Freed(ctx, r.task, v1.FreedRequest{UUID: k.UUID, Error: why.Error()}))
	}
	if r.Events != "" || r.Sweep != nil {
		errs = append(errs, to.Freed(ctx, r.task, v1.FreedRequest{Error: why.Error()}))
	}
	return errors.Join(errs...)
}

// run removes everything in the list, and reports it. After a failure it continues with the others.
func (r *removal) run(ctx context.Context, in Storage, to Reporter, out io.Writer) error {
	failed := 0
	var files, bytes int64
	for _, k := range r.Checkpoints {
		freed := checkpoint(ctx, in, k, r.cluster)
		freed.say(out, "checkpoint "+k.UUID)
		if err := to.Freed(ctx, r.task, freed.FreedRequest); err != nil {
			return fmt.Errorf("could not report the removal of checkpoint %s: %w", k.UUID, err)
		}
		files, bytes = files+freed.Files, bytes+freed.Bytes
		if freed.Error != "" {
			failed++
		}
	}
	if r.Events != "" {
		freed := events(ctx, in, r.Events)
		freed.say(out, "TensorBoard files in "+r.Events)
		if err := to.Freed(ctx, r.task, freed.FreedRequest); err != nil {
			return fmt.Errorf("could not report the removal of TensorBoard files: %w", err)
		}
		files, bytes = files+freed.Files, bytes+freed.Bytes
		if freed.Error != "" {
			failed++
		}
	}
	if r.Sweep != nil {
		freed := r.sweep(ctx, in, to, out)
		if err := to.Freed(ctx, r.task, freed.FreedRequest); err != nil {
			return fmt.Errorf("could not report the sweep: %w", err)
		}
		if files, bytes = files+freed.Files, bytes+freed.Bytes; freed.Error != "" {
			return errors.New(freed.Error)
		}
	}
	fmt.Fprintf(out, "removed %s in %s\n", spelling.Count(files, "file"), size(bytes))
	if failed > 0 {
		return fmt.Errorf("%d of %d removals failed", failed, len(r.Checkpoints)+min(1, len(r.Events)))
	}
	return nil
}

// freed is the result of one removal.
type freed struct{ v1.FreedRequest }

var plainUUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// checkpoint removes files of one checkpoint. The folder with the cluster's id belongs to no checkpoint, whatever the master says.
func checkpoint(ctx context.Context, in Storage, k v1.CollectCheckpoint, cluster string) freed {
	f := freed{FreedRequest: v1.FreedRequest{UUID: k.UUID}}
	if !plainUUID.MatchString(k.UUID) { // the UUID becomes a path
		f.Error = fmt.Sprintf("%q is not a UUID", k.UUID)
		return f
	}
	if k.UUID == cluster {
		f.Error = fmt.Sprintf("%s is the id of the cluster: its folder has the TensorBoard files of all experiments, and is no checkpoint", k.UUID)
		return f
	}
	before, err := in.List(ctx, k.UUID)
	if err == nil && len(before) == 0 && k.Known > 0 {
		err = in.There(ctx) // an unmounted storage looks empty
	}
	if err != nil {
		f.Error = err.Error()
		return f
	}
	gone := selected(k.Globs, slices.Collect(maps.Keys(before)))
	err = in.Remove(ctx, k.UUID, gone)
	f.account(ctx, in, k.UUID, before, err)
	return f
}

// events removes TensorBoard files.
func events(ctx context.Context, in Storage, dir string) freed {
	var f freed
	if dir != path.Clean(dir) || dir == "." || path.IsAbs(dir) || strings.HasPrefix(dir, "..") {
		f.Error = fmt.Sprintf("%q is not a path inside the storage", dir)
		return f
	}
	before, err := in.List(ctx, dir)
	if err != nil {
		f.Error = err.Error()
		return f
	}
	err = in.Remove(ctx, dir, slices.Collect(maps.Keys(before)))
	f.account(ctx, in, dir, before, err)
	f.Left = nil
	return f
}

// account computes the removed files from the remaining ones.
func (f *freed) account(ctx context.Context, in Storage, dir string, before map[string]int64, failure error) {
	after, err := in.List(ctx, dir)
	if failure = errors.Join(failure, err); failure != nil {
		f.Error = failure.Error()
	}
	if err != nil {
		return
	}
	for name, n := range before {
		if _, left := after[name]; !left && !strings.HasSuffix(name, "/") {
			f.Files, f.Bytes = f.Files+1, f.Bytes+n
		}
	}
	f.Left = &v1.PatchCheckpointOptionalResources{Resources: after}
}

// say prints the result.
func (f freed) say(out io.Writer, what string) {
	left := ""
	if f.Left != nil && len(f.Left.Resources) > 0 {
		left = fmt.Sprintf(", %s left", spelling.Count(len(f.Left.Resources), "entry"))
	}
	fmt.Fprintf(out, "%s: removed %s in %s%s\n", what, spelling.Count(f.Files, "file"), size(f.Bytes), left)
	if f.Error != "" {
		fmt.Fprintf(out, "%s: %s\n", what, f.Error)
	}
}

func size(n int64) string {
	const step = 1024
	if n < step {
		return spelling.Count(n, "byte")
	}
	value, unit := float64(n), 0
	for ; value >= step && unit < 5; unit++ {
		value /= step
	}
	return fmt.Sprintf("%.1f %ciB", value, " KMGTP"[unit])
}
