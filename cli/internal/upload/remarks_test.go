package upload

import (
	"bytes"
	"testing"

	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/v1"
)

func TestRemarksAreMadeOnce(t *testing.T) {
	const generic = "Warning: The requested job requires more slots than currently available. You may need to increase cluster resources in order for the job to run.\n"
	exceeded := []v1.LaunchWarning{v1.LaunchWarningCurrentSlotsExceeded}
	for name, c := range map[string]struct {
		warnings      []v1.LaunchWarning
		remarks, said []string
		prints        string
	}{
		"nothing":                  {},
		"said before":              {nil, []string{"config:4:1: data_layer: has no effect"}, []string{"const.yaml:4:1: data_layer: has no effect"}, ""},
		"another line":             {nil, []string{"config:5:1: data_layer: has no effect"}, []string{"const.yaml:4:1: data_layer: has no effect"}, "Warning: config:5:1: data_layer: has no effect\n"},
		"slots, in numbers":        {exceeded, []string{"8 slots are asked for and pool x has 4"}, nil, "Warning: 8 slots are asked for and pool x has 4\n"},
		"slots, Determined's way":  {exceeded, nil, nil, generic},
		"a warning without a text": {[]v1.LaunchWarning{"LAUNCH_WARNING_OTHER"}, nil, nil, "Warning: LAUNCH_WARNING_OTHER\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			Remark(&term.IO{Out: &out, Err: &errs}, c.warnings, c.remarks, c.said)
			if errs.String() != c.prints || out.Len() > 0 {
				t.Errorf("printed %q and %q, expected %q", errs.String(), out.String(), c.prints)
			}
		})
	}
}
