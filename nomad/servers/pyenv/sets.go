package pyenv

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
)

// Sets are the environments that the project needs: name to requirements.
func Sets() map[string][]string {
	// Training examples of the demo are plain NumPy.
	const numpy = "numpy>=1.26,<3"
	return map[string][]string{
		"demo": {numpy},
		// For tests and linters of the harness.
		"harness": {numpy, "pytest==9.2.0", "mypy==2.4.1", "ruff==0.17.5"},
		// The client that users of Determined have, for tests of compatibility.
		"compat": {"determined==0.38.1", "setuptools<81", numpy},
	}
}

// Named returns the Python of one of the sets, making its environment the first time.
func Named(ctx context.Context, name string, report *servers.Reporter) (python string, err error) {
	sets := Sets()
	requirements, ok := sets[name]
	if !ok {
		return "", fmt.Errorf("no Python environment %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(sets)), ", "))
	}
	return Ensure(ctx, name, requirements, report)
}
