package jobfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
)

// empty reports whether a value is a zero value, as Nomad's parser writes it for unset fields.
func empty(n *document.Node) bool {
	switch n.Kind {
	case document.MapKind:
		return !slices.ContainsFunc(n.Fields, func(f document.Field) bool { return !empty(f.Value) })
	case document.ListKind:
		return len(n.Items) == 0
	}
	value := n.Free()
	return value == nil || reflect.ValueOf(value).IsZero()
}

// jsonReader holds a job in JSON to the names that operators may set.
type jsonReader struct {
	placed   bool // the source is a person's: say where
	problems []Problem
}

func (r *jsonReader) fail(m document.Field, field, message string) {
	p := Problem{Field: field, Message: message}
	if r.placed {
		p.Line, p.Column = m.Line, m.Column
	}
	r.problems = append(r.problems, p)
}

// names gives the name in HCL of each field of a struct of Nomad's API, by its name in JSON.
func names(t reflect.Type) map[string]string {
	out := map[string]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		out[f.Name] = name
	}
	return out
}

// elem returns the type of the elements of a list, a map or a pointer.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

func (r *jsonReader) check(n *document.Node, t reflect.Type, l *level, path string) {
	if l.free {
		for _, m := range n.Fields {
			if reason := l.refuse(m.Key); reason != "" {
				r.fail(m, path+"."+m.Key, "cannot be set: "+reason)
			}
		}
		return
	}
	known := names(t)
	for _, m := range n.Fields {
		if empty(m.Value) {
			continue
		}
		field, isField := t.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, m.Key) })
		name := known[field.Name]
		switch next := l.blocks[name]; {
		case !isField || name == "":
			if label := field.Name == "Name" || field.Name == "ID"; !label {
				r.fail(m, path+"."+m.Key, "cannot be set: "+why(strings.ToLower(m.Key)))
			}
		case name == "name" || name == "type" && path == "job" && m.Value.Text == "batch":
		case name == "type" && path == "job":
			r.fail(m, path+"."+m.Key, "cannot be set: "+why(name))
		case next != nil:
			r.each(m, field.Type, next, path+"."+name)
		case !slices.Contains(l.attributes, name) && !strings.Contains(field.Tag.Get("hcl"), ",label"):
			r.fail(m, path+"."+m.Key, "cannot be set: "+why(name))
		}
	}
}

// each checks the blocks of one name: one, a list of them, or one for each name.
func (r *jsonReader) each(m document.Field, t reflect.Type, l *level, path string) {
	switch m.Value.Kind {
	case document.ListKind:
		if (path == "job.group" || path == "job.group.task") && len(m.Value.Items) > 1 {
			r.fail(m, path, fmt.Sprintf("the job of a pool has one group with one task, found %d", len(m.Value.Items)))
		}
		for _, item := range m.Value.Items {
			if item.Kind != document.MapKind {
				r.fail(m, path, "expected objects in the list, found "+item.Describe())
				continue
			}
			r.check(item, elem(t), l, path)
		}
	case document.MapKind:
		if t.Kind() == reflect.Map && elem(t).Kind() == reflect.Struct {
			for _, x := range m.Value.Fields {
				if x.Value.Kind != document.MapKind {
					r.fail(x, path+"."+x.Key, "expected an object, found "+x.Value.Describe())
					continue
				}
				r.check(x.Value, elem(t), l, path)
			}
			return
		}
		r.check(m.Value, elem(t), l, path)
	}
}

// tree reads valid JSON with the places of its keys.
func tree(src []byte) (*document.Node, []Problem) {
	root, found := document.ParseJSON("", src, document.StoredLimits())
	return root, each.Of(found, func(p document.Problem) Problem {
		return Problem{Line: p.Line, Column: p.Column, Field: p.Path, Message: p.Message}
	})
}

// readJSON reads a job as `nomad job run -output` writes it, or as Nomad's API takes it.
func readJSON(src []byte) (*api.Job, []Problem) {
	r := jsonReader{placed: true}
	if !json.Valid(src) {
		return nil, []Problem{{Message: fmt.Sprintf("is no JSON: %v", json.Unmarshal(src, new(any)))}}
	}
	root, problems := tree(src)
	if len(problems) > 0 {
		return nil, problems
	}
	var wrapped struct{ Job *api.Job }
	var err error
	if len(root.Fields) == 1 && root.Fields[0].Key == "Job" {
		root = root.Fields[0].Value
		err = json.Unmarshal(src, &wrapped)
	} else {
		err = json.Unmarshal(src, &wrapped.Job)
	}
	if err != nil {
		return nil, []Problem{{Message: fmt.Sprintf("is no job of Nomad's: %v", err)}}
	}
	r.check(root, reflect.TypeFor[api.Job](), job(), "job")
	if len(r.problems) == 0 {
		r.problems = checkValues(wrapped.Job)
	}
	return wrapped.Job, r.problems
}

// Check holds a job that Nomad has parsed to the names that operators may set.
func Check(j *api.Job) []Problem {
	src, err := json.Marshal(j)
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	root, problems := tree(src)
	if len(problems) > 0 {
		return problems
	}
	r := jsonReader{}
	r.check(root, reflect.TypeFor[api.Job](), job(), "job")
	if len(r.problems) > 0 {
		return r.problems
	}
	return checkValues(j)
}
