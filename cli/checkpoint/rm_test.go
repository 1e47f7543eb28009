package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/master/v1"
)

// A rig is a master with an experiment that has ended, of one trial with two checkpoints.
// A channel gets the instructions for the tasks that remove files.
type rig struct {
	*servertest.Master
	client   *client.Client
	removals chan v1.CollectCheckpoint
}

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{removals: make(chan v1.CollectCheckpoint, 10)}
	r.Master = servertest.Start(t, r.program)
	r.client = r.Client("determined")
	config, active := fmt.Sprintf("name: k\nentrypoint: x\nsearcher: {name: single, metric: loss, max_length: {batches: 20}}\n"+
		"checkpoint_storage: {type: shared_fs, host_path: %s, save_trial_latest: 100}\n", r.Storage), true
	if _, err := r.client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil); err != nil {
		t.Fatal(err)
	}
	r.Ended(1)
	return r
}

// program stores the checkpoints, and removes what patterns name. What nothing stores it
// cannot remove.
func (r *rig) program(ctx context.Context, a *servertest.Attempt) int {
	if a.TaskType == "TRIAL" {
		for _, steps := range []int{10, 20} {
			a.Checkpoint(ctx, servertest.CheckpointOf(1, steps), steps, time.Now(),
				map[string]string{"a.bin": strings.Repeat("x", 1024), "b.bin": strings.Repeat("x", 1024), "c": "1"})
		}
		return 0
	}
	for _, k := range a.Collect.Checkpoints {
		freed := v1.FreedRequest{UUID: k.UUID, Left: &v1.PatchCheckpointOptionalResources{Resources: map[string]int64{"a.bin": 1024, "b.bin": 1024, "c": 1}}}
		switch {
		case slices.Contains(k.Globs, "*.bin"):
			freed.Files, freed.Bytes, freed.Left.Resources = 2, 2048, map[string]int64{"c": 1}
		case slices.Contains(k.Globs, "nothing"):
			freed.Left, freed.Error = nil, "access denied"
		}
		a.Freed(ctx, freed)
		r.removals <- k
	}
	return 0
}

// det runs a command of this noun as somebody who types input.
func (r *rig) det(t *testing.T, input string, args ...string) (out string, err error) {
	t.Helper()
	streams, printed, _ := term.Buffers(input)
	env := map[string]string{"DET_MASTER": r.URL, "HOME": t.TempDir()}
	cmd := New(&app.App{IO: streams, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return printed.String(), err
}

func TestRemoval(t *testing.T) {
	r := newRig(t)
	t.Run("described", func(t *testing.T) { describeTellsWhatWasRemoved(t, r) })
	t.Run("rm and delete", func(t *testing.T) { rmAndDelete(t, r) })
}

func rmAndDelete(t *testing.T, r *rig) {
	t.Helper()
	one, two := servertest.CheckpointOf(1, 10), servertest.CheckpointOf(1, 20)
	for _, c := range []struct {
		name, input string
		args        []string
		removals    []string // sorted
		said        string
		fails       bool
	}{
		{"files, not after all", "n\n", []string{"rm", one, "--glob", "x"}, nil, "Stopping removal of files from checkpoints.\n", true},
		{"not after all", "n\n", []string{"delete", one}, nil, "Stopping deletion of checkpoints.\n", true},
		{"files", "", []string{"rm", one + "," + two, "--glob", "*.bin", "--glob", "sub/*", "--yes"}, []string{one + " [*.bin sub/*]", two + " [*.bin sub/*]"},
			"Removal of files from checkpoints " + one + "," + two + " is in progress.\n", false},
		{"only a look", "", []string{"rm", one}, []string{one + " []"},
			"No glob patterns provided, refreshing resources of checkpoints " + one + " is in progress.\n", false},
		{"files, asked", "y\n", []string{"rm", one, "--glob", "x"}, []string{one + " [x]"},
			"Removal of files from checkpoints " + one + " is in progress.\n", false},
		{"altogether", "", []string{"delete", one + ", " + two, "--yes"}, []string{one + " [**/*]", two + " [**/*]"},
			"Deletion of checkpoints " + one + ", " + two + " is in progress\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := r.det(t, c.input, c.args...)
			if (err != nil) != c.fails {
				t.Error(err)
			}
			if out != c.said {
				t.Errorf("det printed %q, want %q", out, c.said)
			}
			var told []string
			for range c.removals {
				k := <-r.removals
				told = append(told, fmt.Sprint(k.UUID, " ", k.Globs))
			}
			if slices.Sort(told); !slices.Equal(told, c.removals) {
				t.Errorf("the requested removals are %q, want %q", told, c.removals)
			}
		})
	}
	if len(r.removals) > 0 {
		t.Errorf("more was removed: %v", <-r.removals)
	}
}

func describeTellsWhatWasRemoved(t *testing.T, r *rig) {
	t.Helper()
	one := servertest.CheckpointOf(1, 10)
	for _, glob := range []string{"*.bin", "nothing"} {
		if _, err := r.det(t, "", "rm", one, "--glob", glob, "--yes"); err != nil {
			t.Fatal(err)
		}
		<-r.removals
	}
	var k *v1.Checkpoint
	r.Until("the ends of both removals", func() (ended bool) {
		var err error
		if k, err = r.client.Checkpoint(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		return len(k.Removals) == 2 && k.Removals[0].Ended && k.Removals[1].Ended
	})
	out, err := r.det(t, "", "describe", one)
	if err != nil {
		t.Fatal(err)
	}
	when := k.Removals[0].Time
	if when == nil {
		when = k.Removals[1].Time
	}
	for _, want := range []string{"What was removed of it", when.UTC().Format("2006-01-02 15:04:05-0700"), "2.0KB", "*.bin", "failed", "access denied", k.Removals[0].TaskID} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
