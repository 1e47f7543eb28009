package house

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/house/effects"
)

// A story is a row of docs/stories.md.
type story struct {
	quoted string   // the first cell
	spans  []string // what stands between backquotes there
	proofs string   // the last cell
}

var (
	// span is text between one or three backquotes.
	span = regexp.MustCompile("`{1,3}([^`]+)`{1,3}")
	// proof is a part of the last cell: its kind, and what proves it.
	proof  = regexp.MustCompile(`^(test|recipe|page|parsed|nothing yet|cannot): (.+)$`)
	bold   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	target = regexp.MustCompile(`\]\([^)]+\)`)
)

// stories returns the rows of docs/stories.md by document, in their order.
func stories(t *testing.T, root string) (documents [][]story) {
	t.Helper()
	table := false
	for line := range strings.Lines(read(t, filepath.Join(root, "docs", "stories.md"))) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			documents, table = append(documents, nil), false
		case len(documents) == 0 || line == "":
		case line == "| command, configuration or claim | here | what runs it |":
		case line == "|---|---|---|":
			table = true
		case !table:
			t.Errorf("docs/stories.md has a line outside of a table: %s", line)
		default:
			cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
			if len(cells) != 3 {
				t.Errorf("docs/stories.md has a row of %d cells: %s", len(cells), line)
				continue
			}
			s := story{quoted: strings.TrimSpace(strings.ReplaceAll(cells[0], "\x00", "|")), proofs: strings.TrimSpace(cells[2])}
			s.spans = spans(s.quoted)
			last := len(documents) - 1
			documents[last] = append(documents[last], s)
		}
	}
	return documents
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func spans(text string) (all []string) {
	for _, m := range span.FindAllStringSubmatch(text, -1) {
		if one := strings.TrimSpace(m[1]); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// TestStories: docs/stories.md names tests, recipes and items of the roadmap that exist. If the published texts are beside
// the checkout, each of their commands has a row.
func TestStories(t *testing.T) {
	root := filepath.Join("..", "..")
	documents := stories(t, root)
	c := proofs{root: root, recipes: read(t, filepath.Join(root, "justfile")), roadmap: read(t, filepath.Join(root, "docs", "roadmap.md")),
		declared: map[string]map[string]bool{}, kinds: map[string]int{}}
	rows := 0
	for _, d := range documents {
		for _, s := range d {
			rows++
			c.check(t, s)
		}
	}
	if len(documents) != 5 || rows < 100 {
		t.Errorf("docs/stories.md has %d rows of %d documents", rows, len(documents))
	}
	t.Logf("%d rows; their first words: %v", rows, c.kinds)

	files, err := filepath.Glob(filepath.Join(root, "..", "shared", "seeds", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "..", "shared", "seeds")); errors.Is(err, fs.ErrNotExist) {
		t.Log("the published texts are not here: whether each of their commands has a row is not tested")
		return
	}
	if len(files) != len(documents) {
		t.Fatalf("%d texts, and docs/stories.md has %d", len(files), len(documents))
	}
	slices.Sort(files)
	for i, file := range files {
		for _, command := range commandsOf(read(t, file)) {
			if !slices.ContainsFunc(documents[i], func(s story) bool { return s.has(command) }) {
				t.Errorf("docs/stories.md has no row with the command %q of %s", command, filepath.Base(file))
			}
		}
	}
}

// proofs compares the last cells of rows with what exists.
type proofs struct {
	root, recipes, roadmap string
	declared               map[string]map[string]bool
	kinds                  map[string]int // how many rows begin with a kind
}

func (c proofs) check(t *testing.T, s story) {
	t.Helper()
	for i, part := range strings.Split(s.proofs, "; ") {
		m := proof.FindStringSubmatch(part)
		if m == nil {
			t.Errorf("%s: %q does not begin with a kind of proof and a colon", s.quoted, part)
			continue
		}
		kind, body := m[1], m[2]
		if i == 0 {
			c.kinds[kind]++
		}
		tests, recipes := 0, 0
		for _, text := range spans(body) { // those of one word, and commands of det, explain
			switch words := strings.Fields(text); {
			case words[0] == "just" && len(words) > 1:
				recipes++
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `( [^:]*)?:`).MatchString(c.recipes) {
					t.Errorf("%s: the justfile has no recipe %s", s.quoted, words[1])
				}
			case len(words) > 1 && words[0] != "det":
				tests++
				if _, err := os.Stat(filepath.Join(c.root, words[0])); err != nil {
					t.Errorf("%s: there is no package %s", s.quoted, words[0])
					continue
				}
				effects.Exist(t, c.root, s.quoted, text, c.declared)
			}
		}
		c.items(t, s, body)
		missing := map[string]bool{"test": tests == 0, "parsed": tests == 0, "recipe": recipes == 0,
			"page": !target.MatchString(body), "nothing yet": !bold.MatchString(body)}
		if missing[kind] {
			t.Errorf("%s: %q names nothing of its kind", s.quoted, part)
		}
	}
}

// items compares bold words with the items of the roadmap.
func (c proofs) items(t *testing.T, s story, body string) {
	t.Helper()
	for _, m := range bold.FindAllStringSubmatch(body, -1) {
		if !strings.Contains(c.roadmap, "- **"+m[1]+"**") {
			t.Errorf("%s: docs/roadmap.md has no item **%s**", s.quoted, m[1])
		}
	}
}

// programs begin the commands of the texts.
var programs = []string{"det", "det-deploy", "nomad", "kubectl", "helm", "pip", "python", "python3", "docker", "git", "curl"}

// commandsOf returns the lines of blocks, and the words between backquotes, that begin with a program.
func commandsOf(text string) (commands []string) {
	block := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		fence := strings.HasPrefix(line, "```") && !strings.Contains(line[3:], "```")
		found := []string{line}
		if fence {
			block = !block
		}
		if !block {
			found = spans(line)
		}
		for _, c := range found {
			if words := strings.Fields(c); len(words) > 1 && slices.Contains(programs, words[0]) {
				commands = append(commands, strings.Join(words, " "))
			}
		}
	}
	return commands
}

// has reports whether a row quotes a command, or its first three words or more.
func (s story) has(command string) bool {
	return slices.ContainsFunc(s.spans, func(quoted string) bool {
		return quoted == command || len(strings.Fields(quoted)) > 2 && strings.HasPrefix(command, quoted+" ")
	})
}
