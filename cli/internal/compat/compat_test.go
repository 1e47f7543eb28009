package compat

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write docs/compat.md anew")

const page = top + "/docs/compat.md"

// An answer is a line of answers.tsv: what Detent has in place of some of Determined's names.
type answer struct {
	kind, pattern string // the pattern may end in *
	word          string // same, better, other, none or soon
	why           string
	used          bool
}

// The words of answers, by which readers see what to expect.
var words = []string{"same", "better", "other", "none", "soon"}

func (a *answer) fits(r row) bool {
	prefix, open := strings.CutSuffix(a.pattern, "*")
	return a.kind == r.kind && (r.name == a.pattern || open && strings.HasPrefix(r.name, prefix))
}

func answers(t *testing.T) (found []*answer) {
	t.Helper()
	for i, line := range lines(t, "testdata/answers.tsv") {
		f := strings.Split(line, "\t")
		if len(f) != 4 || !slices.Contains(words, f[2]) || f[3] == "" {
			t.Fatalf("answers.tsv:%d: want kind, name, one of %s, and a sentence, with tabs between; the line is %q", i+1, strings.Join(words, ", "), line)
		}
		found = append(found, &answer{kind: f[0], pattern: f[1], word: f[2], why: f[3]})
	}
	return found
}

// TestEveryNameHasAnAnswer: Detent has each name of Determined, or answers.tsv names its
// replacement; and the page for readers is the same.
func TestEveryNameHasAnAnswer(t *testing.T) {
	var rows []row
	for _, some := range [][]row{routes(t), verbs(t), fields(t), names(t)} {
		if len(some) < 50 {
			t.Fatalf("only %d rows: a list of testdata is not read", len(some))
		}
		rows = append(rows, some...)
	}
	known := answers(t)
	given := map[string]*answer{}
	unanswered := 0
	for _, r := range rows {
		for _, a := range known {
			if a.fits(r) && (r.missing != "" || a.pattern == r.name) {
				a.used, given[r.kind+" "+r.name] = true, a
				break
			}
		}
		if given[r.kind+" "+r.name] == nil && r.reason != "" {
			given[r.kind+" "+r.name] = &answer{word: "none", why: r.reason}
		}
		if given[r.kind+" "+r.name] == nil && r.missing != "" {
			if unanswered++; unanswered < 40 {
				t.Errorf("%s %s is not here (%s), and answers.tsv does not answer for it", r.kind, r.name, r.missing)
			}
		}
	}
	for _, a := range known {
		if !a.used && a.kind != "feature" {
			t.Errorf("answers.tsv answers for %s %s, which Determined does not have or which is here", a.kind, a.pattern)
		}
	}
	text := render(rows, known, given)
	if *rewrite {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != text {
		t.Errorf("%s is not what the tables give (%v); go test ./cli/internal/compat -rewrite writes the page anew", page, err)
	}
}

const preface = `# Compatibility with Determined 0.38.1

This page lists what Determined 0.38.1 has, name by name, and what Detent has in its place. A program writes the page from
Detent's own tables and from the lists of Determined's names; a test fails when a name is missing here and nobody has said
why. [Coming from Determined](migrate.md) describes the differences in behaviour.

- **same**: Detent has the name, and it does what it does in Determined.
- **better**: Detent has it, and does more; the page says what.
- **other**: Detent has something else in its place; the page says what.
- **soon**: not in this release; the [roadmap](roadmap.md) has it.
- **none**: it will not be here; the page says why, or what to use instead.

`

// sections are the parts of the page, in their order.
var sections = []struct{ kind, title, intro string }{
	{"route", "REST interface", "Each call of Determined's REST interface, by the first part of its path."},
	{"verb", "Command line", "Each verb of Determined's `det`, with its flags and other spellings."},
	{"field", "Configuration", "Each field of an experiment's configuration; those of commands, notebooks, shells and TensorBoards are a part of them. [The experiment configuration](experiment-config.md) describes their effects."},
	{"name", "Python package", "Each public name of the Python package `determined`, by module. Modules whose name begins with an underscore are not public."},
}

func render(rows []row, known []*answer, given map[string]*answer) string {
	var b strings.Builder
	b.WriteString(preface)
	count(&b, rows, given)
	b.WriteString("## Features that Determined removed, or sold in its Enterprise Edition\n\n| | answer | |\n|---|---|---|\n")
	for _, a := range known {
		if a.kind == "feature" {
			fmt.Fprintf(&b, "| %s | **%s** | %s |\n", a.pattern, a.word, a.why)
		}
	}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.title, s.intro)
		var some []row
		for _, r := range rows {
			if kindOf(r) == s.kind {
				some = append(some, r)
			}
		}
		if s.kind == "name" {
			modules(&b, some, given)
			continue
		}
		table(&b, some, given)
	}
	return b.String()
}

