package jobfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// A member is one key of an object in JSON, with the place where its name stands.
type member struct {
	name   string
	offset int64
	value  any // []member, []any or a scalar
}

// tree reads JSON with the places of its keys.
func tree(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if delim == '{' {
		members := []member{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			m := member{name: key.(string), offset: d.InputOffset()}
			m.offset -= int64(len(m.name)) + 2 // it ends behind the quoted name
			if m.value, err = tree(d); err != nil {
				return nil, err
			}
			members = append(members, m)
		}
		_, err = d.Token()
		return members, err
	}
	items := []any{}
	for d.More() {
		item, err := tree(d)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err = d.Token()
	return items, err
}

// empty reports whether a value is a zero value, as Nomad's parser writes it for unset fields.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []member:
		return !slices.ContainsFunc(v, func(m member) bool { return !empty(m.value) })
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	}
	return false
}

// jsonReader holds a job in JSON to the names that operators may set.
type jsonReader struct {
	src      []byte
	placed   bool // the source is a person's: say where
	problems []Problem
}

func (r *jsonReader) fail(m member, field, message string) {
	p := Problem{Field: field, Message: message}
	if r.placed {
		before := r.src[:min(max(m.offset, 0), int64(len(r.src)))]
		p.Line = 1 + bytes.Count(before, []byte("\n"))
		p.Column = len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
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

func (r *jsonReader) check(v any, t reflect.Type, l *level, path string) {
	members, _ := v.([]member)
	if l.free {
		for _, m := range members {
			if reason := l.refuse(m.name); reason != "" {
				r.fail(m, path+"."+m.name, "cannot be set: "+reason)
			}
		}
		return
	}
	known := names(t)
	for _, m := range members {
		if empty(m.value) {
			continue
		}
		field, isField := t.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, m.name) })
		name := known[field.Name]
		switch next := l.blocks[name]; {
		case !isField || name == "":
			if label := field.Name == "Name" || field.Name == "ID"; !label {
				r.fail(m, path+"."+m.name, "cannot be set: "+why(strings.ToLower(m.name)))
			}
		case name == "name" || name == "type" && path == "job" && m.value == "batch":
		case name == "type" && path == "job":
			r.fail(m, path+"."+m.name, "cannot be set: "+why(name))
		case next != nil:
			r.each(m, field.Type, next, path+"."+name)
		case !slices.Contains(l.attributes, name) && !strings.Contains(field.Tag.Get("hcl"), ",label"):
			r.fail(m, path+"."+m.name, "cannot be set: "+why(name))
		}
	}
}

// each checks the blocks of one name: one, a list of them, or one for each name.
func (r *jsonReader) each(m member, t reflect.Type, l *level, path string) {
	switch v := m.value.(type) {
	case []any:
		if (path == "job.group" || path == "job.group.task") && len(v) > 1 {
			r.fail(m, path, fmt.Sprintf("the job of a pool has one group with one task, found %d", len(v)))
		}
		for _, item := range v {
			if _, ok := item.([]member); !ok {
				r.fail(m, path, fmt.Sprintf("expected objects in the list, found %v", item))
				continue
			}
			r.check(item, elem(t), l, path)
		}
	case []member:
		if t.Kind() == reflect.Map && elem(t).Kind() == reflect.Struct {
			for _, x := range v {
				if _, ok := x.value.([]member); !ok {
					r.fail(x, path+"."+x.name, fmt.Sprintf("expected an object, found %v", x.value))
					continue
				}
				r.check(x.value, elem(t), l, path)
			}
			return
		}
		r.check(v, elem(t), l, path)
	}
}

// readJSON reads a job as `nomad job run -output` writes it, or as Nomad's API takes it.
func readJSON(src []byte) (*api.Job, []Problem) {
	r := jsonReader{src: src, placed: true}
	root, err := tree(json.NewDecoder(bytes.NewReader(src)))
	if err != nil {
		return nil, []Problem{{Message: fmt.Sprintf("is no JSON: %v", err)}}
	}
	var wrapped struct{ Job *api.Job }
	if members, ok := root.([]member); ok && len(members) == 1 && members[0].name == "Job" {
		root = members[0].value
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
	root, err := tree(json.NewDecoder(bytes.NewReader(src)))
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	r := jsonReader{src: src}
	r.check(root, reflect.TypeFor[api.Job](), job(), "job")
	if len(r.problems) > 0 {
		return r.problems
	}
	return checkValues(j)
}
