package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// print says what the old database has.
func (f facts) print(out io.Writer) {
	lines, code := "about; only with --logs", "KiB"
	if f.Size == 0 {
		lines, code = "about, fetched so far; only with --logs", "KiB, fetched so far"
		fmt.Fprintf(out, "cluster %s of Determined, read over its REST API\n", f.ClusterID)
	} else {
		fmt.Fprintf(out, "cluster %s of Determined, schema %d, %s\n", f.ClusterID, f.Migration, size(f.Size))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range []struct {
		what string
		n    int64
		more string
	}{
		{"users", f.Users, ""}, {"workspaces", f.Workspaces, ""}, {"projects", f.Projects, ""},
		{"experiments", f.Experiments, live(f.Live)}, {"trials", f.Trials, ""}, {"checkpoints", f.Checkpoints, ""}, {"models", f.Models, ""},
		{"metric reports", f.Metrics, "about"}, {"log lines", f.Lines, lines}, {"code", f.Code >> 10, code},
	} {
		fmt.Fprintf(w, "  %s\t%d\t%s\n", line.what, line.n, line.more)
	}
	_ = w.Flush()
}

func live(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of them have not ended: here, single trials are paused and searches canceled (det experiment continue N --new-search)", n)
}

func size(bytes int64) string {
	for _, unit := range []string{"bytes", "KiB", "MiB"} {
		if bytes < 10_000 {
			return fmt.Sprintf("%d %s", bytes, unit)
		}
		bytes >>= 10
	}
	return fmt.Sprintf("%d GiB", bytes)
}

// notes are what a person should know afterwards, each with the experiments that it is about, or with 0.
type notes map[string][]int

func (n *notes) add(text string, experiment int) {
	if *n == nil {
		*n = notes{}
	}
	(*n)[text] = append((*n)[text], experiment)
}

// once adds a note about no experiment, if it is not there yet and not too many are.
func (n *notes) once(text string) {
	if _, there := (*n)[text]; !there && len(*n) < maxNotes {
		n.add(text, 0)
	}
}

// maxNotes is the number of notes of a download.
const maxNotes = 100

// maxNamed is the number of experiments that a note names.
const maxNamed = 5

func (n notes) print(out io.Writer) {
	for _, text := range slices.Sorted(maps.Keys(n)) {
		ids := n[text]
		if ids[0] == 0 { // about no experiment
			fmt.Fprintf(out, "note: %s\n", text)
			continue
		}
		names := strings.Trim(fmt.Sprint(ids[:min(len(ids), maxNamed)]), "[]")
		if len(ids) > maxNamed {
			names += " …"
		}
		fmt.Fprintf(out, "note: %s (%d: experiments %s)\n", text, len(ids), names)
	}
}

// preview says what an import would lose, and how long it would take.
func (p *pass) preview(ctx context.Context) error {
	if _, err := p.find(ctx, p.db); err != nil {
		return err
	}
	p.show.begin("reading", 0)
	err := eachConfig(ctx, p.source.DB, "experiments", func(list []oldConfig) error {
		for _, c := range list {
			_, gone := translate(c.ID, c.Config)
			p.noteConfig("would lose", c, gone)
		}
		return nil
	})
	if err == nil {
		err = p.previewRows(ctx)
	}
	reports, trials, code := p.facts.Metrics, p.facts.Trials, p.facts.Code
	var left []trialRows
	again := p.id != 0 && !p.api // over the API, only what was fetched tells what has changed
	if err == nil && again {
		left, reports, err = p.unfinished(ctx, true)
		trials, code = int64(len(left)), 0
	}
	p.show.close()
	if err != nil {
		return err
	}
	p.notes.print(p.Out)
	what := "An import"
	if again {
		fmt.Fprintf(p.Out, "this cluster was imported before: %d of its trials are new or have changed since, with %d reports\n", trials, reports)
		what = "Another pass"
	}
	fmt.Fprintf(p.Out, "nothing was imported (--dry-run). %s needs about %s in Detent's database, and about %s on two processors\n", what,
		size(reports*rowBytes+code+trials*trialBytes), max(time.Second, time.Duration(reports/rowsPerSecond)*time.Second))
	return nil
}

// errPreview takes the tables of a preview back.
var errPreview = errors.New("only a preview")

// previewRows notes what is not imported, in a transaction that leaves nothing.
func (p *pass) previewRows(ctx context.Context) error {
	err := p.db.Alone(ctx, func(tx *database.DB) error {
		for _, step := range []func(context.Context, *database.DB) error{p.stage, p.checkPeople, p.noteLost, p.noteFork, p.notePolicies} {
			if err := step(ctx, tx); err != nil {
				return err
			}
		}
		return errPreview
	})
	if errors.Is(err, errPreview) {
		return nil
	}
	return err
}

// What a report and a trial need, as measured with reports of three values.
const (
	rowBytes      = 330
	trialBytes    = 8 << 10
	rowsPerSecond = 50_000
)

// A progress shows how far a step is. Without a step it shows nothing.
type progress struct {
	out         io.Writer
	lines       bool
	step        string
	total, done int64
	parts       string // what is counted beside done, if the step is of few large things; "": nothing
	counted     int64
	began, said time.Time
}

func newProgress(out io.Writer, lines bool) *progress { return &progress{out: out, lines: lines} }

// Times between two lines, and between two changes of the one line of a terminal.
const (
	lineEvery   = 10 * time.Second
	changeEvery = 200 * time.Millisecond
)

func (p *progress) begin(step string, total int64) {
	*p = progress{out: p.out, lines: p.lines, step: step, total: total, began: time.Now(), said: time.Now()}
}

// next ends a step, if there is one, and begins another.
func (p *progress) next(step string, total int64) {
	p.close()
	p.begin(step, total)
}

// close ends a step, if there is one.
func (p *progress) close() {
	if p.step != "" {
		p.end()
	}
}

func (p *progress) add(n int64) {
	p.done += n
	p.tick()
}

// count counts parts of the next thing that is done, such as the lines of a log.
func (p *progress) count(n int64) {
	p.counted += n
	p.tick()
}

// tick shows how far the step is, now and then.
func (p *progress) tick() {
	every := changeEvery
	if p.lines {
		every = lineEvery
	}
	if p.step != "" && time.Since(p.said) >= every {
		p.said = time.Now()
		p.say()
	}
}

func (p *progress) end() {
	p.say()
	if !p.lines {
		fmt.Fprintln(p.out)
	}
	p.step = ""
}

// say writes how far the step is.
func (p *progress) say() {
	text := p.text(time.Since(p.began))
	if p.lines {
		fmt.Fprintln(p.out, text)
		return
	}
	fmt.Fprintf(p.out, "\r%-78s", text)
}

// text says how far the step is after a time, how fast it is, and how long it will still take.
func (p *progress) text(spent time.Duration) string {
	text := fmt.Sprintf("%-12s %d", p.step, p.done)
	if p.total > 0 {
		text += fmt.Sprintf(" of %d (%d %%)", p.total, 100*p.done/p.total)
	}
	things := p.done
	if p.parts != "" {
		things = p.counted
		text += fmt.Sprintf(", %d %s", p.counted, p.parts)
	}
	if spent > time.Second {
		text += fmt.Sprintf(", %.0f/s", float64(things)/spent.Seconds())
		if left := p.total - p.done; left > 0 && p.done > 0 {
			text += fmt.Sprintf(", %s left", time.Duration(float64(left)/float64(p.done)*float64(spent)).Round(time.Second))
		}
	}
	return text + fmt.Sprintf(", %s", spent.Round(time.Second/10))
}
