package expconf

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/detent-ml/detent/master/document"

	"github.com/detent-ml/detent/master/spelling"
)

// suggest returns the hint for an unknown field: the most similar name in the same section, or
// else the section of the document that has a field of this name.
func suggest(unknown string, siblings []string, root reflect.Type) string {
	if near := spelling.Nearest(unknown, siblings); near != "" {
		return "did you mean " + near + "?"
	}
	if root == nil {
		return ""
	}
	if places := placesOf(unknown, root); len(places) == 1 {
		return "did you mean " + places[0] + "?"
	}
	return ""
}

// suggestOf returns the hint for an unknown word: the most similar one of those that exist, or else all of them.
func suggestOf(unknown string, known []string) string {
	return cmp.Or(suggest(unknown, known, nil), "one of "+strings.Join(known, ", "))
}

// placesOf lists the paths at which a document of type root has a field of this name.
func placesOf(name string, root reflect.Type) []string {
	var places []string
	var walk func(t reflect.Type, path string, depth int)
	walk = func(t reflect.Type, path string, depth int) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || depth > 3 {
			return
		}
		for _, f := range sectionOf(t).fields {
			at := document.Join(path, f.name)
			if f.name == name && path != "" {
				places = append(places, at)
			}
			walk(t.Field(f.index).Type, at, depth+1)
		}
	}
	walk(root, "", 0)
	return places
}
