package server

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/server/internal/determined"
	"github.com/detent-ml/detent/master/spelling"
)

// read merges a file into c. All problems are reported at once, each with line and column. What is not right is left out, so that the
// values of the other keys can be checked.
func (c *Config) read(src []byte) (f fileReader) {
	f = newFileReader()
	root, problems := document.Parse("", src, document.StoredLimits())
	f.problems = each.Of(problems, document.Problem.String)
	if f.unread = len(problems) > 0; !f.unread {
		f.unread = !f.value(root, reflect.ValueOf(c).Elem(), "")
	}
	return f
}

// A fileReader collects what is wrong with a file, and where its keys are.
type fileReader struct {
	problems []string
	idle     []string          // keys of Determined that need nothing here, each with the reason
	said     map[string]bool   // line:column of values with a problem; aliases repeat them
	places   map[string]string // line:column of each known key
	left     []string          // keys that were left out
	unread   bool              // too little of the file was understood to check the rest
}

func newFileReader() fileReader {
	return fileReader{places: map[string]string{}, said: map[string]bool{}}
}

// rejected reports whether a problem "key: message" is about a key that was left out.
func (f *fileReader) rejected(problem string) bool {
	key, _, _ := strings.Cut(problem, ":")
	return slices.ContainsFunc(f.left, func(section string) bool { return within(key, section) })
}

func place(line, column int) string { return fmt.Sprintf("%d:%d", line, column) }

func (f *fileReader) fail(at, format string, args ...any) bool {
	if !f.said[at] {
		f.said[at] = true
		f.problems = append(f.problems, at+": "+fmt.Sprintf(format, args...))
	}
	return false
}

// value sets v to a value of the file; null changes nothing. It reports whether v is as the file says, perhaps without parts of it.
func (f *fileReader) value(n *document.Node, v reflect.Value, path string) bool {
	at := place(n.Line, n.Column)
	if n.Kind == document.NullKind {
		return true
	}
	if d, ok := v.Addr().Interface().(*Duration); ok {
		if err := d.UnmarshalText([]byte(n.Text)); err != nil {
			return f.fail(at, "%s: %v", path, err)
		}
		return true
	}
	var ok bool
	switch v.Kind() {
	case reflect.Struct:
		return f.section(n, v, path)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			return f.list(n, v, path)
		}
		ok = f.words(n, v)
	case reflect.Map:
		ok = f.names(n, v)
	case reflect.Interface:
		f.placesBelow(n, path)
		ok = setScalar(n, v)
	default:
		ok = setScalar(n, v)
	}
	return ok || f.fail(at, "%s: expected %s, found %s", path, typeName(v.Type()), kindOf(n))
}

// placesBelow remembers where the keys of a section are that somebody else checks.
func (f *fileReader) placesBelow(n *document.Node, path string) {
	for _, x := range n.Fields {
		at := document.Join(path, x.Key)
		f.places[at] = place(x.Line, x.Column)
		f.placesBelow(x.Value, at)
	}
	for i, x := range n.Items {
		at := document.Index(path, i)
		f.places[at] = place(x.Line, x.Column)
		f.placesBelow(x, at)
	}
}

// setScalar sets v to a scalar, or to a section that somebody else checks. It reports whether n has a value of the type of v. Numbers may
// have quotes, as programs write them that fill in templates.
func setScalar(n *document.Node, v reflect.Value) (ok bool) {
	var err error
	switch {
	case n.Kind == document.NullKind:
		ok = true
	case v.Kind() == reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		if ok = setScalar(n, to.Elem()); ok {
			v.Set(to)
		}
	case v.Kind() == reflect.Interface: // a section of an experiment
		v.Set(reflect.ValueOf(asWritten(n)))
		ok = true
	case n.Kind == document.ListKind || n.Kind == document.MapKind:
	case v.Kind() == reflect.String:
		v.SetString(n.Text)
		ok = true
	case v.Kind() == reflect.Bool:
		var b bool
		if b, ok = n.Truth(); ok {
			v.SetBool(b)
		}
	case v.Kind() == reflect.Int:
		i, whole := n.Whole()
		if !whole {
			i, err = strconv.ParseInt(n.Text, 10, 64)
		}
		v.SetInt(i)
		ok = err == nil
	case v.Kind() == reflect.Float64:
		f := n.F
		switch n.Kind {
		case document.IntKind:
			f = float64(n.I)
		case document.StringKind:
			f, err = strconv.ParseFloat(n.Text, 64)
		}
		v.SetFloat(f)
		ok = err == nil && n.Kind != document.BoolKind
	}
	return ok
}

