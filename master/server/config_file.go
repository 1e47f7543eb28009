package server

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/detent-ml/detent/master/spelling"
)

// The master validates the structure of a configuration file before it decodes the file, so
// that all problems are reported at once, each with line and column.

// read merges a file into c, and returns the problems of the file. A file that contains only
// comments changes nothing; the YAML library would reset c.
func (c *Config) read(src []byte) []string {
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return []string{yaml.FormatError(err, false, true)}
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.NullType {
		return nil
	}
	f := fileChecker{}
	f.checkValue(file.Docs[0].Body, reflect.TypeFor[Config](), "")
	if len(f.problems) > 0 {
		return f.problems
	}
	if err := yaml.Unmarshal(src, c); err != nil { // problems that only decoding finds
		return []string{yaml.FormatError(err, false, true)}
	}
	return nil
}

type fileChecker struct{ problems []string }

func (f *fileChecker) fail(at ast.Node, format string, args ...any) {
	p := at.GetToken().Position
	f.problems = append(f.problems, fmt.Sprintf("%d:%d: ", p.Line, p.Column)+fmt.Sprintf(format, args...))
}

// checkValue checks a value of the file against the type of its key.
func (f *fileChecker) checkValue(n ast.Node, t reflect.Type, path string) {
	if a, ok := n.(*ast.AnchorNode); ok {
		n = a.Value
	}
	switch n.(type) {
	case nil, *ast.NullNode, *ast.AliasNode: // an alias was checked at its anchor
		return
	}
	switch {
	case t.Kind() == reflect.Struct:
		f.checkFields(n, t, path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			f.fail(n, "%s: expected a list, found %s", path, kindOf(n))
			return
		}
		for i, x := range list.Values {
			f.checkValue(x, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case t.Kind() != reflect.Interface: // sections of an experiment are checked elsewhere
		v := reflect.New(t)
		if d, ok := v.Interface().(*Duration); ok {
			if err := d.UnmarshalYAML([]byte(n.String())); err != nil {
				f.fail(n, "%s: %v", path, err)
			}
		} else if err := yaml.NodeToValue(n, v.Interface()); err != nil {
			f.fail(n, "%s: expected %s, found %s", path, typeName(t), kindOf(n))
		}
	}
}

func (f *fileChecker) checkFields(n ast.Node, t reflect.Type, path string) {
	m, ok := n.(ast.MapNode)
	if !ok {
		f.fail(n, "%s: expected a section with keys, found %s", strings.Trim(path, "."), kindOf(n))
		return
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		fields[t.Field(i).Tag.Get("yaml")] = t.Field(i).Type
	}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		at := strings.TrimPrefix(path+"."+key, ".")
		if field, known := fields[key]; known {
			f.checkValue(it.Value(), field, at)
		} else if key != "<<" {
			f.fail(it.Key(), "%s: no such key%s", at, hint(key, path, fields))
		}
	}
}

// determinedKeys are the keys of Determined's master.yaml that have another name in Detent.
var determinedKeys = map[string]string{
	"db": "database: postgres://user:password@host:5432/name", "port": "listen: host:port", "security": "tls, initial_password",
	"resource_manager": "nomad, resource_pools", "pool_name": "name", "observability": "nothing: /metrics is always available",
	"allow_heterogeneous_fits": "the opposite, equal_parts",
	"provider":                 "nothing: Nomad's autoscaler adds and removes nodes", "log": "log_level", "root": "nothing: the pages are in det-master", "telemetry": "nothing: Detent sends no telemetry",
}

func hint(key, path string, fields map[string]reflect.Type) string {
	if ours, theirs := determinedKeys[key]; theirs && (path == "" || strings.HasPrefix(path, "resource_pools")) {
		return "; this is a key of Determined, for which Detent has " + ours
	}
	near := spelling.Nearest(key, slices.Collect(maps.Keys(fields)))
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Map:
		return "names with numbers"
	case reflect.Slice:
		return "a list of words"
	}
	return "a word"
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a section with keys"
	case *ast.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", n.GetToken().Value)
}
