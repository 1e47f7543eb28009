package server

import (
	"errors"
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

// read merges a file into c. A file that contains only comments changes nothing; the YAML library would reset c. Keys that are not
// right are left out, so that the values of the others can be checked.
func (c *Config) read(src []byte) (f fileChecker) {
	f = fileChecker{places: map[string]string{}}
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		f.syntax(err)
		return f
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.NullType {
		return f
	}
	body := file.Docs[0].Body
	if f.checkValue(body, reflect.TypeFor[Config](), ""); f.unread {
		return f
	}
	if len(f.problems) == 0 {
		err = yaml.Unmarshal(src, c)
	} else {
		err = yaml.NodeToValue(body, c)
	}
	if err != nil { // problems that only decoding finds
		f.syntax(err)
	}
	return f
}

// A fileChecker collects what is wrong with a file, and where its keys are.
type fileChecker struct {
	problems []string
	places   map[string]string // line:column of each known key
	left     []string          // keys that were left out
	unread   bool              // the file cannot be decoded
}

// syntax says what the YAML library found.
func (f *fileChecker) syntax(err error) {
	f.unread = true
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil || e.GetToken().Position == nil {
		f.problems = append(f.problems, " "+yaml.FormatError(err, false, false))
		return
	}
	p := e.GetToken().Position
	f.problems = append(f.problems, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, e.GetMessage()))
}

// rejected reports whether a problem "key: message" is about a key that was left out.
func (f *fileChecker) rejected(problem string) bool {
	key, _, _ := strings.Cut(problem, ":")
	return slices.ContainsFunc(f.left, func(section string) bool { return within(key, section) })
}

func (f *fileChecker) fail(at ast.Node, format string, args ...any) {
	f.problems = append(f.problems, place(at)+": "+fmt.Sprintf(format, args...))
}

func place(n ast.Node) string {
	p := n.GetToken().Position
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// checkValue checks a value of the file against the type of its key. It reports whether the value can be decoded, perhaps with parts left out.
func (f *fileChecker) checkValue(n ast.Node, t reflect.Type, path string) bool {
	if a, ok := n.(*ast.AnchorNode); ok {
		n = a.Value
	}
	switch n.(type) {
	case nil, *ast.NullNode, *ast.AliasNode: // an alias was checked at its anchor
		return true
	}
	switch {
	case t.Kind() == reflect.Struct:
		return f.checkFields(n, t, path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			f.fail(n, "%s: expected a list, found %s", path, kindOf(n))
			f.unread = true // other keys name what is in these lists
			return false
		}
		for i, x := range list.Values {
			at := fmt.Sprintf("%s[%d]", path, i)
			f.places[at] = place(x)
			if !f.checkValue(x, t.Elem(), at) {
				f.unread = true
			}
		}
	case t.Kind() != reflect.Interface: // sections of an experiment are checked elsewhere
		v := reflect.New(t)
		if d, ok := v.Interface().(*Duration); ok {
			if err := d.UnmarshalYAML([]byte(n.String())); err != nil {
				f.fail(n, "%s: %v", path, err)
				return false
			}
		} else if err := yaml.NodeToValue(n, v.Interface()); err != nil {
			f.fail(n, "%s: expected %s, found %s", path, typeName(t), kindOf(n))
			return false
		}
	}
	return true
}

// checkFields checks the keys of a section, and leaves those out whose values cannot be decoded.
func (f *fileChecker) checkFields(n ast.Node, t reflect.Type, path string) bool {
	m, ok := n.(ast.MapNode)
	if !ok {
		f.fail(n, "%s: expected a section with keys, found %s", strings.Trim(path, "."), kindOf(n))
		return false
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		fields[t.Field(i).Tag.Get("yaml")] = t.Field(i).Type
	}
	bad := map[*ast.MappingValueNode]bool{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		at := strings.TrimPrefix(path+"."+key, ".")
		if field, known := fields[key]; known {
			f.places[at] = place(it.Key())
			if !f.checkValue(it.Value(), field, at) {
				bad[it.KeyValue()] = true
				f.left = append(f.left, at)
			}
		} else if key != "<<" {
			f.fail(it.Key(), "%s: no such key%s", at, hint(key, path, fields))
		}
	}
	if len(bad) == 0 {
		return true
	}
	whole, ok := m.(*ast.MappingNode)
	if ok {
		whole.Values = slices.DeleteFunc(whole.Values, func(v *ast.MappingValueNode) bool { return bad[v] })
	}
	return ok
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
