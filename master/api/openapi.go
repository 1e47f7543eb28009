package api

import (
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	v1 "github.com/detent-ml/detent/master/v1"
)

// The description of the interface is made from the table of routes and the Go
// types behind it, so it cannot say anything else than what the code does.

func (a *API) registerDocs() {
	raw(a, v1.GetOpenAPI, a.openAPI)
	raw(a, v1.GetSwagger, a.openAPI)
	raw(a, v1.GetDocs, a.docsPage)
}

// object is a JSON object being written.
type object = map[string]any

func (a *API) openAPI(_ context.Context, c *call) error {
	b, err := json.Marshal(a.document())
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(b)
}

// docPath is the path of a line with {names}.
func docPath(l *v1.Line) string {
	path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(l.Pattern(), "{$1}")
	return strings.Replace(path, "*", "{label}", 1)
}

// noun is what a line is about: the first word of its path.
func noun(l *v1.Line) string {
	path := strings.TrimPrefix(l.Pattern(), "/api/v1")
	noun, _, _ := strings.Cut(strings.Trim(path, "/"), "/")
	return noun
}

func (a *API) document() object {
	s := schemas{defs: object{}}
	paths := map[string]object{}
	for i := range a.routes {
		r := &a.routes[i].Line
		path := docPath(r)
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(r.Method)] = s.operation(r)
	}
	s.define(reflect.TypeFor[errorBody]())
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "Detent", "version": a.cfg.DetentVersion,
			"description": "The interface of Determined " + a.cfg.Version + ", and what Detent adds to it. " +
				"Names may be sent in camelCase or snake_case; null means that a value is not given; 64-bit integers are strings. " +
				"Streams are lines of JSON objects, each with a result."},
		"servers":  []object{{"url": a.cfg.PublicURL}},
		"paths":    paths,
		"security": []object{{"bearer": []string{}}, {"task": []string{}}, {"cookie": []string{}}},
		"components": object{"schemas": s.defs, "securitySchemes": object{
			"bearer": object{"type": "http", "scheme": "bearer", "description": "The token that signing in gives"},
			"task":   object{"type": "apiKey", "in": "header", "name": "Grpc-Metadata-x-allocation-token", "description": "Bearer and the token of an attempt"},
			"cookie": object{"type": "apiKey", "in": "cookie", "name": "auth", "description": "From the master's own pages only"},
		}},
	}
}

// schemas collects the types that operations mention.
type schemas struct{ defs object }

func (s *schemas) operation(l *v1.Line) object {
	path := docPath(l)
	op := object{"summary": l.Summary, "tags": []string{noun(l)}, "operationId": strings.ToLower(l.Method) + strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_").Replace(path),
		"description": "May be called by " + l.Access.String() + "."}
	if l.Access == v1.Public {
		op["security"] = []object{}
	}
	var params []object
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range strings.Fields(l.Params) {
		params = append(params, object{"name": q, "in": "query", "schema": object{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	if l.Req != nil {
		op["requestBody"] = object{"content": object{"application/json": object{"schema": s.ref(l.Req)}}}
	}
	ok := object{"description": "Done"}
	if l.Resp != nil {
		ok["content"] = object{"application/json": object{"schema": s.ref(l.Resp)}}
	}
	op["responses"] = object{"200": ok, "default": object{"description": "What went wrong",
		"content": object{"application/json": object{"schema": s.ref(reflect.TypeFor[errorBody]())}}}}
	return op
}

func (s *schemas) ref(t reflect.Type) object {
	if name := s.define(t); name != "" {
		return object{"$ref": "#/components/schemas/" + name}
	}
	return s.inline(t)
}

// define adds a struct type under its name; types without one are written inline.
func (s *schemas) define(t reflect.Type) string {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || t.Name() == "" {
		return ""
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, known := s.defs[name]; known {
		return name
	}
	s.defs[name] = object{} // a type that holds itself ends here
	props, required := object{}, []string{}
	for i := range t.NumField() {
		field, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		props[field] = s.ref(t.Field(i).Type)
		switch {
		case opts == "omitempty":
		case opts == "null" || t.Field(i).Type.Kind() == reflect.Pointer: // written as null where it is not set
			props[field] = object{"anyOf": []object{s.ref(t.Field(i).Type), {"type": "null"}}}
		default:
			required = append(required, field)
		}
	}
	def := object{"type": "object", "properties": props}
	if len(required) > 0 {
		def["required"] = required
	}
	s.defs[name] = def
	return name
}

func (s *schemas) inline(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[v1.Struct]():
		return object{"type": "object"}
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ref(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": s.ref(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.ref(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int64:
		return object{"type": "string", "format": "int64"}
	case reflect.Int, reflect.Int32:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct:
		return object{"type": "object"}
	}
	return object{"type": "string"}
}
