package images

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Recipe names what is in an image.
type Recipe struct {
	Name  string
	Title string
	// Debian are packages besides the essential ones and what they depend on.
	Debian []string
	// Python are packages of the Python package index with their dependencies, in pip's notation.
	Python []string
	// Alone are packages without their dependencies.
	Alone []string
	// Without are dependencies that only builds of native code need.
	Without []string
	// Remove are paths below the folder of Python packages that only builds of native code need.
	Remove []string
	Env    []string
}

// release is the Debian release of all images, and python its version of Python, for which wheels are chosen.
const (
	release = "bookworm"
	python  = "3.11.2"
)

// What every image has: what shells and notebooks need, and clients of object storage.
var (
	commons = []string{"python3", "python3-venv", "python-is-python3", "ca-certificates", "git", "openssh-client", "procps", "less", "rsync"}
	base    = []string{"pip==26.3", "setuptools<81", "boto3==1.44.5", "google-cloud-storage==3.17.1", "azure-storage-blob==12.31.1",
		"jupyterlab==4.6.6", "jupyter-server==2.21.1", "ipykernel==7.4.0", "tensorboard==2.21.0",
		"ruamel.yaml==0.19.1", "appdirs==1.4.4", "filelock==4.3.1", "psutil==7.2.2", "requests==2.34.2", "urllib3==2.8.0"}
	headers = []string{"tensorflow/include"}
	env     = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
)

// Recipes are the images that can be made, by name.
func Recipes() map[string]Recipe {
	return map[string]Recipe{
		"detent-small": {
			Name: "detent-small", Title: "TensorFlow and Keras for processors, JupyterLab, TensorBoard",
			Debian: commons,
			Python: slices.Concat(base, []string{"tensorflow-cpu==2.21.0"}),
			// It asks for the package tensorflow, which would be installed in addition.
			Alone: []string{"tf_keras==2.21.0"}, Without: []string{"libclang"}, Remove: headers, Env: env,
		},
	}
}

// Named returns one of the recipes.
func Named(name string) (Recipe, error) {
	all := Recipes()
	r, ok := all[name]
	if !ok {
		return r, fmt.Errorf("unknown image %q; the images are %s", cmp.Or(name, " "), strings.Join(slices.Sorted(maps.Keys(all)), " and "))
	}
	return r, nil
}
