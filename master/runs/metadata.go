package runs

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Bounds of the metadata of a run: Determined's, with its messages.
const (
	maxMetadataDepth = 10
	maxMetadataKeys  = 1000 // values; one in a list counts as one
	maxMetadataKey   = 50   // characters
	maxMetadataList  = 100
	maxMetadataText  = 5000 // characters
)

// checkMetadata refuses metadata of a run beyond its bounds.
func checkMetadata(metadata v1.Struct) error {
	fields, err := metadata.Map()
	if err != nil {
		return fault.New(fault.Invalid, "metadata: %v", err)
	}
	values := 0
	return checkMetadataValue(fields, "", 0, &values)
}

func checkMetadataValue(v any, path string, depth int, values *int) error {
	if depth > maxMetadataDepth {
		return beyond(path, "metadata exceeds maximum nesting depth of %d", maxMetadataDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := key
			if path != "" {
				at = path + "." + key
			}
			if utf8.RuneCountInString(key) > maxMetadataKey {
				return beyond(at, "metadata key exceeds maximum length of %d characters", maxMetadataKey)
			}
			if err := checkMetadataValue(v[key], at, depth+1, values); err != nil {
				return err
			}
		}
		if len(v) > 0 || depth == 0 {
			return nil
		}
	case []any:
		if len(v) > maxMetadataList {
			return beyond(path, "metadata array exceeds maximum length of %d/%d elements", len(v), maxMetadataList)
		}
		for _, element := range v {
			if err := checkMetadataValue(element, path, depth+1, values); err != nil {
				return err
			}
		}
		if len(v) > 0 {
			return nil
		}
	case string:
		if utf8.RuneCountInString(v) > maxMetadataText {
			return beyond(path, "metadata value exceeds maximum length of %d characters", maxMetadataText)
		}
	}
	if *values++; *values > maxMetadataKeys {
		return fault.New(fault.Invalid, "request exceeds run metadata key count limit of %d; store large values as files of a checkpoint, or as metrics", maxMetadataKeys)
	}
	return nil
}

// beyond is the error about a value of the metadata.
func beyond(path, format string, args ...any) error {
	return fault.New(fault.Invalid, "error flattening metadata: %w: %q; store large values as files of a checkpoint, or as metrics",
		fault.New(fault.Invalid, format, args...), fault.Clip(path))
}
