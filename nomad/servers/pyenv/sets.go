package pyenv

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
)

//go:embed slim_torch.py
var slimTorch string

// Set is the packages of an environment.
type Set struct {
	// Requirements are installed with their dependencies, in pip's notation.
	Requirements []string
	// Alone are installed first, without their dependencies.
	Alone []string
	// Finish is a Python program that runs once in the new environment.
	Finish string
}

// all returns the parts that identify a set.
func (s Set) all() []string {
	found := slices.Concat(s.Requirements, s.Alone)
	if s.Finish != "" {
		found = append(found, s.Finish)
	}
	return found
}

// packageName is the name at the beginning of a requirement.
var packageName = regexp.MustCompile(`^[A-Za-z0-9._-]+`)

// summary names some packages of a set, and the number of the others.
func (s Set) summary() string {
	const named = 4
	var names []string
	for _, r := range slices.Concat(s.Alone, s.Requirements) {
		names = append(names, packageName.FindString(r))
	}
	if len(names) <= named+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more packages", strings.Join(names[:named], ", "), len(names)-named)
}

// torch is PyTorch with what its tests need. On Linux and amd64 its package requires CUDA, 5 GB that no
// test uses: there it is installed without dependencies, which needs a C compiler.
func torch() Set {
	rest := []string{"numpy>=1.26,<3", "tensorboard==2.21.0", "pytest==9.2.0", "boto3==1.44.5", "transformers==5.23.0", "mlflow-skinny==3.17.2"}
	// These require PyTorch, and pip would also install PyTorch's dependencies.
	loops := []string{"accelerate==1.15.0", "pytorch-lightning==2.6.6", "torchmetrics==1.9.0", "deepspeed==0.19.8"}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return Set{Requirements: slices.Concat(rest, loops, []string{"torch==2.15.0"})}
	}
	return Set{
		Requirements: append(rest, "filelock", "typing-extensions>=4.13.0", "setuptools>=77.0.3,<81", "sympy>=1.13.3", "networkx>=2.5.1", "jinja2", "fsspec>=0.8.5",
			"psutil", "pyyaml", "packaging>=20", "safetensors>=0.4.3", "huggingface-hub", "lightning-utilities>=0.10", "tqdm", "einops", "hjson", "msgpack", "ninja", "py-cpuinfo", "pydantic>=2"),
		Alone:  append([]string{"torch==2.15.0", "nvidia-cuda-runtime==13.2.86", "nvidia-cuda-cupti==13.2.86"}, loops...),
		Finish: slimTorch,
	}
}

// Sets are the environments that the project needs, by name.
func Sets() map[string]Set {
	// Training examples of the demo use only NumPy.
	const numpy = "numpy>=1.26,<3"
	const boto = "boto3==1.44.5"
	clouds := []string{boto, "google-cloud-storage==3.17.1", "azure-storage-blob==12.31.1"}
	// What Determined's package imports itself, so that programs found it there without installing it.
	imported := []string{"ruamel.yaml==0.19.1", "appdirs==1.4.4", "filelock==4.3.1", "psutil==7.2.2", "requests==2.34.2", "urllib3==2.8.0"}
	lab := []string{"jupyterlab==4.6.6", "jupyter-server==2.21.1", "ipykernel==7.4.0"}
	tasks := slices.Concat([]string{numpy, "tensorboard==2.21.0", "setuptools<81"}, clouds, lab, imported)
	withTorch := torch()
	withTorch.Requirements = slices.Concat(tasks, withTorch.Requirements)
	return map[string]Set{
		"demo": {Requirements: []string{numpy}},
		// Chooses and downloads the wheels of images.
		"pip": {Requirements: []string{"pip==26.3"}},
		// For tests and linters of the harness.
		"harness": {Requirements: append([]string{numpy, "pytest==9.2.0", "mypy==2.4.1", "ruff==0.17.5"}, clouds...)},
		// Only what a task needs for checkpoints in S3.
		"s3": {Requirements: []string{boto}},
		// The client of Determined's users, for tests of compatibility.
		"compat": {Requirements: []string{"determined==0.38.1", "setuptools<81", numpy}},
		// Random requests by an OpenAPI document.
		"fuzz": {Requirements: []string{"schemathesis==4.32.5", "hypothesis==6.170.17", "requests==2.34.2"}},
		// A client that checks servers of SCIM against its RFCs.
		"scim": {Requirements: []string{"scim2-tester==0.5.2", "scim2-client[httpx2]==0.13.2", "scim2-models==0.12.3"}},
		// The client of MLflow, and its own server beside which ours answers the same calls, with what logs by itself.
		"mlflow": {Requirements: []string{"mlflow==3.17.2", "psycopg2-binary==2.9.13", "xgboost-cpu==3.2.0", "keras==3.15.1", "jax==0.10.2"}},
		// For the benchmark of searchers.
		"optuna": {Requirements: []string{"optuna==4.9.0", numpy}},
		// For notebooks.
		"notebook": {Requirements: append(slices.Clone(lab), numpy)},
		// For tasks of a local cluster: training in NumPy, notebooks, TensorBoards, checkpoints in
		// object storage.
		"tasks": {Requirements: tasks},
		// The same with PyTorch.
		"tasks-torch": withTorch,
		// For the example of runs that Ray starts.
		"ray": {Requirements: []string{"ray==2.60.0"}},
		// For PyTorch trials and launchers.
		"torch": torch(),
		// For Keras trials, TensorBoard (also with S3), and notebooks. tf_keras is the Keras 2 for
		// which trial classes were written; it needs the package tensorflow by that name, so
		// tensorflow-cpu would be installed in addition.
		"keras": {Requirements: append([]string{"tensorflow==2.21.0", "tf_keras==2.21.0", "tensorboard==2.21.0", "pytest==9.2.0", "setuptools<81", boto}, lab...)},
	}
}

// Named returns the Python of one of the sets, and creates its environment the first time.
func Named(ctx context.Context, name string, report *servers.Reporter) (python string, err error) {
	sets := Sets()
	set, ok := sets[name]
	if !ok {
		return "", fmt.Errorf("unknown Python environment %q; the known environments are %s", name, strings.Join(slices.Sorted(maps.Keys(sets)), ", "))
	}
	return Ensure(ctx, name, set, report)
}
