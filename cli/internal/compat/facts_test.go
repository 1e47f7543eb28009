// Package compat says, name by name, where Detent does what Determined 0.38.1 does: routes of its REST interface, verbs
// of its command line, fields of its configurations, names of its Python package. The lists of Determined's names are in
// testdata: bindings.txt of master/v1 and routes.txt for the routes, verbs.txt (made by verbs.py) for the command line,
// fields.txt for the configurations, names.txt (made by names.py) for the Python package. answers.tsv answers for each
// name that is not here, or that is here and behaves otherwise. A test fails when a name has no answer, and writes the
// page docs/compat.md.
package compat

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/root"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/v1"
)

const top = "../../.."

// A row is one name of Determined's.
type row struct {
	kind    string // route, verb, field, name
	section string // under which the page lists the row
	name    string // what answers.tsv calls the row
	missing string // what is not here; empty when all of it is
	reason  string // why, where the master or det says so itself
}

// lines returns the lines of a file that are not empty.
func lines(t *testing.T, path string) (found []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if line := strings.TrimRight(s.Text(), " "); line != "" {
			found = append(found, line)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	parameter = regexp.MustCompile(`\{[^}]*\}|:\w+|\*`)
	endpoint  = regexp.MustCompile(`Method: "(\w+)", Path: "([^"]+)"`)
)

// ourRoutes are the method and path of each endpoint, with {} for what differs in the path.
func ourRoutes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(top + "/master/v1/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no table of endpoints: %v", err)
	}
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range endpoint.FindAllStringSubmatch(string(text), -1) {
			path, outside := strings.CutPrefix(m[2], "//")
			if outside {
				path = "/" + path
			} else {
				path = "/api/v1" + path
			}
			found[m[1]+" "+parameter.ReplaceAllString(path, "{}")] = true
		}
	}
	return found
}

func routes(t *testing.T) (rows []row) {
	t.Helper()
	ours, absent := ourRoutes(t), map[string]string{}
	for _, l := range v1.Absent {
		absent[l.Method+" "+parameter.ReplaceAllString(l.Pattern(), "{}")] = l.Why
	}
	add := func(section, name, method, path string) {
		r := row{kind: "route", section: section, name: name}
		at := method + " " + parameter.ReplaceAllString(path, "{}")
		switch {
		case absent[at] != "":
			r.missing, r.reason = "the route", absent[at]
		case !ours[at]:
			r.missing = "the route"
		}
		rows = append(rows, r)
	}
	for _, line := range lines(t, top+"/master/v1/generate/bindings.txt") {
		if f := strings.Fields(line); f[0] == "op" {
			area, _, _ := strings.Cut(strings.TrimLeft(strings.TrimPrefix(f[3], "/api/v1"), "/"), "/")
			_, rpc, _ := strings.Cut(f[1], "_")
			add(area, rpc+" "+f[2]+" "+f[3], f[2], f[3])
		}
	}
	for _, line := range lines(t, "testdata/routes.txt") {
		method, path, _ := strings.Cut(line, " ")
		add("outside /api/v1", line, method, path)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.section, b.section) })
	return rows
}

// verbs compares Determined's tree of commands with ours: each verb, its other spellings and its flags.
func verbs(t *testing.T) (rows []row) {
	t.Helper()
	tree := root.Command(app.New())
	var cmd *cobra.Command
	lack := func(what string) {
		r := &rows[len(rows)-1]
		if cmd != nil {
			r.missing = strings.TrimPrefix(r.missing+", "+what, ", ")
		}
	}
	for _, line := range lines(t, "testdata/verbs.txt") {
		kind, text, _ := strings.Cut(line, "\t")
		words := strings.Fields(text)
		switch kind {
		case "group", "verb":
			cmd = find(tree, words)
			r := row{kind: kind, section: words[0], name: text}
			switch {
			case cmd == nil:
				r.missing = "the " + kind
			case cmd.DisableFlagParsing && cmd.Hidden:
				r.missing, r.reason = "the "+kind, strings.TrimSuffix(cmd.Long, ".")
				cmd = nil
			}
			rows = append(rows, r)
		case "alias":
			if find(tree, words) != cmd {
				lack("`" + words[len(words)-1] + "` as another spelling")
			}
		case "flag":
			if cmd != nil && !slices.ContainsFunc(words, func(w string) bool { return hasFlag(cmd, w) }) {
				lack("`" + words[len(words)-1] + "`")
			}
		}
	}
	return slices.DeleteFunc(rows, func(r row) bool { return r.kind == "group" && r.missing == "" })
}

func find(tree *cobra.Command, words []string) *cobra.Command {
	cmd := tree
	for _, word := range words {
		if cmd.DisableFlagParsing && cmd.Hidden {
			break // it speaks for all verbs below it
		}
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
		if i < 0 {
			return nil
		}
		cmd = cmd.Commands()[i]
	}
	return cmd
}

func hasFlag(cmd *cobra.Command, flag string) bool {
	cmd.InheritedFlags() // merges what the groups above have
	if name, long := strings.CutPrefix(flag, "--"); long {
		return cmd.Flags().Lookup(name) != nil
	}
	name := strings.TrimPrefix(flag, "-")
	return len(name) == 1 && cmd.Flags().ShorthandLookup(name) != nil
}

// fields parses a configuration with each field.
func fields(t *testing.T) (rows []row) {
	t.Helper()
	for _, line := range lines(t, "testdata/fields.txt") {
		name, value, _ := strings.Cut(line, "\t")
		path, _, special := strings.Cut(name, " (")
		section, _, _ := strings.Cut(path, ".")
		parts := strings.Split(path, ".")
		if special {
			parts = parts[:1] // the value is the whole section
		}
		doc := strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1)
		r := row{kind: "field", section: section, name: name}
		if _, _, err := expconf.Parse("", []byte(doc)); err != nil {
			r.missing = err.Error()
		}
		rows = append(rows, r)
	}
	return rows
}

// names compares the public names of the two Python packages.
func names(t *testing.T) (rows []row) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/names.py", top+"/plugins/harness")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("names.py: %v", err)
	}
	ours := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		ours[strings.TrimSuffix(line, "\n")] = true
	}
	for _, line := range lines(t, "testdata/names.txt") {
		module, name, _ := strings.Cut(line, "\t")
		r := row{kind: "name", section: module, name: strings.TrimSpace(module + " " + name)}
		if !ours[module+"\t"+name] {
			r.missing = "the name"
		}
		rows = append(rows, r)
	}
	return rows
}
