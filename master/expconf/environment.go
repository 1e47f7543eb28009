package expconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"
)

// DeviceType is the kind of slot of a task. Some fields have one value for each kind.
type DeviceType string

// The kinds of slots.
const (
	CPU  DeviceType = "cpu"
	CUDA DeviceType = "cuda"
	ROCM DeviceType = "rocm"
)

var (
	variablePattern   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	capabilityPattern = regexp.MustCompile(`^[A-Za-z_]+$`)
)

// Environment is the environment in which the program of a task runs.
type Environment struct {
	written
	AddCapabilities      []string             `json:"add_capabilities" default:"[]" check:"at most maxNames capabilities; each capability"`
	DropCapabilities     []string             `json:"drop_capabilities" default:"[]" check:"at most maxNames capabilities; each capability"`
	EnvironmentVariables EnvironmentVariables `json:"environment_variables" secret:"variables"`
	ForcePullImage       bool                 `json:"force_pull_image"`
	Image                Image                `json:"image"`
	Nomad                *Nomad               `json:"nomad,omitempty"`
	PodSpec              map[string]any       `json:"pod_spec" secret:"values"`
	Ports                map[string]int       `json:"ports" default:"{}" check:"at most maxNames ports; each 1..65535"`
	ProxyPorts           ProxyPorts           `json:"proxy_ports" default:"[]"`
	RegistryAuth         *RegistryAuth        `json:"registry_auth"`
	Secrets              Secrets              `json:"secrets,omitempty"`

	// Old documents have the arguments of batch systems here; Complete moves them to their own
	// sections.
	Slurm []string `json:"slurm,omitempty"`
	PBS   []string `json:"pbs,omitempty"`
}

func (k *checker) capability(at, name string) {
	if !capabilityPattern.MatchString(name) {
		k.fail(at, fmt.Sprintf("is not a capability: %q", document.Clip(name)), "such as SYS_PTRACE")
	}
}

// check validates the lists of all devices, or the one list for all devices.
func (e EnvironmentVariables) check(k *checker, at string) {
	lists := map[string][]string{document.Join(at, "cpu"): e.CPU, document.Join(at, "cuda"): e.CUDA, document.Join(at, "rocm"): e.ROCM}
	if slices.Equal(e.CPU, e.CUDA) && slices.Equal(e.CPU, e.ROCM) {
		lists = map[string][]string{at: e.CPU}
	}
	for path, list := range lists {
		k.atMost(path, len(list), 1000, "variables")
		for i, entry := range list {
			checkVariable(k, document.Index(path, i), entry)
		}
	}
}

func (i Image) check(k *checker, at string) {
	images := map[string]string{document.Join(at, "cpu"): i.CPU, document.Join(at, "cuda"): i.CUDA, document.Join(at, "rocm"): i.ROCM}
	if i.CPU == i.CUDA && i.CPU == i.ROCM {
		images = map[string]string{at: i.CPU}
	}
	for path, image := range images {
		k.line(path, image, 4096)
		if image == "" || strings.ContainsAny(image, " \t\r\n") {
			k.fail(path, fmt.Sprintf("is not the name of an image: %q", document.Clip(image)), "")
		}
	}
}

// checkVariable validates one NAME=value. A NAME without a value copies the variable of the
// node.
func checkVariable(k *checker, at, entry string) {
	name := variableName(entry)
	if !variablePattern.MatchString(name) {
		k.fail(at, fmt.Sprintf("expected NAME=value with a name of letters, digits and _, found %q", document.Clip(entry)), "")
		return
	}
	if strings.TrimPrefix(entry, name+"=") == hidden {
		k.fail(at, fmt.Sprintf("the value of %s is hidden, because it comes from another user's configuration", document.Clip(name)), "write a value, or leave the variable out")
	}
	if len(entry) > 128<<10 {
		k.fail(at, fmt.Sprintf("%s is longer than 128 KiB", document.Clip(name)), "put it into a file of the context")
	}
}

