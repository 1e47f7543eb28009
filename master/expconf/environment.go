package expconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Images that tasks run in where nobody names another.
const (
	DefaultCPUImage  = "determinedai/pytorch-ngc-dev:0736b6d"
	DefaultCUDAImage = "determinedai/pytorch-ngc-dev:0736b6d"
	DefaultROCMImage = "determinedai/environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d"
)

// DeviceType is the kind of slot that a task gets, for the values that differ
// by it.
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

// RawEnvironment is environment as written.
type RawEnvironment struct {
	AddCapabilities      []string              `json:"add_capabilities"`
	DropCapabilities     []string              `json:"drop_capabilities"`
	EnvironmentVariables *EnvironmentVariables `json:"environment_variables"`
	ForcePullImage       *bool                 `json:"force_pull_image"`
	Image                *RawImage             `json:"image"`
	Nomad                *Nomad                `json:"nomad"`
	PodSpec              map[string]any        `json:"pod_spec"`
	Ports                map[string]int        `json:"ports"`
	ProxyPorts           ProxyPorts            `json:"proxy_ports"`
	RegistryAuth         *RegistryAuth         `json:"registry_auth"`

	// Batch system arguments stood here until they got sections of their own.
	Slurm []string `json:"slurm"`
	PBS   []string `json:"pbs"`
}

// Environment is what surrounds the program of a task.
type Environment struct {
	AddCapabilities      []string             `json:"add_capabilities"`
	DropCapabilities     []string             `json:"drop_capabilities"`
	EnvironmentVariables EnvironmentVariables `json:"environment_variables"`
	ForcePullImage       bool                 `json:"force_pull_image"`
	Image                Image                `json:"image"`
	Nomad                *Nomad               `json:"nomad,omitempty"`
	PodSpec              map[string]any       `json:"pod_spec"`
	Ports                map[string]int       `json:"ports"`
	ProxyPorts           ProxyPorts           `json:"proxy_ports"`
	RegistryAuth         *RegistryAuth        `json:"registry_auth"`
}

func (e *RawEnvironment) complete() Environment {
	if e == nil {
		e = &RawEnvironment{}
	}
	return Environment{
		AddCapabilities:      filled(e.AddCapabilities),
		DropCapabilities:     filled(e.DropCapabilities),
		EnvironmentVariables: e.EnvironmentVariables.complete(),
		ForcePullImage:       first(false, e.ForcePullImage),
		Image:                e.Image.complete(),
		Nomad:                e.Nomad.complete(),
		PodSpec:              e.PodSpec,
		Ports:                filledMap(e.Ports),
		ProxyPorts:           e.ProxyPorts.complete(),
		RegistryAuth:         e.RegistryAuth,
	}
}

func (e Environment) check(k *checker) {
	const at = "environment"
	e.EnvironmentVariables.check(k, at+".environment_variables")
	e.Image.check(k, at+".image")
	for name, port := range e.Ports {
		k.port(join(at+".ports", name), port)
	}
	k.atMost(at+".ports", len(e.Ports), maxNames, "ports")
	k.atMost(at+".add_capabilities", len(e.AddCapabilities), maxNames, "capabilities")
	k.atMost(at+".drop_capabilities", len(e.DropCapabilities), maxNames, "capabilities")
	for i, c := range slices.Concat(e.AddCapabilities, e.DropCapabilities) {
		list := index(at+".add_capabilities", i)
		if i >= len(e.AddCapabilities) {
			list = index(at+".drop_capabilities", i-len(e.AddCapabilities))
		}
		if !capabilityPattern.MatchString(c) {
			k.fail(list, fmt.Sprintf("is not a capability: %q", clip(c)), "such as SYS_PTRACE")
		}
	}
	e.ProxyPorts.check(k, at+".proxy_ports")
	e.Nomad.check(k, at+".nomad")
}

