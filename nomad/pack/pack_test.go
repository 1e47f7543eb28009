// Package pack has the Nomad Packs of Detent: detent, the master's job, and detent_postgres, a database for sites that have none. Their
// templates and variables are made from the job files beside this folder, so that there is one source: go test ./nomad/pack -rewrite.
package pack

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	v1 "github.com/detent-ml/detent/master/v1"
)

var rewrite = flag.Bool("rewrite", false, "make the packs anew from the job files")

// A source is a job file and the pack that is made of it.
type source struct {
	pack, job, description string
	without                []string // variables that only nomad job run can fill
}

var sources = []source{
	{"detent", "master.nomad.hcl", "The master of a Detent cluster: deep-learning training on Nomad, compatible with Determined 0.38.", []string{"pool_jobs"}},
	{"detent_postgres", "postgres.nomad.hcl", "PostgreSQL for a Detent cluster, with a copy of the database each day.", nil},
}

// literal is the template of a variable's value. JSON is HCL, but for the beginnings of interpolations.
const literal = `[[ var %q . | toJson | replace "${" "$${" | replace "%%{" "%%%%{" ]]`

// A variable is a block of a job file, with the lines of its text.
type variable struct {
	name     string
	block    string
	standard cty.Value
}

var blocks = regexp.MustCompile(`(?ms)^variable "(\w+)" \{\n.*?^\}\n`)

// variables are those of a job file, in their order.
func variables(t *testing.T, file, text string) []variable {
	t.Helper()
	parsed, diags := hclsyntax.ParseConfig([]byte(text), file, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	standards := map[string]cty.Value{}
	for _, b := range parsed.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "variable" {
			continue
		}
		v, diags := b.Body.Attributes["default"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatalf("variable %s: %v", b.Labels[0], diags)
		}
		standards[b.Labels[0]] = v
	}
	var list []variable
	for _, m := range blocks.FindAllStringSubmatch(text, -1) {
		list = append(list, variable{m[1], m[0], standards[m[1]]})
	}
	if len(list) != len(standards) || len(list) == 0 {
		t.Fatalf("%s: %d of %d variables are blocks that begin at the margin", file, len(list), len(standards))
	}
	return list
}

var defaults = regexp.MustCompile(`(?m)^(  default\s+= ).*$`)

// made are the files of a pack, by their paths.
func (s source) made(t *testing.T, job string) map[string]string {
	t.Helper()
	if strings.Contains(job, "[[") {
		t.Fatalf("%s has [[, which begins an action of a pack's template", s.job)
	}
	tpl, vars := job, "# Made from nomad/"+s.job+" by go test ./nomad/pack -rewrite; change it there.\n"
	for _, v := range variables(t, s.job, job) {
		if slices.Contains(s.without, v.name) {
			continue
		}
		vars += "\n" + v.block
		with := defaults.ReplaceAllString(v.block, "${1}"+strings.ReplaceAll(fmt.Sprintf(literal, v.name), "$", "$$"))
		tpl = strings.Replace(tpl, v.block, with, 1)
	}
	return map[string]string{
		"templates/" + s.pack + ".nomad.tpl": tpl,
		"variables.hcl":                      vars,
		"metadata.hcl": fmt.Sprintf("app {\n  url = \"https://github.com/detent-ml/detent\"\n}\n\npack {\n  name        = %q\n  description = %q\n  url         = \"https://github.com/detent-ml/detent\"\n  version     = %q\n}\n",
			s.pack, s.description, v1.Version),
	}
}

// TestPacksAreThoseOfTheJobs: what is committed is what the job files give.
func TestPacksAreThoseOfTheJobs(t *testing.T) {
	for _, s := range sources {
		for name, want := range s.made(t, read(t, filepath.Join("..", s.job))) {
			path := filepath.Join(s.pack, name)
			if *rewrite {
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := read(t, path); got != want {
				t.Errorf("%s is not what nomad/%s gives: go test ./nomad/pack -rewrite", path, s.job)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// render fills a pack's template as nomad-pack does: actions in [[ ]], the function var, and functions of sprig.
func render(t *testing.T, text string, values map[string]any) string {
	t.Helper()
	tpl, err := template.New("pack").Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"var": func(name string, _ any) (any, error) {
			v, ok := values[name]
			if !ok {
				return nil, fmt.Errorf("there is no variable %s", name)
			}
			return v, nil
		},
		"toJson":  func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"replace": func(old, now, in string) string { return strings.ReplaceAll(in, old, now) },
	}).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tpl.Execute(&out, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestRenderedPacks: a rendered pack is the job file whose variables have the pack's values, whatever characters these have.
func TestRenderedPacks(t *testing.T) {
	const odd = "pools: [{scheduler: {rack: \"${meta.rack}\"}}] # %{if} {{ x }} [[ y ]] <&> \\ \"é\"\n\ttab"
	for _, s := range sources {
		job := read(t, filepath.Join("..", s.job))
		tpl := read(t, filepath.Join(s.pack, "templates", s.pack+".nomad.tpl"))
		before := variables(t, s.job, job)
		values, changed := map[string]any{}, map[string]any{}
		for _, v := range before {
			b, err := ctyjson.Marshal(v.standard, v.standard.Type())
			if err != nil {
				t.Fatal(err)
			}
			var is any
			if err := json.Unmarshal(b, &is); err != nil {
				t.Fatal(err)
			}
			values[v.name], changed[v.name] = is, is
			switch is := is.(type) {
			case string:
				changed[v.name] = v.name + odd
			case float64:
				changed[v.name] = 4711.0
			case bool:
				changed[v.name] = !is
			case []any:
				changed[v.name] = []any{"a", odd}
			case map[string]any:
				changed[v.name] = map[string]any{"DETENT_X": odd}
			default:
				t.Fatalf("the variable %s has a default of the type %T", v.name, is)
			}
			if slices.Contains(s.without, v.name) {
				changed[v.name] = is
			}
		}
		for what, given := range map[string]map[string]any{"defaults": values, "other values": changed} {
			rendered := render(t, tpl, given)
			after := variables(t, s.job, rendered)
			if strings.TrimSpace(blocks.ReplaceAllString(rendered, "")) != strings.TrimSpace(blocks.ReplaceAllString(job, "")) {
				t.Errorf("%s with %s differs from nomad/%s beside its variables", s.pack, what, s.job)
			}
			for i, v := range after {
				want, err := json.Marshal(given[before[i].name])
				if err != nil {
					t.Fatal(err)
				}
				got, err := ctyjson.Marshal(v.standard, v.standard.Type())
				if err != nil {
					t.Fatal(err)
				}
				if v.name != before[i].name || !sameJSON(t, got, want) {
					t.Errorf("%s with %s: %s is %s, want %s", s.pack, what, v.name, got, want)
				}
			}
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for text, to := range map[string]*any{string(a): &x, string(b): &y} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	if string(a) == string(b) {
		return true
	}
	left, errLeft := json.Marshal(x)
	right, errRight := json.Marshal(y)
	return errLeft == nil && errRight == nil && string(left) == string(right)
}
