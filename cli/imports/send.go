package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// An experiment is the unmanaged experiment of an import.
type experiment struct {
	externalID string
	name       string
	notes      string
	labels     []string
	options    options
}

// put creates the experiment, or finds the one of an earlier import.
func (e experiment) put(ctx context.Context, c *client.Client, metric string) (int, error) {
	config := map[string]any{
		"name": e.name, "description": e.notes, "labels": e.labels,
		"searcher": map[string]any{"name": "single", "metric": metric, "smaller_is_better": !e.options.larger},
	}
	if e.options.project != "" {
		config["workspace"], config["project"] = e.options.workspace, e.options.project
	}
	text, err := json.Marshal(config) // JSON is YAML too
	if err != nil {
		return 0, err
	}
	made, err := client.Send(ctx, c, v1.PutExperiment, v1.CreateExperimentRequest{Config: new(string(text)), Unmanaged: new(true)}, e.externalID)
	return made.Experiment.ID, err
}

// sender reports runs as trials of one experiment.
type sender struct {
	a          *app.App
	c          *client.Client
	experiment int
	from       string // what was imported, such as tensorboard: the name in the metadata
}

// trial creates the trial of a run, or finds the one of an earlier import.
func (s sender) trial(ctx context.Context, r *run) (int, error) {
	hparams, err := json.Marshal(plain(r.hparams))
	if err != nil {
		return 0, err
	}
	req := v1.PutTrialRequest{ExternalTrialID: externalTrial(r.name), CreateTrialRequest: &v1.CreateTrialRequest{ExperimentID: s.experiment, HParams: hparams, Unmanaged: new(true)}}
	made, err := client.Send(ctx, s.c, v1.PutTrial, req)
	return made.Trial.ID, err
}

// plain is a value as JSON has it: Python's NaN and infinities become texts.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		return jsontext.FiniteOrText(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[key] = plain(below)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = plain(below)
		}
		return out
	}
	return v
}

// send reports the points of a run that the master does not have, and then notes how far the run was read. A repeated report changes nothing,
// so an import that was interrupted is repeated. It returns the number of new values.
func (s sender) send(ctx context.Context, r *run, trial int, m *mark) (values int, err error) {
	fresh := r.inOrder(func(_ key, p *point) bool { return p.fresh })
	if len(fresh) == 0 && r.restart < 0 && m.covers(r) {
		return 0, nil
	}
	for _, k := range fresh {
		values += len(r.points[k].values)
	}
	from := int64(-1)
	if m.Run > 0 {
		if from = r.restart; from >= 0 && len(fresh) > 0 {
			from = min(from, fresh[0].step) // the new run also has what the program wrote before it began again, and nobody has imported yet
		}
	}
	if m.Run > 0 && from < 0 {
		if from, err = s.report(ctx, r, trial, m.Run, fresh); err != nil {
			return 0, err
		}
	}
	if m.Run == 0 || from >= 0 {
		// A new run of the trial replaces what earlier runs have reported from its first step on.
		started, err := client.Send(ctx, s.c, v1.StartTrial, v1.StartTrialRequest{TrialID: trial}, trial)
		if err != nil {
			return 0, err
		}
		if m.Run = started.TrialRunID; from >= 0 {
			fresh = r.inOrder(func(k key, _ *point) bool { return k.step >= from })
		}
		other, err := s.report(ctx, r, trial, m.Run, fresh)
		if err == nil && other >= 0 {
			err = fmt.Errorf("trial %d has other values at step %d than the files: does another import of %s run?", trial, other, r.name)
		}
		if err != nil {
			return 0, err
		}
	}
	m.note(r)
	if err := s.note(ctx, r, trial, m); err != nil {
		return 0, err
	}
	state := map[state]v1.TrialState{completed: v1.TrialStateCompleted, failed: v1.TrialStateError}[r.state]
	if state != "" {
		_, err = client.Send(ctx, s.c, v1.PatchTrial, v1.PatchTrialRequest{TrialID: trial, State: &state}, trial)
	}
	return values, err
}

// parallel is the number of reports that are on their way at the same time: the master stores them together.
const parallel = 16

// report sends points. other is the lowest step at which the master has another value of a metric; -1 for none.
func (s sender) report(ctx context.Context, r *run, trial, runID int, points []key) (other int64, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan key)
	var mu sync.Mutex
	other = -1
	sent := 0
	shown := time.Time{}
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for k := range work {
				err := s.one(ctx, r.points[k], k, trial, runID)
				mu.Lock()
				switch {
				case isOther(err):
					if other < 0 || k.step < other {
						other = k.step
					}
				case err != nil:
					stop(fmt.Errorf("the report of %s at step %d: %w", r.name, k.step, err))
				}
				if sent++; s.a.IO.ErrTTY && s.a.Now().Sub(shown) > time.Second/4 {
					shown = s.a.Now()
					fmt.Fprintf(s.a.IO.ErrCanvas(), "\r%d of %d reports\x1b[K", sent, len(points))
				}
				mu.Unlock()
			}
		})
	}
	for _, k := range points {
		select {
		case work <- k:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	workers.Wait()
	if !shown.IsZero() {
		fmt.Fprint(s.a.IO.ErrCanvas(), "\r\x1b[K")
	}
	if ctx.Err() != nil {
		return other, context.Cause(ctx)
	}
	return other, nil
}

// one sends a point.
func (s sender) one(ctx context.Context, p *point, k key, trial, runID int) error {
	values := make(map[string]any, len(p.values))
	for name, v := range p.values {
		values[name] = jsontext.FiniteOrText(v.is)
	}
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	m := v1.TrialMetrics{TrialID: trial, TrialRunID: runID, StepsCompleted: new(int(k.step)), Metrics: v1.Metrics{AvgMetrics: text}}
	if !p.at.IsZero() {
		m.ReportTime = &p.at
	}
	_, err = client.Send(ctx, s.c, v1.ReportMetrics, v1.ReportTrialMetricsRequest{Group: k.group, Metrics: m}, trial)
	return err
}

// isOther reports whether the master has rejected a report because it has another value at the same place.
func isOther(err error) bool {
	return fault.Is(err, fault.Invalid) && strings.Contains(err.Error(), "was reported before with another value")
}

// marked reads the mark of a trial, and the rest of its metadata.
func (s sender) marked(ctx context.Context, trial int) (*mark, map[string]any, error) {
	got, err := client.Call(ctx, s.c, v1.GetRunMetadata, trial)
	if err != nil {
		return nil, nil, err
	}
	rest, m := map[string]any{}, mark{}
	if len(got.Metadata) > 0 {
		if err := json.Unmarshal(got.Metadata, &rest); err != nil {
			return nil, nil, err
		}
		var has struct {
			Imported mark `json:"imported"`
		}
		if json.Unmarshal(got.Metadata, &has) == nil { // what somebody else has written there is no mark
			m = has.Imported
		}
	}
	m.From = s.from
	return &m, rest, nil
}

// note stores the mark, beside what else is in the metadata.
func (s sender) note(ctx context.Context, r *run, trial int, m *mark) error {
	_, rest, err := s.marked(ctx, trial)
	if err != nil {
		return err
	}
	rest["imported"] = m
	for name, v := range r.notes {
		rest[name] = plain(v)
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, s.c, v1.SetRunMetadata, v1.PostRunMetadataRequest{RunID: optional.NonZero(trial), Metadata: text}, trial)
	return err
}