// check validates the lists of all devices, or the one list that they share.
func (e EnvironmentVariables) check(k *checker, at string) {
	lists := map[string][]string{join(at, "cpu"): e.CPU, join(at, "cuda"): e.CUDA, join(at, "rocm"): e.ROCM}
	if slices.Equal(e.CPU, e.CUDA) && slices.Equal(e.CPU, e.ROCM) {
		lists = map[string][]string{at: e.CPU}
	}
	for path, list := range lists {
		k.atMost(path, len(list), 1000, "variables")
		for i, entry := range list {
			checkVariable(k, index(path, i), entry)
		}
	}
}

func (i Image) check(k *checker, at string) {
	images := map[string]string{join(at, "cpu"): i.CPU, join(at, "cuda"): i.CUDA, join(at, "rocm"): i.ROCM}
	if i.CPU == i.CUDA && i.CPU == i.ROCM {
		images = map[string]string{at: i.CPU}
	}
	for path, image := range images {
		k.line(path, &image, 4096)
		if image == "" || strings.ContainsAny(image, " \t\r\n") {
			k.fail(path, fmt.Sprintf("is not the name of an image: %q", clip(image)), "")
		}
	}
}

// checkVariable validates one NAME=value. A bare NAME stands for the value that
// the variable has on the node.
func checkVariable(k *checker, at, entry string) {
	name := variableName(entry)
	if !variablePattern.MatchString(name) {
		k.fail(at, fmt.Sprintf("expected NAME=value with a name of letters, digits and _, found %q", clip(entry)), "")
		return
	}
	if strings.TrimPrefix(entry, name+"=") == hidden {
		k.fail(at, fmt.Sprintf("the value of %s is hidden, because it comes from another user's configuration", clip(name)), "write a value, or leave the variable out")
	}
	if len(entry) > 128<<10 {
		k.fail(at, fmt.Sprintf("%s is longer than 128 KiB", clip(name)), "put it into a file of the context")
	}
}

