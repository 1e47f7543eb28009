// Package input parses input of users.
package input

import (
	"encoding/json"

	"github.com/goccy/go-yaml"

	"github.com/detent-ml/detent/master/fault"
)

// YAML parses a mapping and converts it to JSON.
func YAML(name string, text []byte) ([]byte, error) {
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fault.New(fault.Invalid, "%s: %s", name, yaml.FormatError(err, false, true))
	}
	object, ok := doc.(map[string]any)
	if doc == nil {
		object, ok = map[string]any{}, true
	}
	if !ok {
		return nil, fault.New(fault.Invalid, "%s is not a mapping", name)
	}
	// The library's own conversion writes escapes that are not valid in JSON.
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", name, err)
	}
	return raw, nil
}
