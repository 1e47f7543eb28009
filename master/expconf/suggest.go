package expconf

import (
	"reflect"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/spelling"
)

// suggest is the hint for an unknown field: the sibling whose name is nearest,
// else the section of the document that does have a field of this name.
func suggest(unknown string, siblings []string, root reflect.Type) string {
	if near := nearest(unknown, siblings); near != "" {
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

// nearest is the candidate that unknown was probably meant to be, or "".
func nearest(unknown string, candidates []string) string {
	candidates = slices.Clone(candidates)
	slices.Sort(candidates)
	low := strings.ToLower(unknown)
	normal := strings.ReplaceAll(low, "-", "_")
	for _, c := range candidates {
		if c == low || c == normal || strings.ReplaceAll(c, "_", "") == low {
			return c
		}
	}
	best, bestDistance := "", len(low)/3+1
	for _, c := range candidates {
		if d := spelling.Distance(normal, c); d < bestDistance || (d == bestDistance && best == "") {
			best, bestDistance = c, d
		}
	}
	if best != "" && bestDistance <= max(1, len(low)/3) {
		return best
	}
	if len(low) < 4 {
		return ""
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, normal+"_") || strings.HasPrefix(normal, c+"_") {
			return c
		}
	}
	for _, c := range candidates {
		if strings.HasSuffix(c, "_"+normal) {
			return c
		}
	}
	return ""
}

// placesOf lists the paths at which a document of type root has a field name.
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
		for _, f := range fieldsOf(t) {
			at := join(path, f.name)
			if f.name == name && path != "" {
				places = append(places, at)
			}
			walk(t.Field(f.index).Type, at, depth+1)
		}
	}
	walk(root, "", 0)
	return places
}
