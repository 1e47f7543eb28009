package upload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/v1"
)

// Remark prints the master's remarks about an accepted request, except those that det has
// already printed.
func Remark(t *term.IO, warnings []v1.LaunchWarning, remarks, said []string) {
	for _, r := range remarks {
		if !slices.ContainsFunc(said, func(s string) bool { return sameRemark(s, r) }) {
			t.Warn("Warning: %s", r)
		}
	}
	for _, w := range warnings {
		switch {
		case w != v1.LaunchWarningCurrentSlotsExceeded:
			t.Warn("Warning: %s", fmt.Sprint(w))
		case len(remarks) == 0: // a master of Determined, which sends no remarks
			t.Warn("Warning: The requested job requires more slots than currently available. " +
				"You may need to increase cluster resources in order for the job to run.")
		}
	}
}

// sameRemark reports whether two remarks differ only in the name of the configuration, with
// which each begins.
func sameRemark(a, b string) bool {
	_, a, named := strings.Cut(a, ":")
	_, b, also := strings.Cut(b, ":")
	return named && also && a == b
}
