package find

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
)

// noon is the time that the scripts' relative times count from.
func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// TestScripts runs testdata: each line has the parsed filter, or the error with a mark below the
// position.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			table := Experiments
			if d.HasArg("runs") {
				table = Runs
			}
			switch d.Cmd {
			case "parse":
				return parsed(t, table, d.Input)
			case "json":
				f, err := table.ParseJSON([]byte(d.Input))
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				return show(f.Root, 0) + archived(f)
			case "sort":
				sorts, err := table.ParseSort(d.Input)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				var b strings.Builder
				for _, s := range sorts {
					b.WriteString(string(s.Column.Location) + " " + s.Column.Name)
					if s.Desc {
						b.WriteString(" desc")
					}
					b.WriteByte('\n')
				}
				return b.String()
			}
			t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
			return ""
		})
	})
}

func parsed(t *testing.T, table Table, line string) string {
	f, err := table.Parse(line, noon())
	var wrong *Error
	if errors.As(err, &wrong) {
		return wrong.Caret(line) + "\n" + wrong.Error() + "\n"
	}
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return show(f.Root, 0) + archived(f)
}

func archived(f Filter) string {
	if f.Archived {
		return "archived ones too\n"
	}
	return ""
}

// show prints a tree, a node on a line.
func show(n Node, depth int) string {
	indent := strings.Repeat("  ", depth)
	if c := n.Condition; c != nil {
		what := strings.ToLower(strings.TrimPrefix(string(c.Column.Location), "LOCATION_TYPE_"))
		line := indent + what + " " + c.Column.Name + " " + string(c.Op)
		if !c.Op.unary() {
			line += " " + strings.TrimPrefix(c.Value.describe(), "the ")
		}
		return line + "\n"
	}
	out := indent + "all of\n"
	if n.Any {
		out = indent + "any of\n"
	}
	for _, child := range n.Children {
		out += show(child, depth+1)
	}
	return out
}

// TestEveryFieldIsFound by its name and by each of its other words, however they
// are written, and never two by the same.
func TestEveryFieldIsFound(t *testing.T) {
	for table, location := range map[Table]Location{Experiments: Experiment, Runs: Run} {
		seen := map[string]string{}
		for _, f := range table.Fields() {
			for _, w := range append([]string{f.Name}, f.Words...) {
				if other, twice := seen[strings.ToLower(w)]; twice {
					t.Errorf("%s means %s and %s", w, other, f.Name)
				}
				seen[strings.ToLower(w)] = f.Name
				for _, spelled := range []string{w, strings.ToUpper(w)} {
					if c, ok := table.ColumnOf(spelled); !ok || c.Name != f.Name || c.Type != f.Type || c.Location != location {
						t.Errorf("%s: found %v, %t", spelled, c, ok)
					}
				}
			}
		}
	}
	if c, ok := Experiments.ColumnOf("searcher_metrics_val"); !ok || c.Name != "searcherMetricsVal" {
		t.Errorf("snake case: %v, %t", c, ok)
	}
}

func TestMetricNames(t *testing.T) {
	for name, want := range map[string][3]string{
		"validation.accuracy":         {"validation", "accuracy", "last"},
		"validation.accuracy.max":     {"validation", "accuracy", "max"},
		"val.top.5.min":               {"validation", "top.5", "min"},
		"training.last":               {"training", "last", "last"},
		"training.last.last":          {"training", "last", "last"},
		"inference.latency":           {"inference", "latency", "last"},
		"validation.error.per.sample": {"validation", "error.per.sample", "last"},
	} {
		c, ok := Experiments.ColumnOf(name)
		if !ok {
			t.Fatalf("%s is not found", name)
		}
		group, metric, summary := c.Metric()
		if got := [3]string{group, metric, summary}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestLimits: filters that are too long, too deep or have too many parts are rejected early.
func TestLimits(t *testing.T) {
	for what, line := range map[string]string{
		"deep":   strings.Repeat("(", 100) + "id = 1" + strings.Repeat(")", 100),
		"not":    strings.Repeat("not ", 100) + "hp.x = 1",
		"many":   "id = 1" + strings.Repeat(" or id = 1", 600),
		"in":     "id in (1" + strings.Repeat(",1", 600) + ")",
		"long":   "name = " + strings.Repeat("x", 70_000),
		"value":  "name ~ " + strings.Repeat("x", 2000),
		"column": "hp." + strings.Repeat("x", 2000) + " = 1",
	} {
		if f, err := Experiments.Parse(line, noon()); err == nil {
			t.Errorf("%s: accepted with %d nodes", what, size(f.Root))
		}
	}
	deep := strings.Repeat(`{"kind":"group","conjunction":"and","children":[`, 200) + strings.Repeat(`]}`, 200)
	if _, err := Experiments.ParseJSON([]byte(`{"filterGroup":` + deep + `}`)); err == nil {
		t.Error("JSON of 200 levels is accepted")
	}
}

// FuzzParse: no line makes it fall over; errors point into the line; what is
// understood is the same after a trip over the wire; and the opposite of the
// opposite asks about the same columns.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"validation.accuracy > 0.9 and hp.lr < 0.1 and label = x", "not (a or b)", `hp."learning rate" in (1, "x", 3e-4)`,
		"started > -7d or ended = 2026-11-01", "state not in (completed, error)", "tags is not empty", "not not name !~ 'x\\'y'", "((id=1))", "duration >= 2h", `hp."`, "name = \xff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, err := Experiments.Parse(line, noon())
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Column < 1 || wrong.Column > utf8.RuneCountInString(line)+1 {
				t.Fatalf("%q: %v", line, err)
			}
			wrong.Caret(line)
			return
		}
		wire, err := got.JSON()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		back, err := Experiments.ParseJSON(wire)
		if err != nil {
			t.Fatalf("%q: %s: %v", line, wire, err)
		}
		again, err := back.JSON()
		if err != nil || string(again) != string(wire) {
			t.Fatalf("%q: %s became %s, %v", line, wire, again, err)
		}
		if n := size(got.Root); n > maxNodes {
			t.Fatalf("%q: %d nodes", line, n)
		}
	})
}

// FuzzParseJSON: no input makes the parser panic, and a parsed filter stays the same when it is written
// and parsed again.
func FuzzParseJSON(f *testing.F) {
	f.Add(`{"filterGroup":{"children":[{"columnName":"hp.lr","kind":"field","location":"LOCATION_TYPE_HYPERPARAMETERS","operator":"<","type":"COLUMN_TYPE_NUMBER","value":0.1}],"conjunction":"and","kind":"group"},"showArchived":true}`)
	f.Add(`{"filterGroup":{"children":[],"conjunction":"or","kind":"group"}}`)
	f.Fuzz(func(t *testing.T, src string) {
		for _, table := range []Table{Experiments, Runs} {
			got, err := table.ParseJSON([]byte(src))
			if err != nil {
				continue
			}
			wire, err := got.JSON()
			if err != nil {
				t.Fatalf("%s: %v", src, err)
			}
			back, err := table.ParseJSON(wire)
			if err != nil {
				t.Fatalf("%s became %s: %v", src, wire, err)
			}
			again, _ := back.JSON()
			if diff := cmp.Diff(string(wire), string(again)); diff != "" {
				t.Fatal(diff)
			}
			if !json.Valid(wire) {
				t.Fatalf("%s became %s", src, wire)
			}
		}
	})
}
