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
	const boto = "boto3==1.44.5"
	lab := []string{"jupyterlab==4.6.6", "jupyter-server==2.21.1", "ipykernel==7.4.0"}
	return map[string][]string{
		"demo": {numpy},
		// For tests and linters of the harness.
		"harness": {numpy, boto, "pytest==9.2.0", "mypy==2.4.1", "ruff==0.17.5"},
		// What a task needs for checkpoints in S3, and no more.
		"s3": {boto},
		// The client that users of Determined have, for tests of compatibility.
		"compat": {"determined==0.38.1", "setuptools<81", numpy},
		// What the benchmark of searchers is compared with.
		"optuna": {"optuna==4.9.0", numpy},
		// What a notebook runs.
		"notebook": append(slices.Clone(lab), numpy),
		// For Keras trials, TensorBoard (of S3 too), and notebooks about them. tf_keras is the Keras 2 that trial classes were written for; it
		// needs the package tensorflow by that name, which is why tensorflow-cpu would only come on top.
		"keras": append([]string{"tensorflow==2.21.0", "tf_keras==2.21.0", "tensorboard==2.21.0", "pytest==9.2.0", "setuptools<81", boto}, lab...),
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
