package queue

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sched/record"
	"github.com/detent-ml/detent/master/sched/replay"
	"github.com/detent-ml/detent/master/spelling"
)

type replayOptions struct {
	from, to        string
	set             []string
	save, recording string
	format          output.Format
}

func newReplay(a *app.App) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "replay a recorded time of the queue, with other settings: what would each workspace have waited?",
		Long: "Without --set, det makes each recorded plan again and compares the decisions. With --set, it runs the recorded jobs in simulated time, once\n" +
			"with the recorded settings and once with the changed ones. It does so on this machine: the master only sends its recording.",
		Example: "  det queue replay --from 30d\n" +
			"  det queue replay --from 2026-11-01 --to 2026-12-01 --set resource_pools.gpu.scheduler.type=fair_share --set workspaces.vision.weight=3\n" +
			"  det queue replay --set nodes.gpu+=8x8 --set quotas.workspaces.vision.hard=32\n" +
			"  det queue replay --save november.jsonl; det queue replay --recording november.jsonl --set nodes.gpu-=2",
		Args: args.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReplay(cmd.Context(), a, o, time.Now()) },
	}
	cmd.Flags().StringVar(&o.from, "from", "30d", "when it begins: a time, or a duration before now")
	cmd.Flags().StringVar(&o.to, "to", "0s", "when it ends: a time, or a duration before now")
	cmd.Flags().StringArrayVar(&o.set, "set", nil, "change a setting: resource_pools.POOL.…, workspaces.NAME.weight, users.NAME.weight, quotas.workspaces.NAME.hard, nodes.POOL+=8x8; may be repeated")
	cmd.Flags().StringVar(&o.save, "save", "", "also write the recording to this file")
	cmd.Flags().StringVar(&o.recording, "recording", "", "read the recording from this file, not from the master")
	cmd.MarkFlagsMutuallyExclusive("save", "recording")
	o.format.Flags(cmd)
	return cmd
}

// A Report is what det queue replay found.
type Report struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Jobs   int       `json:"jobs"`
	Set    []string  `json:"set"`
	Frames int       `json:"frames"`
	// Check is how many recorded plans were made again as they were; without --set only.
	Check    *replay.Check   `json:"check,omitempty"`
	Recorded *replay.Outcome `json:"recorded"`
	// Before is the simulation with the recorded settings, After the one with the changed ones; with --set only.
	Before *replay.Outcome `json:"before,omitempty"`
	After  *replay.Outcome `json:"after,omitempty"`
}

