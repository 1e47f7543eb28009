package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	v1 "github.com/detent-ml/detent/master/v1"
)

// The OpenAPI document is made from the table of routes and the Go types, so it always agrees
// with the code.

// jsonObject is a JSON object.
type jsonObject = map[string]any

// docs are the documents about the interface. Each is made once, because everybody may ask for them, and is sent from the same bytes.
type docs struct{ openAPI, page func() ([]byte, error) }

func (r *Router) newDocs() docs {
	return docs{
		openAPI: sync.OnceValues(func() ([]byte, error) { return json.Marshal(r.document()) }),
		page:    sync.OnceValues(r.drawDocs),
	}
}

// OpenAPI answers with the OpenAPI document.
func (r *Router) OpenAPI(_ context.Context, c *Call) error {
	b, err := r.docs.openAPI()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.SendFrom(bytes.NewReader(b), len(b))
	return nil
}

var parameter = regexp.MustCompile(`:(\w+)`)

// docPath is the path of a line in the form {name}.
func docPath(l *v1.Line) string {
	path := parameter.ReplaceAllString(l.Pattern(), "{$1}")
	return strings.Replace(path, "*", "{label}", 1)
}

// noun is the first word of a line's path.
func noun(l *v1.Line) string {
	path := strings.TrimPrefix(l.Pattern(), "/api/v1")
	noun, _, _ := strings.Cut(strings.Trim(path, "/"), "/")
	return noun
}

func (r *Router) document() jsonObject {
	s := schemas{defs: jsonObject{}}
	paths := map[string]jsonObject{}
	for _, x := range r.routes {
		l := &x.Line
		path := docPath(l)
		if paths[path] == nil {
			paths[path] = jsonObject{}
		}
		paths[path][strings.ToLower(l.Method)] = s.operation(l)
	}
	s.define(reflect.TypeFor[ErrorBody]())
	return jsonObject{
		"openapi": "3.1.0",
		"info": jsonObject{"title": "Detent", "version": r.cfg.Version,
			"description": "The API of Determined " + r.cfg.Compatible + " and its extensions in Detent. " +
				"Names may be sent in camelCase or snake_case; null means that a value is not given; 64-bit integers are strings. " +
				"Streams are lines of JSON objects, each with the field result."},
		"servers":  []jsonObject{{"url": r.cfg.PublicURL}},
		"paths":    paths,
		"security": []jsonObject{{"bearer": []string{}}, {"task": []string{}}, {"cookie": []string{}}},
		"components": jsonObject{"schemas": s.defs, "securitySchemes": jsonObject{
			"bearer": jsonObject{"type": "http", "scheme": "bearer", "description": "The token of a session"},
			"task":   jsonObject{"type": "apiKey", "in": "header", "name": "Grpc-Metadata-x-allocation-token", "description": "Bearer and the token of an attempt"},
			"cookie": jsonObject{"type": "apiKey", "in": "cookie", "name": "auth", "description": "Only from the master's own pages"},
		}},
	}
}

// schemas collects the types in operations.
type schemas struct{ defs jsonObject }

func (s *schemas) operation(l *v1.Line) jsonObject {
	path := docPath(l)
	op := jsonObject{"summary": l.Summary, "tags": []string{noun(l)}, "operationId": strings.ToLower(l.Method) + strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_").Replace(path),
		"description": "May be called by " + l.Access.String() + "."}
	if l.Access == v1.Public {
		op["security"] = []jsonObject{}
	}
	var params []jsonObject
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		params = append(params, jsonObject{"name": m[1], "in": "path", "required": true, "schema": jsonObject{"type": "string"}})
	}
	for _, p := range v1.Parameters(l.Query) {
		params = append(params, jsonObject{"name": p.Name, "in": "query", "schema": s.ref(p.Type)})
	}
	for _, name := range l.Others {
		params = append(params, jsonObject{"name": name, "in": "query", "schema": jsonObject{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	if l.Req != nil {
		op["requestBody"] = jsonObject{"content": jsonObject{"application/json": jsonObject{"schema": s.ref(l.Req)}}}
	}
	ok := jsonObject{"description": "Done"}
	if l.Resp != nil {
		ok["content"] = jsonObject{"application/json": jsonObject{"schema": s.ref(l.Resp)}}
	}
	op["responses"] = jsonObject{"200": ok, "default": jsonObject{"description": "The error",
		"content": jsonObject{"application/json": jsonObject{"schema": s.ref(reflect.TypeFor[ErrorBody]())}}}}
	return op
}

func (s *schemas) ref(t reflect.Type) jsonObject {
	if name := s.define(t); name != "" {
		return jsonObject{"$ref": "#/components/schemas/" + name}
	}
	return s.inline(t)
}

// define adds a struct type under its name; types without a name are written inline.
func (s *schemas) define(t reflect.Type) string {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || t.Name() == "" {
		return ""
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, known := s.defs[name]; known {
		return name
	}
	s.defs[name] = jsonObject{} // stops at recursive types
	props, required := jsonObject{}, []string{}
	for i := range t.NumField() {
		field, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		props[field] = s.ref(t.Field(i).Type)
		switch {
		case opts == "omitempty":
		case opts == "null" || t.Field(i).Type.Kind() == reflect.Pointer: // null if it is not set
			props[field] = jsonObject{"anyOf": []jsonObject{s.ref(t.Field(i).Type), {"type": "null"}}}
		default:
			required = append(required, field)
		}
	}
	def := jsonObject{"type": "object", "properties": props}
	if len(required) > 0 {
		def["required"] = required
	}
	s.defs[name] = def
	return name
}

func (s *schemas) inline(t reflect.Type) jsonObject {
	switch t {
	case reflect.TypeFor[time.Time]():
		return jsonObject{"type": "string", "format": "date-time"}
	case reflect.TypeFor[v1.Struct]():
		return jsonObject{"type": "object"}
	case reflect.TypeFor[[]byte]():
		return jsonObject{"type": "string", "contentEncoding": "base64"}
	case reflect.TypeFor[v1.Bare]():
		return jsonObject{"type": "integer", "format": "int64"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ref(t.Elem())
	case reflect.Slice:
		return jsonObject{"type": "array", "items": s.ref(t.Elem())}
	case reflect.Map:
		return jsonObject{"type": "object", "additionalProperties": s.ref(t.Elem())}
	case reflect.Bool:
		return jsonObject{"type": "boolean"}
	case reflect.Int64:
		return jsonObject{"type": "string", "format": "int64"}
	case reflect.Int, reflect.Int32:
		return jsonObject{"type": "integer"}
	case reflect.Float64:
		return jsonObject{"type": "number"}
	case reflect.Struct:
		return jsonObject{"type": "object"}
	}
	return jsonObject{"type": "string"}
}
