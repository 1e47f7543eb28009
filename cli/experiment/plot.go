package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/chart"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/sleep"
)

type plotOptions struct {
	id      int
	trial   int
	metrics []string
	all     bool
	follow  bool
	json    bool
	ascii   bool
	log     bool
}

const plotLong = `Draws the learning curve of an experiment in the terminal.

A chart shows the training metric and the validation metric of the same quantity.
The searcher's metric comes first. Of several trials det draws the best one;
--trial selects another one.

With -f det redraws the chart when new values arrive, until the experiment ends.`

func newPlot(a *app.App) *cobra.Command {
	var o plotOptions
	cmd := verb(a, "plot EXPERIMENT_ID", "draw the learning curve", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		o.id = id
		return runPlot(ctx, a, c, o)
	})
	cmd.Long = plotLong
	f := cmd.Flags()
	f.IntVar(&o.trial, "trial", 0, "draw this trial")
	f.StringArrayVar(&o.metrics, "metric", nil, "draw this metric (may be repeated)")
	f.BoolVar(&o.all, "all", false, "draw all metrics")
	f.BoolVarP(&o.follow, "follow", "f", false, "redraw until the experiment ends")
	f.BoolVar(&o.json, "json", false, "print the points as JSON in place of a chart")
	f.BoolVar(&o.ascii, "ascii", false, "draw with ASCII characters")
	f.BoolVar(&o.log, "log", false, "use a logarithmic axis for the values")
	cmd.MarkFlagsMutuallyExclusive("metric", "all")
	cmd.MarkFlagsMutuallyExclusive("follow", "json")
	return cmd
}

func runPlot(ctx context.Context, a *app.App, c *client.Client, o plotOptions) error {
	if o.follow {
		return followPlot(ctx, a, c, o)
	}
	p, err := loadPlot(ctx, c, o)
	if err != nil {
		return err
	}
	if o.json {
		return p.json(a.IO.Out)
	}
	lines, err := p.draw(a, o)
	return a.Say(err, "%s\n", strings.Join(lines, "\n"))
}

// followPlot redraws until the experiment has ended. Without a terminal it draws once, at the
// end.
func followPlot(ctx context.Context, a *app.App, c *client.Client, o plotOptions) error {
	screen := &screen{w: a.IO.Canvas(), live: a.IO.OutTTY}
	defer screen.close()
	for {
		began := time.Now()
		p, err := loadPlot(ctx, c, o)
		waiting := errors.Is(err, errNoTrial)
		if err != nil && !waiting {
			return err
		}
		over, err := ended(ctx, c, o.id)
		if err != nil {
			return err
		}
		switch {
		case waiting && over != "":
			return errNoTrial
		case waiting:
			screen.show([]string{fmt.Sprintf("Experiment %d has no trial yet.", o.id)}, false)
		default:
			lines, err := p.draw(a, o)
			if err != nil {
				return err
			}
			screen.show(lines, over != "")
		}
		if over != "" {
			return nil
		}
		// The whole curve is read each time, so long curves are read less often.
		if err := sleep.For(ctx, max(500*time.Millisecond, 5*time.Since(began))); err != nil {
			return err
		}
	}
}

// screen redraws over its previous output.
type screen struct {
	w     io.Writer
	live  bool
	drawn int
}

func (s *screen) show(lines []string, last bool) {
	if !s.live && !last {
		return
	}
	var b strings.Builder
	if s.live && s.drawn == 0 {
		b.WriteString("\x1b[?25l") // hide the cursor while drawing
	}
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	for _, l := range lines {
		b.WriteString(term.Clean(l))
		if s.live {
			b.WriteString("\x1b[K")
		}
		b.WriteByte('\n')
	}
	if s.live {
		b.WriteString("\x1b[J")
	}
	s.drawn = len(lines)
	_, _ = io.WriteString(s.w, b.String())
}

func (s *screen) close() {
	if s.live {
		_, _ = io.WriteString(s.w, "\x1b[?25h")
	}
}

// draw lays out the panels for the terminal's size.
func (p *plot) draw(a *app.App, o plotOptions) ([]string, error) {
	panels, err := p.choose(o)
	if err != nil {
		return nil, err
	}
	width, height := min(a.IO.Width(), 160), 14
	if o.follow && a.IO.OutTTY { // the drawing must fit on the screen, so that it can be redrawn
		fits := max(1, (a.IO.Height()-2)/10)
		panels = panels[:min(len(panels), fits)]
		height = min(height, (a.IO.Height()-2)/len(panels)-6)
	}
	style := a.IO.OutStyle()
	lines := []string{style.Bold(p.title())}
	for i, panel := range panels {
		if i > 0 {
			lines = append(lines, "")
		}
		c := chart.Chart{
			Title: " " + panel.name, XLabel: "batches", Width: width, Height: height,
			ASCII: o.ascii || poorTerminal(a.Env("TERM")), Log: o.log, Series: panel.series, Paint: style.Colour,
		}
		lines = append(lines, c.Draw()...)
	}
	return lines, nil
}

// poorTerminal reports whether a terminal's font has no Braille.
func poorTerminal(term string) bool { return term == "dumb" || term == "linux" }

// choose returns the panels that the flags select. The default is the searcher's metric, and
// one more with both training and validation.
func (p *plot) choose(o plotOptions) ([]panel, error) {
	if o.all {
		return p.panels, nil
	}
	if len(o.metrics) == 0 {
		n := min(1, len(p.panels))
		if len(p.panels) > 1 && p.panels[1].both() {
			n = 2
		}
		if n == 0 {
			return []panel{{name: p.metric}}, nil
		}
		return p.panels[:n], nil
	}
	var out []panel
	for _, name := range o.metrics {
		found, ok := p.find(name)
		if !ok {
			return nil, &exit.UsageError{
				Message: fmt.Sprintf("trial %d has not reported a metric %q", p.trial.ID, name),
				Hint:    "It has reported: " + strings.Join(p.names(), ", ") + ".",
			}
		}
		out = append(out, found)
	}
	return out, nil
}
