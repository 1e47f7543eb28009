package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// gone are the sites of Determined, which its owner has closed. An address there leads nowhere.
var gone = regexp.MustCompile(`(?i)(docs|www|blog)\.determined\.ai|//determined\.ai`)

// namesGone are the files that name such a site, and why.
var namesGone = map[string]string{
	"docs/migrate.md": "tells users of Determined that the site is gone",
}

// TestNoLinksToClosedSites: no text of ours, whether a document, a message or a comment, leads to a site that no longer exists.
func TestNoLinksToClosedSites(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files, named := 0, map[string]bool{}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil { // a link to a folder, or a file that was removed
			continue
		}
		files++
		at := gone.FindIndex(text)
		switch {
		case at == nil:
		case namesGone[name] == "":
			t.Errorf("%s:%d names %s, which no longer exists: name the page of the documentation, or a page of ours", name, 1+strings.Count(string(text[:at[0]]), "\n"), text[at[0]:at[1]])
		default:
			named[name] = true
		}
	}
	for name := range namesGone {
		if !named[name] {
			t.Errorf("%s names no closed site any more: remove its line", name)
		}
	}
	if files < 1000 {
		t.Errorf("only %d files were read", files)
	}
}
