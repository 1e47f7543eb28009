package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/v1"
)

// determineds has the functions, messages and enums of Determined's generated client, as bindings.py writes them.
//
//go:embed bindings.txt
var determineds string

// An operation is a function of the bindings.
type operation struct {
	name, method, path, answer, summary string
	stream                              bool
	args                                []argument
}

// An argument of a function, or a field of a message.
type argument struct {
	name, kind string
	required   bool
	where, key string // path, body or query, and its name there
}

// theirs has the content of bindings.txt about Determined's client.
type theirs struct {
	operations map[string]*operation // by method and path, the names in the path left out
	messages   map[string][]argument
	enums      map[string][][2]string
}

var inBraces = regexp.MustCompile(`\{\w*\}|:\w+|\*`)

// site identifies an endpoint.
func site(method, path string) string { return method + " " + inBraces.ReplaceAllString(path, "{}") }

func readTheirs() (theirs, error) {
	known := theirs{map[string]*operation{}, map[string][]argument{}, map[string][][2]string{}}
	var op *operation
	name := ""
	for line := range strings.Lines(determineds) {
		f := strings.Fields(line)
		switch f[0] {
		case "op":
			op = &operation{name: f[1], method: f[2], path: f[3], answer: f[4], stream: len(f) > 5}
			known.operations[site(f[2], f[3])] = op
		case "arg":
			op.args = append(op.args, argument{name: f[1], kind: f[2], required: f[3] == "required", where: f[4], key: f[5]})
		case "class", "enum":
			name = f[1]
			if f[0] == "class" {
				known.messages[name] = nil
			}
		case "field":
			known.messages[name] = append(known.messages[name], argument{name: f[1], kind: f[2], required: f[3] == "required"})
		case "value":
			known.enums[name] = append(known.enums[name], [2]string{f[1], f[2]})
		default:
			return theirs{}, fmt.Errorf("bindings.txt: unknown line %q", line)
		}
	}
	return known, nil
}

// ours has the structs of package v1, and the lines of its table.
type ours struct {
	structs map[string]*ast.StructType
	lines   []tableLine
}

// A tableLine is an endpoint as its file writes it.
type tableLine struct {
	name      string
	req, resp ast.Expr
	fields    map[string]string // what is written as text or as a word
}

func readOurs(files []*ast.File) ours {
	found, same := ours{structs: map[string]*ast.StructType{}}, map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				switch of := n.Type.(type) {
				case *ast.StructType:
					found.structs[n.Name.Name] = of
				case *ast.Ident: // type PatchTrialResponse GetTrialResponse
					same[n.Name.Name] = of.Name
				}
			case *ast.ValueSpec:
				if line, ok := asLine(n); ok {
					found.lines = append(found.lines, line)
				}
			}
			return true
		})
	}
	for name, of := range same {
		if s := found.structs[of]; s != nil {
			found.structs[name] = s
		}
	}
	slices.SortFunc(found.lines, func(a, b tableLine) int { return strings.Compare(a.name, b.name) })
	return found
}

func asLine(n *ast.ValueSpec) (line tableLine, ok bool) {
	if len(n.Values) != 1 {
		return line, false
	}
	made, ok := n.Values[0].(*ast.CompositeLit)
	if !ok {
		return line, false
	}
	kind, ok := made.Type.(*ast.IndexListExpr)
	if !ok {
		return line, false
	}
	line = tableLine{name: n.Names[0].Name, req: kind.Indices[0], resp: kind.Indices[1], fields: map[string]string{}}
	for _, e := range made.Elts {
		pair := e.(*ast.KeyValueExpr)
		switch v := pair.Value.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(v.Value)
			if err != nil {
				text = v.Value
			}
			line.fields[pair.Key.(*ast.Ident).Name] = text
		case *ast.Ident:
			line.fields[pair.Key.(*ast.Ident).Name] = v.Name
		}
	}
	return line, true
}

// pattern is the whole path of a line.
func (l tableLine) pattern() string { return v1.Line{Path: l.fields["Path"]}.Pattern() }

// foreign reports whether the endpoint is one of MLflow's interface, whose clients are MLflow's.
func (l tableLine) foreign() bool { return strings.HasPrefix(l.fields["Path"], "//mlflow") }

// A pythonWriter writes the functions, and each message and enum that they mention, once.
type pythonWriter struct {
	theirs
	ours
	functions, types map[string]string // by name
	paged            []string          // answers with a pagination
}

