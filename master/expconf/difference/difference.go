// Package difference compares two configurations: which fields a policy has changed, and to what. It is pure, and knows of
// configurations only which lists documents combine.
package difference

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// A Field is one whose value differs between two configurations.
type Field struct {
	Path  string
	Value string // in the second one, as JSON
}

// Of lists the fields that differ between two configurations, given as JSON.
func Of(before, after []byte) ([]Field, error) {
	var a, b map[string]any
	if err := json.Unmarshal(before, &a); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(after, &b); err != nil {
		return nil, err
	}
	var out []Field
	err := differ("", a, b, &out)
	return out, err
}

func differ(path string, a, b any, out *[]Field) error {
	before, _ := a.(map[string]any)
	after, nested := b.(map[string]any)
	if !nested || len(after) == 0 {
		if reflect.DeepEqual(a, b) || combines(path) && sameEntries(a, b) {
			return nil
		}
		value, err := json.Marshal(b)
		*out = append(*out, Field{Path: path, Value: document.ClipTo(string(value), 200)})
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if err := differ(document.Join(path, name), before[name], after[name], out); err != nil {
			return err
		}
	}
	return nil
}

// combines reports whether documents combine the entries of a list (expconf.Merge), so that their order says nothing.
func combines(path string) bool {
	switch path {
	case "bind_mounts", "labels", "log_policies", "resources.devices", "environment.proxy_ports", "environment.secrets":
		return true
	}
	return strings.HasPrefix(path, "environment.environment_variables.") || strings.HasPrefix(path, "environment.nomad.")
}

// sameEntries reports whether two lists have the same entries in any order.
func sameEntries(a, b any) bool {
	one, ok := a.([]any)
	other, both := b.([]any)
	if !ok || !both || len(one) != len(other) {
		return false
	}
	sorted := func(list []any) []string {
		out := make([]string, len(list))
		for i, entry := range list {
			text, _ := json.Marshal(entry) // it was JSON before
			out[i] = string(text)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(sorted(one), sorted(other))
}

// String formats the difference for a message.
func (f Field) String() string { return fmt.Sprintf("%s: %s", f.Path, f.Value) }
