package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/root"
	"github.com/detent-ml/detent/integration/house/effects"
)

// TestFlagsHaveEffects: each flag of det has a test that sees its effect. Scripts and tests in Go whose lines use a flag and
// look at the result are found here; the others have rows.
//
// The transcripts in integration/clients are of Determined's own det, and say nothing about the flags of this one.
func TestFlagsHaveEffects(t *testing.T) {
	all := flagsOf(root.Command(app.New()))
	all.scripts(t, "testdata")
	for _, folder := range []string{".", "../integration", "../nomad"} {
		all.programs(t, folder)
	}
	for name := range all.seen {
		if slices.ContainsFunc(flagEffects, func(r effects.Row) bool { return slices.Contains(strings.Fields(r[0]), name) }) {
			t.Errorf("%s has a row, and a test that uses it was found: remove the row", name)
		}
	}
	open := slices.DeleteFunc(slices.Collect(maps.Keys(all.names)), func(name string) bool { return all.seen[name] })
	slices.Sort(open)
	effects.Check(t, "..", open, flagEffects)
	if len(all.seen) < 100 {
		t.Errorf("only %d flags were found in scripts and tests: are they still read?", len(all.seen))
	}
}

// The flags of a program: a name is the path of the command and the flag, experiment/list/--all. Three commands and more that
// share a flag with one text share one name, */--json: the flag is of a helper. Another text of at least three has the first
// of its commands in the name.
type flags struct {
	root   *cobra.Command
	nameOf map[*pflag.Flag]string
	names  map[string]bool
	seen   map[string]bool // a test looks at the effect
}

func flagsOf(root *cobra.Command) *flags {
	f := &flags{root: root, nameOf: map[*pflag.Flag]string{}, names: map[string]bool{}, seen: map[string]bool{}}
	shared := map[string]int{}
	texts := map[string]string{} // the most used text of a flag
	first := map[string]string{} // the first command with another text
	each := func(fn func(c *cobra.Command, x *pflag.Flag)) {
		var walk func(c *cobra.Command)
		walk = func(c *cobra.Command) {
			c.LocalNonPersistentFlags().VisitAll(func(x *pflag.Flag) { fn(c, x) })
			c.PersistentFlags().VisitAll(func(x *pflag.Flag) { fn(c, x) })
			for _, sub := range c.Commands() {
				walk(sub)
			}
		}
		walk(root)
	}
	each(func(_ *cobra.Command, x *pflag.Flag) {
		key := x.Name + " " + x.Usage
		if shared[key]++; shared[key] > shared[x.Name+" "+texts[x.Name]] {
			texts[x.Name] = x.Usage
		}
	})
	each(func(c *cobra.Command, x *pflag.Flag) {
		name := strings.Join(append(strings.Fields(c.CommandPath())[1:], "--"+x.Name), "/")
		if key := x.Name + " " + x.Usage; shared[key] > 2 {
			if first[key] == "" {
				first[key] = name
			}
			name = "*/" + first[key]
			if texts[x.Name] == x.Usage {
				name = "*/--" + x.Name
			}
		}
		f.nameOf[x], f.names[name] = name, true
	})
	return f
}

// use notes the flags in the words behind det.
func (f *flags) use(words []string) {
	c := f.root
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			return
		}
		if !strings.HasPrefix(word, "-") {
			if sub := named(c, word); sub != nil {
				c = sub
			}
			continue
		}
		x := flagIn(c, word)
		if x == nil {
			continue
		}
		f.seen[f.nameOf[x]] = f.names[f.nameOf[x]]
		if x.NoOptDefVal == "" && !strings.Contains(word, "=") {
			i++ // its value
		}
	}
}

// noun is the first command among words; nil: none.
func (f *flags) noun(words []string) *cobra.Command {
	for _, word := range words {
		if c := named(f.root, word); c != nil {
			return c
		}
	}
	return nil
}

func named(c *cobra.Command, word string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == word || sub.HasAlias(word) {
			return sub
		}
	}
	return nil
}

func flagIn(c *cobra.Command, word string) *pflag.Flag {
	_ = c.LocalFlags() // joins those of the parents
	if name, ok := strings.CutPrefix(word, "--"); ok {
		name, _, _ = strings.Cut(name, "=")
		return c.Flag(name)
	}
	if len(word) < 2 {
		return nil
	}
	if x := c.Flags().ShorthandLookup(word[1:2]); x != nil {
		return x
	}
	return c.InheritedFlags().ShorthandLookup(word[1:2])
}