func variableName(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

// RawImage is environment.image as written: one image, or one per device.
type RawImage struct {
	CPU  *string `json:"cpu"`
	CUDA *string `json:"cuda"`
	ROCM *string `json:"rocm"`
}

func (r *RawImage) decode(d *decoder, n *node, path string) {
	if n.kind == stringKind {
		r.CPU, r.CUDA, r.ROCM = &n.text, &n.text, &n.text
		return
	}
	if n.kind != mapKind {
		d.expected(n, path, "the name of an image, or one for each of cpu, cuda and rocm", "")
		return
	}
	type plain RawImage
	d.into(withoutGPU(d, n, path), path, (*plain)(r))
}

// withoutGPU renames the key gpu, which cuda was called once.
func withoutGPU(d *decoder, n *node, path string) *node {
	gpu := n.get("gpu")
	if gpu == nil {
		return n
	}
	renamed := *n
	renamed.fields = nil
	for _, f := range n.fields {
		if f.key == "gpu" {
			if cuda := n.get("cuda"); cuda != nil && cuda.kind != nullKind {
				continue
			}
			d.warn(gpu, join(path, "gpu"), "gpu is the old name of cuda and is read as such")
			f.key = "cuda"
		} else if f.key == "cuda" && f.value.kind == nullKind {
			continue
		}
		renamed.fields = append(renamed.fields, f)
	}
	return &renamed
}

// Image is the container image by device.
type Image struct {
	CPU  string `json:"cpu"`
	CUDA string `json:"cuda"`
	ROCM string `json:"rocm"`
}

func (r *RawImage) complete() Image {
	if r == nil {
		r = &RawImage{}
	}
	return Image{
		CPU:  first(DefaultCPUImage, r.CPU),
		CUDA: first(DefaultCUDAImage, r.CUDA),
		ROCM: first(DefaultROCMImage, r.ROCM),
	}
}

// For is the image on a kind of slot.
func (i Image) For(device DeviceType) string {
	switch device {
	case CUDA:
		return i.CUDA
	case ROCM:
		return i.ROCM
	}
	return i.CPU
}

// EnvironmentVariables is a list of NAME=value by device.
type EnvironmentVariables struct {
	CPU  []string `json:"cpu"`
	CUDA []string `json:"cuda"`
	ROCM []string `json:"rocm"`
}

func (e *EnvironmentVariables) decode(d *decoder, n *node, path string) {
	if n.kind == listKind {
		var all []string
		d.into(n, path, &all)
		e.CPU, e.CUDA, e.ROCM = all, slices.Clone(all), slices.Clone(all)
		return
	}
	if n.kind != mapKind {
		d.expected(n, path, "a list of NAME=value, or one for each of cpu, cuda and rocm", "")
		return
	}
	type plain EnvironmentVariables
	d.object(withoutGPU(d, n, path), path, valueOf((*plain)(e)))
	for i, p := range d.problems {
		if parentPath(p.Path) == path && p.Message == "unknown field" && p.Hint == "" {
			d.problems[i].Hint = "variables are written as a list of NAME=value"
		}
	}
}

// onto puts the variables of over behind those of under, where they win, and
// drops what they replace.
func (e EnvironmentVariables) onto(under any) any {
	below := under.(EnvironmentVariables)
	return EnvironmentVariables{
		CPU:  variablesOnto(e.CPU, below.CPU),
		CUDA: variablesOnto(e.CUDA, below.CUDA),
		ROCM: variablesOnto(e.ROCM, below.ROCM),
	}
}

func variablesOnto(over, under []string) []string {
	replaced := make(map[string]bool, len(over))
	for _, entry := range over {
		replaced[variableName(entry)] = true
	}
	var out []string
	for _, entry := range under {
		if !replaced[variableName(entry)] {
			out = append(out, entry)
		}
	}
	return append(out, over...)
}

func (e *EnvironmentVariables) complete() EnvironmentVariables {
	if e == nil {
		e = &EnvironmentVariables{}
	}
	return EnvironmentVariables{CPU: filled(e.CPU), CUDA: filled(e.CUDA), ROCM: filled(e.ROCM)}
}

// For is the list of NAME=value on a kind of slot; later entries win.
func (e EnvironmentVariables) For(device DeviceType) []string {
	switch device {
	case CUDA:
		return e.CUDA
	case ROCM:
		return e.ROCM
	}
	return e.CPU
}

// RegistryAuth is how to sign in to the registry of the image.
type RegistryAuth struct {
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	Auth          string `json:"auth,omitempty"`
	Email         string `json:"email,omitempty"`
	ServerAddress string `json:"serveraddress,omitempty"`
	IdentityToken string `json:"identitytoken,omitempty"`
	RegistryToken string `json:"registrytoken,omitempty"`
}

// onto takes the section whole: half of one sign-in and half of another make
// none.
func (a RegistryAuth) onto(any) any { return a }

// ProxyPort is a port of the task that the master's proxy leads to.
type ProxyPort struct {
	ProxyPort        int   `json:"proxy_port"`
	ProxyTCP         *bool `json:"proxy_tcp"`
	Unauthenticated  *bool `json:"unauthenticated"`
	DefaultServiceID *bool `json:"default_service_id"`
}

// ProxyPorts is a list that collects when documents are merged.
type ProxyPorts []ProxyPort

func (l ProxyPorts) onto(under any) any {
	return ProxyPorts(collect(l, under.(ProxyPorts), func(p ProxyPort) int { return p.ProxyPort }))
}

func (l ProxyPorts) complete() ProxyPorts {
	out := make(ProxyPorts, len(l))
	for i, p := range l {
		tcp, open, isDefault := first(false, p.ProxyTCP), first(false, p.Unauthenticated), first(false, p.DefaultServiceID)
		out[i] = ProxyPort{ProxyPort: p.ProxyPort, ProxyTCP: &tcp, Unauthenticated: &open, DefaultServiceID: &isDefault}
	}
	return out
}

func (l ProxyPorts) check(k *checker, at string) {
	k.atMost(at, len(l), 100, "ports")
	seen := map[int]bool{}
	defaults := 0
	for i, p := range l {
		here := index(at, i)
		k.port(here+".proxy_port", p.ProxyPort)
		if seen[p.ProxyPort] {
			k.fail(here+".proxy_port", fmt.Sprintf("%d is listed twice", p.ProxyPort), "")
		}
		seen[p.ProxyPort] = true
		if first(false, p.DefaultServiceID) {
			if defaults++; defaults == 2 {
				k.fail(here+".default_service_id", "only one port can be the default", "")
			}
		}
	}
}
