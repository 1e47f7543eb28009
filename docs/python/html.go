package python

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"
)

// writer is a page on its way to HTML.
type writer struct {
	out  strings.Builder
	text []string // lines of the paragraph or of the item of a list that is being read
	list bool     // within a list
	code bool     // within a block of code
}

func toHTML(text string) template.HTML {
	w := &writer{}
	for line := range strings.Lines(text) {
		w.line(strings.TrimRight(line, "\r\n"))
	}
	w.endList()
	return template.HTML(w.out.String()) //nolint:gosec // all text of it went through html.EscapeString
}

func (w *writer) line(line string) {
	fence := strings.HasPrefix(line, "```")
	switch {
	case w.code && fence:
		w.code = false
		w.out.WriteString("</pre>\n")
	case w.code:
		w.out.WriteString(html.EscapeString(line) + "\n")
	case fence:
		w.endList()
		w.code = true
		w.out.WriteString("<pre>")
	case strings.HasPrefix(line, "<!--"):
	case strings.HasPrefix(line, "#"):
		w.endList()
		w.heading(line)
	case strings.HasPrefix(line, "- "):
		w.item(line[2:])
	case strings.HasPrefix(line, "  ") && w.list:
		w.text = append(w.text, strings.TrimSpace(line))
	case line == "":
		w.endText()
	default:
		if w.list && len(w.text) == 0 {
			w.endList()
		}
		w.text = append(w.text, line)
	}
}

func (w *writer) heading(line string) {
	words := strings.TrimLeft(line, "#")
	level := min(len(line)-len(words), 6)
	words = strings.TrimSpace(words)
	fmt.Fprintf(&w.out, "<h%d id=\"%s\">%s</h%d>\n", level, anchor(words), inLine(words), level)
}

func (w *writer) item(text string) {
	w.endText()
	if !w.list {
		w.list = true
		w.out.WriteString("<ul>\n")
	}
	w.text = []string{text}
}

// endText writes what was read of a paragraph or of an item.
func (w *writer) endText() {
	if len(w.text) == 0 {
		return
	}
	tag := "p"
	if w.list {
		tag = "li"
	}
	fmt.Fprintf(&w.out, "<%s>%s</%s>\n", tag, inLine(strings.Join(w.text, "\n")), tag)
	w.text = nil
}

func (w *writer) endList() {
	w.endText()
	if w.list {
		w.out.WriteString("</ul>\n")
		w.list = false
	}
}

var (
	notOfAnchors = regexp.MustCompile(`[^a-z0-9_ -]`)
	// parts are links, whose text may be code, and code.
	parts = regexp.MustCompile("\\[(`?)([^]`]+)`?\\]\\(([^)\\s]+)\\)|`([^`]+)`")
)

// anchor is what a heading is linked by, as GitHub has it.
func anchor(heading string) string {
	return strings.ReplaceAll(notOfAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// inLine is a text with its links and code.
func inLine(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range parts.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(html.EscapeString(text[at:m[0]]))
		at = m[1]
		if m[8] >= 0 {
			b.WriteString("<code>" + html.EscapeString(text[m[8]:m[9]]) + "</code>")
			continue
		}
		words := html.EscapeString(text[m[4]:m[5]])
		if m[2] < m[3] {
			words = "<code>" + words + "</code>"
		}
		if to := target(text[m[6]:m[7]]); to != "" {
			words = `<a href="` + html.EscapeString(to) + `">` + words + "</a>"
		}
		b.WriteString(words)
	}
	b.WriteString(html.EscapeString(text[at:]))
	return b.String()
}

// target is where a link leads on the master, "" for what the master does not serve.
func target(link string) string {
	page, section, cut := strings.Cut(link, "#")
	if cut {
		section = "#" + section
	}
	switch {
	case page == "":
		return section
	case page == start+".md":
		return Path + section
	case strings.HasSuffix(page, ".md") && !strings.Contains(page, "/"):
		return Path + "/" + strings.TrimSuffix(page, ".md") + section
	}
	return ""
}