func runReplay(ctx context.Context, a *app.App, o replayOptions, now time.Time) error {
	changes := make([]replay.Change, len(o.set))
	for i, text := range o.set {
		var err error
		if changes[i], err = replay.ParseChange(text); err != nil {
			return err
		}
	}
	from, err := moment("--from", o.from, now)
	if err != nil {
		return err
	}
	to, err := moment("--to", o.to, now)
	if err != nil {
		return err
	}
	frames, err := o.frames(ctx, a, from, to)
	if err != nil {
		return err
	}
	if len(frames) == 0 {
		return fault.New(fault.NotFound, "nothing was recorded from %s to %s; queue_recording.days in the master's configuration says for how long the recording is kept",
			from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	from, to = within(frames, from, to)
	report, err := Ask(frames, from, to, changes)
	if err != nil {
		return err
	}
	report.Set = append([]string{}, o.set...)
	return show(a, report, o.format)
}

func (o *replayOptions) frames(ctx context.Context, a *app.App, from, to time.Time) (frames []*record.Frame, err error) {
	if o.recording != "" {
		return readFile(o.recording)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return nil, err
	}
	var into io.Writer
	if o.save != "" {
		file, err := os.OpenFile(o.save, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // names of users and workspaces
		if err != nil {
			return nil, err
		}
		buffer := bufio.NewWriterSize(file, 1<<20)
		into = buffer
		defer func() {
			for _, failed := range []error{buffer.Flush(), file.Close()} {
				if err == nil && failed != nil {
					err = fmt.Errorf("--save: %w", failed)
				}
			}
		}()
	}
	return download(ctx, c, from, to, into)
}

// within is the part of a time that was recorded.
func within(frames []*record.Frame, from, to time.Time) (time.Time, time.Time) {
	first, last := record.Time(frames[0].At), record.Time(frames[len(frames)-1].At).Add(time.Nanosecond)
	if from.Before(first) {
		from = first
	}
	if to.After(last) {
		to = last
	}
	return from, to
}

// Ask checks a recording, or without a check simulates it with the recorded and with the changed settings at the same time.
func Ask(frames []*record.Frame, from, to time.Time, changes []replay.Change) (*Report, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // plans make much that is soon forgotten
	r := &Report{From: from, To: to, Frames: len(frames)}
	history, err := replay.Read(frames, from, to)
	if err != nil {
		return nil, err
	}
	r.Jobs, r.Recorded = history.Jobs(), history.Recorded()
	if len(changes) == 0 {
		r.Check, err = check(frames)
		return r, err
	}
	var both sync.WaitGroup
	var failed error
	both.Go(func() { r.Before, failed = history.Simulate(nil) })
	r.After, err = history.Simulate(changes)
	both.Wait()
	if err == nil {
		err = failed
	}
	return r, err
}

// check makes the plans of all parts again, as many at a time as there are processors.
func check(frames []*record.Frame) (*replay.Check, error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	sum := &replay.Check{}
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, part := range replay.Parts(frames) {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			c, err := replay.CheckPart(part)
			mu.Lock()
			defer mu.Unlock()
			if sum.Add(c); err != nil {
				failed = err
			}
		})
	}
	all.Wait()
	return sum, failed
}

func show(a *app.App, r *Report, format output.Format) error {
	if format.Structured() {
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if format.YAML {
			return output.YAML(a.IO.Out, raw)
		}
		return output.JSON(a.IO.Out, raw)
	}
	if err := format.Print(a.IO, teamsOf(r, format.CSV), nil); err != nil || format.CSV {
		return err
	}
	if r.Check != nil {
		showCheck(a, r.Check)
		return nil
	}
	a.Printf("\n")
	pools := table.New("Resource Pool", "Settings", "Slot-Hours", "In Use")
	for i, p := range r.Before.Pools {
		pools.Row(p.Pool, recorded, tenths(p.SlotHours), percent(p.Use))
		pools.Row(p.Pool, changed, tenths(r.After.Pools[i].SlotHours), percent(r.After.Pools[i].Use))
	}
	if err := format.Print(a.IO, pools, nil); err != nil {
		return err
	}
	a.Printf("\n%s from %s to %s. Both rows are simulated: jobs run as long as they did. A wait may be up to %s too long.\n", spelling.Count(r.Jobs, "job"), r.From.Format(time.RFC3339), r.To.Format(time.RFC3339),
		span(max(r.Before.Gap, r.After.Gap)))
	return nil
}

func showCheck(a *app.App, c *replay.Check) {
	a.Printf("\nMade %s again: %s and %s, %s.\n", spelling.Count(c.Plans, "plan"), spelling.Count(c.Placements, "placement"), spelling.Count(c.Preemptions, "preemption"), spelling.Count(c.Deviations, "deviation"))
	if f := c.First; f != nil {
		a.Printf("The first one, at %s in pool %s, is attempt %s: %s.\n", f.At.Format(time.RFC3339Nano), f.Pool, f.Attempt, f.Why)
	}
	if c.Gaps > 0 {
		a.Printf("The recording has %s.\n", spelling.Count(c.Gaps, "gap"))
	}
}

// What stands in the column Settings.
const (
	happened = "as it was"
	recorded = "recorded"
	changed  = "changed"
)

// teamsOf is the table of workspaces. For programs, waits are seconds.
func teamsOf(r *Report, plain bool) *table.Table {
	t := table.New("Workspace", "Settings", "Jobs", "Not Started", "Slot-Hours", "Median Wait", "90 % Wait", "Longest Wait", "Preemptions", "Lost Slot-Hours")
	row := func(settings string, x replay.Team) {
		name := x.Workspace
		if name == "" {
			name = "(all)"
		}
		wait := func(seconds float64) any {
			if plain {
				return seconds
			}
			return span(seconds)
		}
		t.Row(name, settings, x.Jobs, x.NotStarted, tenths(x.SlotHours), wait(x.Median), wait(x.P90), wait(x.Max), x.Preemptions, tenths(x.LostHours))
	}
	if r.Check != nil {
		for _, x := range r.Recorded.Teams {
			row(happened, x)
		}
		return t
	}
	after := map[string]replay.Team{}
	for _, x := range r.After.Teams {
		after[x.Workspace] = x
	}
	for _, x := range r.Before.Teams {
		row(recorded, x)
		row(changed, after[x.Workspace])
	}
	return t
}

func tenths(x float64) string { return fmt.Sprintf("%.1f", x) }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// span is a number of seconds in the unit that reads best.
func span(seconds float64) string {
	switch {
	case seconds < 10:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 72*3600:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
	return fmt.Sprintf("%.1f days", seconds/24/3600)
}
