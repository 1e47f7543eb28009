// Package download has the common parts of commands that download checkpoints: selection,
// progress, and the final message.
package download

import (
	"context"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/fetch"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/cli/internal/upload"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// Options selects what to download, and how much to print.
type Options struct {
	Client     *client.Client
	Checkpoint *v1.Checkpoint
	Dir        string
	Mode       fetch.Mode
	Quiet      bool
}

// Fetch downloads a checkpoint with a progress bar, and returns its path.
func Fetch(ctx context.Context, a *app.App, o Options) (string, error) {
	var total, done int64
	for _, n := range o.Checkpoint.Resources {
		total += n
	}
	bar := upload.NewBar(a.IO, "Downloading")
	defer bar.Done()
	return fetch.Checkpoint(ctx, fetch.Options{
		Client: o.Client, Checkpoint: o.Checkpoint, Dir: o.Dir, Mode: o.Mode,
		Progress: func(n int64) {
			done += n
			bar.Update(done, max(total, done))
		},
	})
}

// Run downloads a checkpoint and prints its path.
func Run(ctx context.Context, a *app.App, o Options) error {
	dir, err := Fetch(ctx, a, o)
	if err != nil {
		return err
	}
	if o.Quiet {
		a.Printf("%s\n", dir)
		return nil
	}
	a.Printf("Local checkpoint path:\n%s \n\n", dir)
	return render.Checkpoint(o.Checkpoint).Write(a.IO.Out)
}

// Best requests checkpoints that can be downloaded, the best first: by the searcher's metric,
// or by another metric, for which smaller tells what is better.
func Best(metric, smaller string) v1.GetCheckpointsRequest {
	q := v1.GetCheckpointsRequest{States: []string{string(v1.CheckpointStateCompleted), string(v1.CheckpointStatePartiallyDeleted)}}
	if metric == "" {
		q.SortByAttr = "SORT_BY_SEARCHER_METRIC"
		return q
	}
	q.SortByMetric, q.OrderBy = metric, "ORDER_BY_DESC"
	if smaller == "true" {
		q.OrderBy = "ORDER_BY_ASC"
	}
	return q
}
