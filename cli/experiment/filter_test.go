package experiment

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/v1"
)

// The flags of a list say the same as a question that is typed.
func TestFlagsAreAQuestion(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		flags filterFlags
		line  string
	}{
		"name":      {filterFlags{name: `a "b" \`}, `name ~ "a \"b\" \\"`},
		"all":       {filterFlags{name: "x", labels: []string{"a", "b c"}, owners: []string{"ada", "bob"}, states: []string{"Active", "error"}}, `name ~ x and (label = a and label = "b c") and (owner = ada or owner = bob) and (state = active or state = error)`},
		"where":     {filterFlags{where: "hp.lr < 1 or hp.lr > 2", labels: []string{"a"}}, "(hp.lr < 1 or hp.lr > 2) and label = a"},
		"project":   {filterFlags{project: "Uncategorized"}, "project = Uncategorized"},
		"its ID":    {filterFlags{project: "7"}, "projectId = 7"},
		"two names": {filterFlags{project: "w/p"}, "workspace = w and project = p"},
		"archived":  {filterFlags{where: "archived = true", name: "x"}, "archived = true and name ~ x"},
	} {
		got, err := c.flags.filter(now)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := find.Experiments.Parse(c.line, now)
		if err != nil {
			t.Fatal(err)
		}
		if flat(got.Root) != flat(want.Root) || got.Archived != want.Archived {
			t.Errorf("%s: %s, want %s", name, flat(got.Root), flat(want.Root))
		}
	}
}

// flat prints a tree, with groups within groups of their own kind dissolved.
func flat(n find.Node) string {
	if n.Condition != nil {
		return n.Condition.Column.Name + string(n.Condition.Op) + n.Condition.Value.Text
	}
	word := "&"
	if n.Any {
		word = "|"
	}
	var parts []string
	var collect func(find.Node)
	collect = func(g find.Node) {
		for _, child := range g.Children {
			if child.Condition == nil && (child.Any == n.Any || len(child.Children) == 1) {
				collect(child)
				continue
			}
			parts = append(parts, flat(child))
		}
	}
	if collect(n); len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, word) + ")"
}

func TestWrongQuestions(t *testing.T) {
	for _, flags := range []filterFlags{{where: "lables = x"}, {states: []string{"done"}}, {where: "id ="}} {
		_, err := flags.filter(time.Time{})
		var usage *exit.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%+v: %v", flags, err)
		}
	}
	o := filterFlags{sort: []string{"name:up"}}
	if _, err := o.search(t.Context(), nil, find.Filter{}, client.Page{}, false); exit.Code(err) != exit.Usage {
		t.Error(err)
	}
}

// What was asked about is shown.
func TestFoundTable(t *testing.T) {
	f, err := find.Experiments.Parse("hp.net.depth > 1 and validation.loss < 1 and validation.loss.min < 1 and inference.ms > 0 and hp.none is empty and metric > 0", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	best := 0.25
	found := []v1.SearchExperimentExperiment{
		{Experiment: v1.Experiment{ID: 1, Name: "one", State: "STATE_COMPLETED", BestTrialSearcherMetric: &best}, BestTrial: &v1.Trial{
			HParams:        v1.Struct(`{"net": {"depth": 3}, "opt": "adam"}`),
			SummaryMetrics: v1.Struct(`{"validation_metrics": {"loss": {"last": 0.5, "min": 0.25}}, "inference": {"ms": {"last": "fast"}}}`)}},
		{Experiment: v1.Experiment{ID: 2, Name: "two", State: "STATE_ERROR"}},
	}
	io, out, _ := term.Buffers("")
	if err := foundTable(f, found).CSV(io.Out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(out.String(), "\r", ""), "\n")
	if !strings.HasSuffix(lines[0], ",hp.net.depth,validation.loss,validation.loss.min,inference.ms,hp.none,Metric") ||
		!strings.HasSuffix(lines[1], ",3,0.5,0.25,fast,,0.25") || !strings.HasPrefix(lines[2], "2,") || !strings.HasSuffix(lines[2], ",,,,,,") {
		t.Errorf("%s", out)
	}
}