func variableName(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

// Image is the container image for each kind of slot.
type Image struct {
	written
	CPU  string `json:"cpu" default:"detent-small:0.1.0"`
	CUDA string `json:"cuda" default:"determinedai/pytorch-ngc-dev:0736b6d"`
	ROCM string `json:"rocm" default:"determinedai/environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d"`
}

func (i *Image) decode(d *decoder, n *document.Node, path string) {
	if n.Kind == document.StringKind { // one image for all devices
		n = &document.Node{Kind: document.MapKind, Line: n.Line, Column: n.Column,
			Fields: []document.Field{{Key: "cpu", Value: n}, {Key: "cuda", Value: n}, {Key: "rocm", Value: n}}}
	}
	if n.Kind != document.MapKind {
		d.expected(n, path, "the name of an image, or one for each of cpu, cuda and rocm", "")
		return
	}
	d.object(withoutGPU(d, n, path), path, valueOf(i))
}

// withoutGPU renames the key gpu, an old name of cuda.
func withoutGPU(d *decoder, n *document.Node, path string) *document.Node {
	gpu := n.Get("gpu")
	if gpu == nil {
		return n
	}
	renamed := *n
	renamed.Fields = nil
	for _, f := range n.Fields {
		if f.Key == "gpu" {
			if cuda := n.Get("cuda"); cuda != nil && cuda.Kind != document.NullKind {
				continue
			}
			d.warn(gpu, document.Join(path, "gpu"), "gpu is the old name of cuda; the value is used for cuda")
			f.Key = "cuda"
		} else if f.Key == "cuda" && f.Value.Kind == document.NullKind {
			continue
		}
		renamed.Fields = append(renamed.Fields, f)
	}
	return &renamed
}

// For returns the image for a kind of slot.
func (i Image) For(device DeviceType) string { return forDevice(device, i.CPU, i.CUDA, i.ROCM) }

func forDevice[T any](device DeviceType, cpu, cuda, rocm T) T {
	switch device {
	case CUDA:
		return cuda
	case ROCM:
		return rocm
	}
	return cpu
}

// EnvironmentVariables is a list of NAME=value for each kind of slot.
type EnvironmentVariables struct {
	CPU  []string `json:"cpu" default:"[]"`
	CUDA []string `json:"cuda" default:"[]"`
	ROCM []string `json:"rocm" default:"[]"`
}

func (e *EnvironmentVariables) decode(d *decoder, n *document.Node, path string) {
	if n.Kind == document.ListKind {
		var all []string
		d.into(n, path, &all)
		e.CPU, e.CUDA, e.ROCM = all, slices.Clone(all), slices.Clone(all)
		return
	}
	if n.Kind != document.MapKind {
		d.expected(n, path, "a list of NAME=value, or one for each of cpu, cuda and rocm", "")
		return
	}
	d.object(withoutGPU(d, n, path), path, valueOf(e))
	for i, p := range d.problems {
		if document.ParentPath(p.Path) == path && p.Message == "unknown field" && p.Hint == "" {
			d.problems[i].Hint = "write variables as a list of NAME=value"
		}
	}
}

// onto appends the variables of over to those of under and drops the entries of under that over
// replaces.
func (e EnvironmentVariables) onto(under any) any {
	below := under.(EnvironmentVariables)
	return EnvironmentVariables{
		CPU:  variablesOnto(e.CPU, below.CPU),
		CUDA: variablesOnto(e.CUDA, below.CUDA),
		ROCM: variablesOnto(e.ROCM, below.ROCM),
	}
}

func variablesOnto(over, under []string) []string {
	replaced := each.Set(over, variableName)
	var out []string
	for _, entry := range under {
		if !replaced[variableName(entry)] {
			out = append(out, entry)
		}
	}
	return append(out, over...)
}

// For returns the list of NAME=value for a kind of slot; later entries win.
func (e EnvironmentVariables) For(device DeviceType) []string {
	return forDevice(device, e.CPU, e.CUDA, e.ROCM)
}

// RegistryAuth has the credentials for the registry of the image.
type RegistryAuth struct {
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty" secret:"true"`
	Auth          string `json:"auth,omitempty" secret:"true"`
	Email         string `json:"email,omitempty"`
	ServerAddress string `json:"serveraddress,omitempty"`
	IdentityToken string `json:"identitytoken,omitempty" secret:"true"`
	RegistryToken string `json:"registrytoken,omitempty" secret:"true"`
}

// onto does not merge: a username of one document with a password of another would be wrong.
func (a RegistryAuth) onto(any) any { return a }

// ProxyPort is a port of the task to which the master's proxy forwards requests.
type ProxyPort struct {
	ProxyPort        int   `json:"proxy_port" check:"1..65535"`
	ProxyTCP         *bool `json:"proxy_tcp" default:"false"`
	Unauthenticated  *bool `json:"unauthenticated" default:"false"`
	DefaultServiceID *bool `json:"default_service_id" default:"false"`
}

// ProxyPorts is a list; Merge combines the entries of both documents.
type ProxyPorts []ProxyPort

func (l ProxyPorts) onto(under any) any {
	return ProxyPorts(collect(l, under.(ProxyPorts), func(p ProxyPort) int { return p.ProxyPort }))
}

func (l ProxyPorts) check(k *checker, at string) {
	k.atMost(at, len(l), 100, "ports")
	seen := map[int]bool{}
	defaults := 0
	for i, p := range l {
		here := document.Index(at, i)
		if seen[p.ProxyPort] {
			k.fail(here+".proxy_port", fmt.Sprintf("%d is listed twice", p.ProxyPort), "")
		}
		seen[p.ProxyPort] = true
		if optional.Value(p.DefaultServiceID) {
			if defaults++; defaults == 2 {
				k.fail(here+".default_service_id", "only one port can be the default", "")
			}
		}
	}
}
