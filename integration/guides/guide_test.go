package guides

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A block is one of the fenced blocks of a document.
type block struct {
	lang    string // what follows the fence: "" for commands
	heading string // of the section that it is in
	skip    string // why no test runs it; "" for those that are run
	text    string
}

// notRun marks a block that no test runs, with the reason, in the line before it.
var notRun = regexp.MustCompile(`^\s*<!-- not run by a test: (.+) -->$`)

// blocksIn are the fenced blocks of a text, in their order. Those in lists lose their
// indentation.
func blocksIn(text string) []block {
	var blocks []block
	var at *block
	heading, skip, indent := "", "", ""
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\n")
		fence := strings.HasPrefix(strings.TrimSpace(bare), "```")
		switch {
		case at == nil && fence:
			indent = bare[:strings.Index(bare, "`")]
			at = &block{lang: strings.TrimPrefix(strings.TrimSpace(bare), "```"), heading: heading, skip: skip}
		case at != nil && fence:
			blocks = append(blocks, *at)
			at, skip = nil, ""
		case at != nil:
			at.text += strings.TrimPrefix(line, indent)
		case strings.HasPrefix(bare, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(bare, "#"))
		default:
			if m := notRun.FindStringSubmatch(bare); m != nil {
				skip = m[1]
			}
		}
	}
	return blocks
}

func blocksOf(t *testing.T, file string) []block {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return blocksIn(string(text))
}

// fencedBlocks are the blocks of commands in a document, in their order.
func fencedBlocks(t *testing.T, file string) []string {
	t.Helper()
	var commands []string
	for _, b := range blocksOf(t, file) {
		if b.lang == "" {
			commands = append(commands, b.text)
		}
	}
	return commands
}

// A place is a placeholder that readers replace.
type place struct {
	name  string
	value func() string
	used  bool
}

func literal(value string) func() string { return func() string { return value } }

// placeholder finds what readers replace in a document's commands: a host below .example, words in
// capitals that are no variable of the shell, and an ellipsis.
var placeholder = regexp.MustCompile(`(?:https?://)?[a-z0-9.-]*\.example\b(?::\d+)?|\b[A-Z]+(?:-[A-Z]+)+\b|(?:^|[^\w$-])([A-Z]{2,})(?:$|[^\w=-])|…`)

// placeholdersIn returns the placeholders of a text, sorted.
func placeholdersIn(text string) []string {
	var found []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		name := m[0]
		if m[1] != "" {
			name = m[1]
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// filledIn returns a block with values in place of its placeholders. A placeholder that is not in
// the table fails the test.
func filledIn(t *testing.T, text string, table []*place) string {
	t.Helper()
	for _, name := range placeholdersIn(text) {
		if !slices.ContainsFunc(table, func(p *place) bool { return p.name == name }) {
			t.Fatalf("the placeholder %q is not in the test's table:\n%s", name, text)
		}
	}
	for _, p := range table { // the longer names of those that begin alike are first in it
		if strings.Contains(text, p.name) {
			p.used = true
			text = strings.ReplaceAll(text, p.name, p.value())
		}
	}
	return text
}

func TestPlaceholdersAreFound(t *testing.T) {
	const text = `export PATH=$PWD/detent:$PATH PGHOST=db.example NOMAD_ADDR=https://nomad.example:4646 A=NOMAD-TOKEN
sha256sum --check SHA256SUMS "$HOME/x" && put dsn="postgres://u:PASSWORD@db.example:5432/d" "postgres://…" ${DET_MASTER} x-B -var-C`
	if got, want := strings.Join(placeholdersIn(text), " "), "NOMAD-TOKEN PASSWORD db.example db.example:5432 https://nomad.example:4646 …"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

func TestBlocksOfADocument(t *testing.T) {
	const text = "# A page\n```\none\n```\n## Next\n* item\n  ```hcl\n  a {\n    b = 1\n  }\n  ```\n" +
		"<!-- not run by a test: it needs a printer -->\n```\nlpr\n```\n```\ntwo\n```\n"
	want := []block{{heading: "A page", text: "one\n"}, {lang: "hcl", heading: "Next", text: "a {\n  b = 1\n}\n"},
		{heading: "Next", skip: "it needs a printer", text: "lpr\n"}, {heading: "Next", text: "two\n"}}
	if got := blocksIn(text); !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
}
