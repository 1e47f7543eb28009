// Package input parses input of users.
package input

import (
	"encoding/json"
	"io"
	"os"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/fault"
)

// Read reads a file, or the standard input for a dash.
func Read(stdin io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}

// YAML parses a mapping and converts it to JSON.
func YAML(name string, text []byte) ([]byte, error) {
	root, problems := document.Parse(name, text, document.UserLimits())
	if len(problems) > 0 {
		return nil, fault.New(fault.Invalid, "%w", document.AsError(problems))
	}
	if root.Kind != document.MapKind {
		return nil, fault.New(fault.Invalid, "%s:%d:%d: expected a mapping, found %s", name, root.Line, root.Column, root.Describe())
	}
	raw, err := json.Marshal(root.Free())
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", name, err)
	}
	return raw, nil
}