// python returns the text of bindings.py.
func python(files []*ast.File) (string, error) {
	known, err := readTheirs()
	if err != nil {
		return "", err
	}
	w := &pythonWriter{theirs: known, ours: readOurs(files), functions: map[string]string{}, types: map[string]string{}}
	for _, line := range w.lines {
		op := w.operations[site(line.fields["Method"], line.pattern())]
		switch {
		case op != nil:
		case line.fields["Stream"] == "true" || line.foreign():
			continue // a file, or something else that is no message of ours
		default:
			op = w.own(line)
		}
		op.summary = line.fields["Summary"]
		w.function(op)
	}
	var all strings.Builder
	all.WriteString(pythonHead)
	for _, texts := range []map[string]string{w.types, w.functions} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			all.WriteString("\n\n" + texts[name])
		}
	}
	slices.Sort(w.paged)
	fmt.Fprintf(&all, "\n\nPaginated = Union[\n    %s,\n]\n", strings.Join(w.paged, ",\n    "))
	return all.String(), nil
}

const pythonHead = `"""A function for each endpoint of the master, and the messages that they take and return.

Names, arguments and messages are those of Determined 0.38.1; what it does not have is Detent's own.
Made from the table of endpoints by master/v1/generate.

    from determined.common.api import bindings
    from determined.experimental import client

    session = client.Determined()._session
    for experiment in bindings.get_GetExperiments(session, limit=10).experiments:
        print(experiment.id, experiment.state)
"""

# ruff: noqa: E501, I001, PLC0414

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Sequence, Union

from determined.common.api._messages import (
    APIHttpError as APIHttpError,
    APIHttpStreamError as APIHttpStreamError,
    DetEnum as DetEnum,
    Message as Message,
    Printable as Printable,
    Unset as Unset,
    call as _call,
    stream as _stream,
)
from determined.common.api._session import BaseSession
from determined.common.api._url import quoted as _quoted
`

// own describes an endpoint that Determined does not have.
func (w *pythonWriter) own(line tableLine) *operation {
	path := line.pattern()
	op := &operation{name: strings.ToLower(line.fields["Method"]) + "_" + line.name, method: line.fields["Method"], answer: w.kind(line.resp)}
	for _, name := range (v1.Line{Path: line.fields["Path"]}).Names() {
		path = strings.Replace(path, ":"+name, "{"+name+"}", 1)
		op.args = append(op.args, argument{name: name, kind: "Any", required: true, where: "path", key: name})
	}
	op.path = path
	if op.method == "GET" {
		op.args = append(op.args, w.parameters(line.req)...)
	} else if body := w.kind(line.req); body != "None" {
		op.args = append(op.args, argument{name: "body", kind: body, required: true, where: "body"})
	}
	return op
}

// parameters lists the parameters of a request, with those of the structs in it.
func (w *pythonWriter) parameters(request ast.Expr) (list []argument) {
	s := w.structs[request.(*ast.Ident).Name]
	if s == nil { // None
		return nil
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			list = append(list, w.parameters(f.Type)...)
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		name := reflect.StructTag(tag).Get("json")
		list = append(list, argument{name: strings.ReplaceAll(name, ".", "_"), kind: w.kind(f.Type), where: "query", key: name})
	}
	return list
}

// kind is a type of ours in Python; a struct becomes a message.
func (w *pythonWriter) kind(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return w.kind(e.X)
	case *ast.ArrayType:
		if w.kind(e.Elt) == "byte" {
			return "str"
		}
		return "Sequence[" + w.kind(e.Elt) + "]"
	case *ast.MapType:
		return "Dict[str," + w.kind(e.Value) + "]"
	case *ast.SelectorExpr, *ast.StructType, *ast.InterfaceType:
		if s, ok := e.(*ast.SelectorExpr); ok && s.Sel.Name == "Time" {
			return "str"
		}
		return "Any"
	case *ast.Ident:
		return w.word(e.Name)
	}
	return "Any"
}

func (w *pythonWriter) word(name string) string {
	switch name {
	case "None", "Empty":
		return "None"
	case "Struct":
		return "Dict[str,Any]"
	case "bool", "byte":
		return name
	case "int", "int32":
		return "int"
	case "float64":
		return "float"
	}
	if w.structs[name] == nil {
		return "str" // words, and integers of 64 bits
	}
	class := classOf(name)
	if _, known := w.messages[class]; !known {
		w.messages[class] = nil // a type that holds itself ends here
		w.messages[class] = w.fields(name)
	}
	return class
}

// fields lists the fields of a struct of ours.
func (w *pythonWriter) fields(name string) (fields []argument) {
	for _, f := range w.structs[name].Fields.List {
		tag, _ := strconv.Unquote(f.Tag.Value)
		word, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		_, pointer := f.Type.(*ast.StarExpr)
		fields = append(fields, argument{name: word, kind: w.kind(f.Type), required: options == "" && !pointer})
	}
	return fields
}

var words = regexp.MustCompile(`\w+`)