// kindOf counts a group of verbs among the verbs.
func kindOf(r row) string {
	if r.kind == "group" {
		return "verb"
	}
	return r.kind
}

func wordOf(r row, given map[string]*answer) string {
	if a := given[r.kind+" "+r.name]; a != nil {
		return a.word
	}
	return "same"
}

func count(b *strings.Builder, rows []row, given map[string]*answer) {
	b.WriteString("| | names | same | better | other | soon | none |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range sections {
		n := map[string]int{}
		for _, r := range rows {
			if kindOf(r) == s.kind {
				n["all"]++
				n[wordOf(r, given)]++
			}
		}
		fmt.Fprintf(b, "| [%s](#%s) | %d | %d | %d | %d | %d | %d |\n", s.title, strings.ReplaceAll(strings.ToLower(s.title), " ", "-"),
			n["all"], n["same"], n["better"], n["other"], n["soon"], n["none"])
	}
	b.WriteString("\n")
}

func table(b *strings.Builder, rows []row, given map[string]*answer) {
	section := "-"
	for _, r := range rows {
		if r.section != section {
			section = r.section
			fmt.Fprintf(b, "\n### %s\n\n| | answer | |\n|---|---|---|\n", section)
		}
		why := ""
		if a := given[r.kind+" "+r.name]; a != nil {
			why = a.why
			if part := r.missing; kindOf(r) == "verb" && part != "" && !strings.HasPrefix(part, "the ") {
				why = "without " + part + ": " + why
			}
		}
		fmt.Fprintf(b, "| `%s` | **%s** | %s |\n", r.name, wordOf(r, given), why)
	}
}

// modules has a line for each module, with the answers for its names; modules of which nothing is here, for the same
// reason, share one.
func modules(b *strings.Builder, rows []row, given map[string]*answer) {
	b.WriteString("\n| module | names | here | the others |\n|---|---:|---:|---|\n")
	var lines []moduleLine
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(r row) bool { return r.section != rows[0].section })
		if n < 0 {
			n = len(rows)
		}
		line := lineOf(rows[:n], given)
		rows = rows[n:]
		if last := len(lines) - 1; last >= 0 && line.only != nil && lines[last].only == line.only {
			lines[last].names += line.names
			lines[last].more++
			continue
		}
		lines = append(lines, line)
	}
	for _, l := range lines {
		more := ""
		if l.more > 0 {
			more = fmt.Sprintf(" and %d more below it", l.more)
		}
		fmt.Fprintf(b, "| `%s`%s | %d | %d | %s |\n", l.module, more, l.names, l.here, l.others)
	}
}

type moduleLine struct {
	module            string
	names, here, more int
	only              *answer // for all names of a module of which nothing is here
	others            string
}

func lineOf(module []row, given map[string]*answer) moduleLine {
	line := moduleLine{module: module[0].section, names: len(module)}
	var order []*answer
	lacks := map[*answer][]string{}
	for _, r := range module {
		a := given[r.kind+" "+r.name]
		if a == nil {
			line.here++
			continue
		}
		if !slices.Contains(order, a) {
			order = append(order, a)
		}
		name := strings.TrimSpace(strings.TrimPrefix(r.name, r.section))
		owner, _, inside := strings.Cut(name, ".")
		if name != "" && (!inside || !slices.Contains(lacks[a], "`"+owner+"`")) {
			lacks[a] = append(lacks[a], "`"+name+"`")
		}
	}
	if line.here == 0 && len(order) == 1 {
		line.only, line.others = order[0], "**"+order[0].word+"**: "+order[0].why
		return line
	}
	var said []string
	for _, a := range order {
		said = append(said, strings.TrimSpace("**"+a.word+"** "+strings.Join(lacks[a], ", "))+": "+a.why)
	}
	line.others = strings.Join(said, "<br>")
	return line
}
