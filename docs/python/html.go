package python

import (
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown turns a page into HTML.
var markdown = goldmark.New(
	goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(links{}, 100))),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 1))))

func toHTML(page string) template.HTML {
	var out strings.Builder
	_ = markdown.Convert([]byte(page), &out) // a strings.Builder reports no errors
	return template.HTML(out.String())       //nolint:gosec // goldmark escapes all text
}

var notOfAnchors = regexp.MustCompile(`[^a-z0-9_ -]`)

// links gives headings their anchors, as GitHub does, and leads links to the pages of the master.
type links struct{}

// Transform changes a page before it is written.
func (links) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			words := strings.ToLower(string(n.Lines().Value(reader.Source())))
			n.SetAttributeString("id", []byte(strings.ReplaceAll(notOfAnchors.ReplaceAllString(words, ""), " ", "-")))
		case *ast.Link:
			n.Destination = []byte(target(string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

// blocks writes blocks of code, leaves out comments, and writes links that the master does not serve as text.
type blocks struct{}

// RegisterFuncs names the functions that write these parts.
func (blocks) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHTMLBlock, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkSkipChildren, nil })
	reg.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<pre>" + template.HTMLEscapeString(string(n.Lines().Value(source))) + "</pre>\n")
		}
		return ast.WalkSkipChildren, nil
	})
	reg.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch to := string(n.(*ast.Link).Destination); {
		case to == "":
		case entering:
			_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(to) + `">`)
		default:
			_, _ = w.WriteString("</a>")
		}
		return ast.WalkContinue, nil
	})
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