// mention writes the messages and enums of a type, if nobody has.
func (w *pythonWriter) mention(kind string) {
	for _, name := range words.FindAllString(kind, -1) {
		if w.types[name] != "" {
			continue
		}
		if values, ok := w.enums[name]; ok {
			text := fmt.Sprintf("class %s(DetEnum):\n    \"\"\"The values of %s.\"\"\"\n\n", name, name)
			for _, v := range values {
				text += fmt.Sprintf("    %s = %q\n", v[0], v[1])
			}
			w.types[name] = text
		}
		if _, ok := w.messages[name]; ok {
			w.message(name)
		}
	}
}

// message writes a class: Determined's fields, and then the fields that only Detent has.
func (w *pythonWriter) message(name string) {
	fields := slices.Clone(w.messages[name])
	for _, own := range slices.Sorted(maps.Keys(w.structs)) {
		if classOf(own) != name {
			continue
		}
		for _, f := range w.fields(own) {
			if !slices.ContainsFunc(fields, func(a argument) bool { return a.name == f.name }) {
				f.required = false
				fields = append(fields, f)
			}
		}
	}
	text := fmt.Sprintf("class %s(Message):\n    \"\"\"The message %s.\"\"\"\n", name, name)
	w.types[name] = text
	for i, f := range fields {
		if i == 0 {
			text += "\n"
		}
		if f.name == "pagination" {
			w.paged = append(w.paged, name)
		}
		text += "    " + typed(f) + "\n"
		w.mention(f.kind)
	}
	w.types[name] = text
}

// typed is an argument or a field with its type.
func typed(f argument) string {
	kind := strings.ReplaceAll(f.kind, ",", ", ")
	if f.required {
		return f.name + ": " + kind
	}
	if kind == "Any" {
		return f.name + ": Any = None"
	}
	return fmt.Sprintf("%s: Optional[%s] = None", f.name, kind)
}

// function writes an operation.
func (w *pythonWriter) function(op *operation) {
	var head, params strings.Builder
	body, path := "", fmt.Sprintf("%q", op.path)
	for _, a := range op.args {
		w.mention(a.kind)
		fmt.Fprintf(&head, "    %s,\n", typed(a))
		switch a.where {
		case "query":
			fmt.Fprintf(&params, "        %q: %s,\n", a.key, a.name)
		case "body":
			body = ", body"
		case "path":
			path = "f" + strings.TrimPrefix(strings.Replace(path, "{"+a.name+"}", "{_quoted(str("+a.name+"))}", 1), "f")
		}
	}
	w.mention(op.answer)
	answer := strings.ReplaceAll(op.answer, ",", ", ")
	if op.stream {
		answer = "Iterator[" + answer + "]"
	}
	text := fmt.Sprintf("def %s(\n    session: BaseSession,\n", op.name)
	if len(op.args) > 0 {
		text += "    *,\n" + head.String()
	}
	text += fmt.Sprintf(") -> %s:\n    \"\"\"%s.\"\"\"\n    _path = %s\n", answer, op.summary, path)
	query := "{}"
	if params.Len() > 0 {
		text += "    _params = {\n" + params.String() + "    }\n"
		query = "_params"
	}
	w.functions[op.name] = text + w.end(op, query+body)
}

// end sends the request of a function, and reads the answer.
func (w *pythonWriter) end(op *operation, rest string) string {
	if op.stream {
		return fmt.Sprintf("    for _record in _stream(session, %q, _path, %s):\n        yield %s.from_json(_record)\n", op.name, rest, op.answer)
	}
	call := fmt.Sprintf("_call(session, %q, _path, %s)", op.method, rest)
	switch _, message := w.messages[op.answer]; {
	case op.answer == "None":
		return "    " + call + "\n"
	case message:
		return fmt.Sprintf("    _answer = %s\n    return %s.from_json(_answer)\n", call, op.answer)
	}
	return fmt.Sprintf("    _answer: %s = %s\n    return _answer\n", strings.ReplaceAll(op.answer, ",", ", "), call)
}

// classNames are the classes of Determined's client with names of their own.
var classNames = map[string]string{
	"Trial": "trialv1Trial", "ResourcesSummaryDevices": "ResourcesSummaryDevices", "FileTreeResponse": "v1GetModelDefTreeResponse",
	"LogFieldsResponse": "v1TaskLogsFieldsResponse", "TemplateResponse": "v1GetTemplateResponse",
	"NotebookResponse": "v1KillNotebookResponse", "ShellResponse": "v1KillShellResponse", "TensorboardResponse": "v1KillTensorboardResponse",
}

// classOf is the class of a struct of ours.
func classOf(name string) string {
	if class, ok := classNames[name]; ok {
		return class
	}
	return "v1" + name
}
