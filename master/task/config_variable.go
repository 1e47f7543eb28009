package task

import (
	"bytes"
	"encoding/json"

	"github.com/detent-ml/detent/master/fault"
)

const (
	// maxVariable is the maximum size of DET_EXPERIMENT_CONFIG: Linux starts no program with a variable of
	// more than 128 KiB, its name, "=" and the final NUL included.
	maxVariable = 128<<10 - len("DET_EXPERIMENT_CONFIG=\x00")
	// maxShownText is the size from which texts are omitted, or cut, where all do not fit.
	maxShownText = 1000
)

// configVariable returns an experiment's configuration as programs read it. Where it is too large for a
// variable, it omits labels and description and shortens the name: these may be changed to any length
// while the experiment runs, and no program needs them.
func configVariable(config json.RawMessage) (json.RawMessage, error) {
	whole, err := compact(config)
	if err != nil || len(whole) <= maxVariable {
		return whole, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(whole, &fields); err != nil {
		return nil, err
	}
	var name string
	if err := json.Unmarshal(fields["name"], &name); err != nil {
		return nil, err
	}
	short, err := json.Marshal(fault.ClipTo(name, maxShownText))
	if err != nil {
		return nil, err
	}
	for field, value := range map[string]json.RawMessage{"labels": json.RawMessage("[]"), "description": json.RawMessage("null"), "name": short} {
		if len(fields[field]) > maxShownText {
			fields[field] = value
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // it would make "<" six bytes
	err = e.Encode(fields)
	return bytes.TrimSpace(out.Bytes()), err
}