// scripts reads the scripts of testscript: a line with det counts if a line about its result follows, or the next line with det,
// of the same noun, has one.
func (f *flags) scripts(t *testing.T, folder string) {
	t.Helper()
	line := regexp.MustCompile(`^!? ?(?:exec )?det (.*)`)
	result := regexp.MustCompile(`^!? ?(?:stdout|stderr|cmp|cmptimes|exists|grep|no-links|let)\b`)
	for _, file := range filesIn(t, folder, ".txtar") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var words, before []string // of a line, and of the one before it if that has no result
		for one := range strings.Lines(string(text)) {
			if m := line.FindStringSubmatch(strings.TrimSpace(one)); m != nil {
				words, before = strings.Fields(m[1]), words
			} else if result.MatchString(one) {
				f.use(words)
				if f.noun(before) != nil && f.noun(before) == f.noun(words) {
					f.use(before)
				}
				before = nil
			}
		}
	}
}

// programs reads the tests in Go: a call with the words of a command counts if its result is used.
func (f *flags) programs(t *testing.T, folder string) {
	t.Helper()
	for _, file := range filesIn(t, folder, "_test.go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		noun := []string{filepath.Base(filepath.Dir(file))}
		ignored := map[ast.Node]bool{}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ExprStmt:
				if call, ok := n.X.(*ast.CallExpr); ok && !strings.HasPrefix(nameOfCall(call), "SetArgs") {
					ignored[call] = true
				}
			case *ast.CallExpr:
				if words := literals(n.Args); !ignored[n] && len(words) > 0 {
					f.useIn(noun, words)
				}
			case *ast.CompositeLit:
				if words := literals(n.Elts); len(words) > 1 {
					f.useIn(noun, words)
				}
			}
			return true
		})
	}
}

// useIn notes the flags of a call whose words begin with a noun of det, or are those of the noun of the package.
func (f *flags) useIn(noun, words []string) {
	for i, word := range words {
		if named(f.root, word) != nil {
			f.use(words[i:])
			return
		}
	}
	if c := named(f.root, noun[0]); c != nil && named(c, words[0]) != nil {
		f.use(slices.Concat(noun, words))
	}
}

func nameOfCall(c *ast.CallExpr) string {
	switch fn := c.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
}

// literals are the texts among expressions, split into words.
func literals(list []ast.Expr) (words []string) {
	for _, e := range list {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				words = append(words, strings.Fields(text)...)
			}
		} else {
			words = append(words, "…") // a value
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

func filesIn(t *testing.T, folder, suffix string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) && filepath.Base(path) != "flags_test.go" && filepath.Base(path) != "flag_rows_test.go" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	return files
}

// TestGuideListsVerbs: the table in docs/cli.md has each noun with all its verbs.
func TestGuideListsVerbs(t *testing.T) {
	text, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| noun | verbs |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	verbs := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		if len(cells) != 2 {
			t.Fatalf("a row of the table: %q", row)
		}
		for _, noun := range regexp.MustCompile("`([a-z -]+)`").FindAllStringSubmatch(cells[0], -1) {
			verbs[noun[1]] = strings.Fields(strings.Trim(strings.TrimSpace(cells[1]), "`"))
		}
	}
	var check func(noun string, c *cobra.Command)
	check = func(noun string, c *cobra.Command) {
		for _, sub := range c.Commands() {
			name := strings.TrimSpace(noun + " " + sub.Name())
			switch {
			case sub.Hidden || sub.Name() == "help":
			case sub.HasSubCommands() && (noun == "" || !slices.Contains(verbs[noun], sub.Name())):
				check(name, sub)
			case noun == "":
				if _, ok := verbs[name]; !ok {
					t.Errorf("the table lacks %s", name)
				}
			case !slices.Contains(verbs[noun], sub.Name()):
				t.Errorf("the table lacks %s", name)
			}
		}
		for _, verb := range verbs[noun] {
			if found, _, err := c.Find([]string{verb}); err != nil || found == c {
				t.Errorf("the table has %s %s, which det has not", noun, verb)
			}
		}
	}
	check("", root.Command(app.New()))
}
