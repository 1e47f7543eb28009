package rest

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	v1 "github.com/detent-ml/detent/master/v1"
)

//go:embed openapi.html
var docsTemplate string

// docGroup is the routes of one noun, for the page.
type docGroup struct {
	Noun   string
	Routes []docRoute
}

type docRoute struct {
	Method, Path, Summary, Callers string
	Query                          []string
	Request, Response              []docField
	Stream                         bool
}

// docField is a field of a message, indented by its depth.
type docField struct {
	Indent         string
	Name, Type     string
	Optional, Deep bool
}

// DocsPage answers with a page that documents the interface.
func (r *Router) DocsPage(_ context.Context, c *Call) error {
	page, err := r.docs.page()
	if err != nil {
		return err
	}
	c.SendDocs(page)
	return nil
}

func (r *Router) drawDocs() ([]byte, error) {
	page, err := template.New("page").Parse(docsTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{"Groups": r.docGroups(), "Version": r.cfg.Version, "Compatible": r.cfg.Compatible})
	return b.Bytes(), err
}

// SendDocs sends a page whose style and script stand in it, and which may load nothing.
func (c *Call) SendDocs(page []byte) {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.SendFrom(bytes.NewReader(page), len(page))
}

func (r *Router) docGroups() []docGroup {
	byNoun := map[string][]docRoute{}
	for _, x := range r.routes {
		l := &x.Line
		d := docRoute{Method: l.Method, Path: docPath(l), Summary: l.Summary, Callers: l.Access.String(), Query: l.ParameterNames(), Stream: l.Stream}
		d.Request, d.Response = docFields(l.Req, 0, nil), docFields(l.Resp, 0, nil)
		byNoun[noun(l)] = append(byNoun[noun(l)], d)
	}
	var groups []docGroup
	for noun, routes := range byNoun {
		slices.SortStableFunc(routes, func(x, y docRoute) int { return cmp.Compare(x.Path, y.Path) })
		groups = append(groups, docGroup{noun, routes})
	}
	slices.SortFunc(groups, func(x, y docGroup) int { return cmp.Compare(x.Noun, y.Noun) })
	return groups
}

// docDepth is the maximum depth of messages on the page.
const docDepth = 3

func docFields(t reflect.Type, depth int, above []reflect.Type) []docField {
	if t == nil || t.Kind() != reflect.Struct || depth >= docDepth || slices.Contains(above, t) {
		return nil
	}
	var out []docField
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner, label := docType(f.Type)
		out = append(out, docField{Indent: strings.Repeat("\u00a0\u00a0\u00a0", depth), Name: name, Type: label,
			Optional: opts == "omitempty" || f.Type.Kind() == reflect.Pointer, Deep: depth > 0})
		out = append(out, docFields(inner, depth+1, append(above, t))...)
	}
	return out
}

// docType describes a type, and returns the message in it, if any.
func docType(t reflect.Type) (inner reflect.Type, label string) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return nil, "time"
	case reflect.TypeFor[v1.Struct]():
		return nil, "object"
	case reflect.TypeFor[[]byte]():
		return nil, "base64"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return docType(t.Elem())
	case reflect.Slice:
		inner, label = docType(t.Elem())
		return inner, "list of " + label
	case reflect.Map:
		inner, label = docType(t.Elem())
		return inner, "map to " + label
	case reflect.Struct:
		return t, t.Name()
	case reflect.Bool:
		return nil, "true or false"
	case reflect.Int64:
		if t == reflect.TypeFor[v1.Bare]() {
			return nil, "integer"
		}
		return nil, "integer, as a string"
	case reflect.Int, reflect.Int32:
		return nil, "integer"
	case reflect.Float64:
		return nil, "number"
	}
	if t.Name() != "string" {
		return nil, t.Name()
	}
	return nil, "text"
}
