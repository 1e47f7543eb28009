// Package python holds the reference of the Python package, which plugins/harness/reference makes from its
// docstrings when the programs are built, and turns its Markdown into HTML for the master.
package python

import (
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed all:pages
var files embed.FS

// start is the list of the pages.
const start = "README"

// Path is where the master serves the list; the page of a module is below it.
const Path = "/docs/python"

// A Page is a page of the reference.
type Page struct {
	Title string
	Body  template.HTML
}

// moduleName keeps paths out of the file system's hands.
var moduleName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$`)

// Read returns the page of a module, or the list of all pages for "". A module that has
// none is fs.ErrNotExist.
func Read(module string) (Page, error) {
	name := start
	if module != "" {
		if !moduleName.MatchString(module) {
			return Page{}, fs.ErrNotExist
		}
		name = module
	}
	text, err := files.ReadFile("pages/" + name + ".md")
	if errors.Is(err, fs.ErrNotExist) {
		return Page{}, fs.ErrNotExist
	}
	if err != nil {
		return Page{}, err
	}
	return Page{Title: title(string(text)), Body: toHTML(string(text))}, nil
}

// title is the first heading, without its marks.
func title(text string) string {
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			return strings.ReplaceAll(strings.TrimSpace(heading), "`", "")
		}
	}
	return ""
}
