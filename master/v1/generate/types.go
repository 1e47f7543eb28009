package main

import (
	"fmt"
	"go/ast"
	"reflect"
	"strconv"
	"strings"
)

// inStreams are the records of the streams that the pages follow.
var inStreams = []string{"MetricsReport", "TaskLogsResponse", "GetTrialProfilerAvailableSeriesResponse", "GetTrialProfilerMetricsResponse"}

// typescript is the text of types.ts.
func typescript(files []*ast.File) string {
	w := &typeWriter{ours: readOurs(files), known: map[string]bool{}}
	var endpoints strings.Builder
	for _, l := range w.lines {
		if l.foreign() {
			continue
		}
		body := "undefined"
		if l.fields["Method"] != "GET" {
			body = w.of(l.req)
		}
		fmt.Fprintf(&endpoints, "export const %s: Endpoint<%s, %s> = { method: '%s', path: '%s' };\n",
			strings.ToLower(l.name[:1])+l.name[1:], body, w.of(l.resp), l.fields["Method"], l.pattern())
	}
	for _, name := range inStreams {
		w.word(name)
	}
	return `// The master's interface for the pages: the endpoints under their names in the table of endpoints,
// with a small first letter, and their messages. Made from the table by master/v1/generate.
// 64-bit integers and times travel as strings.

// An endpoint: how it is called, what it takes and what it answers.
export interface Endpoint<Req, Resp> {
  method: string;
  path: string; // :names are to be replaced
  takes?: Req;
  answers?: Resp;
}

` + endpoints.String() + w.String()
}

// A typeWriter writes each message that is mentioned, once.
type typeWriter struct {
	strings.Builder
	ours
	known map[string]bool
}

// of is a type of ours in TypeScript; a struct becomes an interface.
func (w *typeWriter) of(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return w.of(e.X)
	case *ast.ArrayType:
		switch elem := w.of(e.Elt); {
		case elem == "byte":
			return "string"
		case strings.Contains(elem, " "):
			return "(" + elem + ")[]"
		default:
			return elem + "[]"
		}
	case *ast.MapType:
		return "Record<string, " + w.of(e.Value) + ">"
	case *ast.StructType:
		return "Record<string, unknown>"
	case *ast.Ident:
		return w.word(e.Name)
	}
	return "string" // a time
}

func (w *typeWriter) word(name string) string {
	switch name {
	case "None":
		return "undefined"
	case "Struct":
		return "Record<string, any>"
	case "bool":
		return "boolean"
	case "byte":
		return name
	case "int", "int32", "float64":
		return "number" // NaN and infinities are strings, which drawing code looks for
	}
	if w.structs[name] == nil {
		return "string" // words, and integers of 64 bits
	}
	w.define(name)
	return name
}

// define writes a message.
func (w *typeWriter) define(message string) {
	if w.known[message] {
		return
	}
	w.known[message] = true
	var fields strings.Builder
	for _, f := range w.structs[message].Fields.List {
		tag, _ := strconv.Unquote(f.Tag.Value)
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		text := w.of(f.Type)
		_, pointer := f.Type.(*ast.StarExpr)
		switch {
		case options == "omitempty":
			name += "?"
		case options == "null" || pointer:
			text += " | null"
		}
		fmt.Fprintf(&fields, "  %s: %s;\n", name, text)
	}
	fmt.Fprintf(w, "\nexport interface %s {\n%s}\n", message, fields.String())
}