// asWritten is a section with its words and numbers as they are written: what "off" means depends on the field.
func asWritten(n *document.Node) any {
	switch n.Kind {
	case document.StringKind:
		return n.Text
	case document.ListKind:
		return each.Of(n.Items, asWritten)
	case document.MapKind:
		return each.Map(n.Fields, func(x document.Field) (string, any) { return x.Key, asWritten(x.Value) })
	}
	return n.Stored()
}

// words sets v to a list of scalars.
func (f *fileReader) words(n *document.Node, v reflect.Value) bool {
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, x := range n.Items {
		if !setScalar(x, list.Index(i)) {
			return false
		}
	}
	v.Set(list)
	return n.Kind == document.ListKind
}

// names sets v to scalars with names.
func (f *fileReader) names(n *document.Node, v reflect.Value) bool {
	v.Set(reflect.MakeMap(v.Type()))
	for _, x := range n.Fields {
		item := reflect.New(v.Type().Elem()).Elem()
		if !setScalar(x.Value, item) {
			return false
		}
		v.SetMapIndex(reflect.ValueOf(x.Key), item)
	}
	return n.Kind == document.MapKind
}

// list sets v to a list of sections. If it cannot, other keys that name one of these sections cannot be checked.
func (f *fileReader) list(n *document.Node, v reflect.Value, path string) bool {
	if n.Kind != document.ListKind {
		f.unread = true
		return f.fail(place(n.Line, n.Column), "%s: expected a list, found %s", path, kindOf(n))
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, x := range n.Items {
		at := document.Index(path, i)
		f.places[at] = place(x.Line, x.Column)
		if !f.value(x, v.Index(i), at) {
			f.unread = true
		}
	}
	return true
}

// section sets the keys of a section, and leaves those out whose values are not right.
func (f *fileReader) section(n *document.Node, v reflect.Value, path string) bool {
	if n.Kind != document.MapKind {
		return f.fail(place(n.Line, n.Column), "%s: expected a section with keys, found %s", cmp.Or(path, "the file"), kindOf(n))
	}
	fields := map[string]int{}
	for i := range v.NumField() {
		fields[v.Type().Field(i).Tag.Get("yaml")] = i
	}
	for _, x := range n.Fields {
		at := document.Join(path, x.Key)
		i, known := fields[x.Key]
		if !known {
			f.unknown(x, path, slices.Collect(maps.Keys(fields)))
			continue
		}
		f.places[at] = place(x.Line, x.Column)
		before := reflect.New(v.Field(i).Type()).Elem()
		before.Set(v.Field(i))
		if !f.value(x.Value, v.Field(i), at) {
			v.Field(i).Set(before)
			f.left = append(f.left, at)
		}
	}
	return true
}

// unknown says that this master has no such key, what it has in place of a key of Determined, and which key may be meant. Where keys of a
// section of Determined have counterparts of their own, each of them has a line.
func (f *fileReader) unknown(x document.Field, path string, known []string) {
	at := document.Join(path, x.Key)
	if determined.Splits(at) && len(x.Value.Fields) > 0 {
		for _, below := range x.Value.Fields {
			f.unknown(below, at, nil)
		}
		return
	}
	hint, theirs := determined.Hint(at)
	why, idle := determined.Idle(at)
	if theirs && empty(x.Value) {
		why, idle = "it has no value", true
	}
	if idle {
		f.needsNothing(place(x.Line, x.Column), at, why)
		return
	}
	if near := spelling.Nearest(x.Key, known); !theirs && near != "" {
		hint = "; did you mean " + near + "?"
	}
	if ours := determined.Ours(at); slices.Contains(known, ours) {
		f.left = append(f.left, document.Join(path, ours)) // its absence has this message, and needs no second one
	}
	f.fail(place(x.Line, x.Column), "%s: no such key%s", at, hint)
}

// needsNothing says that a key of Determined can be deleted.
func (f *fileReader) needsNothing(at, key, why string) {
	if !f.said[at] {
		f.said[at] = true
		f.idle = append(f.idle, at+": "+key+": "+why)
	}
}

// empty reports whether a key has no value that could be written elsewhere.
func empty(n *document.Node) bool {
	return n.Kind == document.NullKind || n.Text == "" && len(n.Fields) == 0 && len(n.Items) == 0
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Map:
		if t.Elem().Kind() == reflect.Float64 {
			return "names with numbers"
		}
		return "names with words"
	case reflect.Slice:
		return "a list of words"
	}
	return "a word"
}

func kindOf(n *document.Node) string {
	switch n.Kind {
	case document.MapKind:
		return "a section with keys"
	case document.ListKind:
		return "a list"
	}
	return fmt.Sprintf("%q", document.Clip(n.Text))
}
