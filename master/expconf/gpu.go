package expconf

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// GPU is resources.gpu: which GPUs a task may use. The scheduler compares it with the models and attributes of a
// node's GPUs, which the node's device plugin reports to Nomad.
type GPU struct {
	Model    Models      `json:"model,omitempty" check:"at most 32 models; each model"` // any of them
	MemoryGB *float64    `json:"memory_gb,omitempty" check:"over 0, up to maxGPUMemory"`
	Compute  *Capability `json:"compute_capability,omitempty"`
	Driver   *string     `json:"driver,omitempty"`
	Mixed    *bool       `json:"mixed,omitempty"` // a trial on several nodes may use several models
}

// maxGPUMemory is in GB; no GPU has so much.
const maxGPUMemory = 100_000

var driverPattern = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,3}$`)

func (g *GPU) check(k *checker, at string) {
	if g.Driver != nil && !driverPattern.MatchString(*g.Driver) {
		k.fail(at+".driver", fmt.Sprintf("is not the version of a driver: %q", document.Clip(*g.Driver)), "write the lowest one, such as 550 or 550.54.15")
	}
}

// unknown explains names that other systems use.
func (g *GPU) unknown(name string) (message, hint string, ok bool) {
	switch name {
	case "count", "slots", "number":
		return "unknown field", "resources.slots_per_trial sets the number of GPUs of a trial", true
	case "models", "type", "class", "name", "device":
		return "unknown field", "did you mean model? It is a name or a list of names, such as A100", true
	case "memory", "vram", "memory_mb":
		return "unknown field", "did you mean memory_gb?", true
	}
	return "", "", false
}

// Asks describes the request in words, such as "a GPU whose model matches A100"; "" if every GPU meets it.
func (g *GPU) Asks() string {
	if g == nil {
		return ""
	}
	var parts []string
	if g.MemoryGB != nil {
		parts = append(parts, strconv.FormatFloat(*g.MemoryGB, 'f', -1, 64)+" GB of memory")
	}
	if g.Compute != nil {
		parts = append(parts, "compute capability "+string(*g.Compute))
	}
	if g.Driver != nil {
		parts = append(parts, "driver "+*g.Driver)
	}
	asks := "a GPU"
	if len(g.Model) > 0 {
		asks += " whose model matches " + strings.Join(g.Model, " or ")
	}
	if len(parts) > 0 {
		asks += " with at least " + strings.Join(parts, ", ")
	}
	if asks == "a GPU" {
		return ""
	}
	return asks
}

// Models are patterns for names of devices, which users write as one or as a list.
type Models []string

func (m *Models) decode(d *decoder, n *document.Node, path string) {
	switch n.Kind {
	case document.StringKind:
		*m = Models{n.Text}
	case document.ListKind:
		d.into(n, path, (*[]string)(m))
	default:
		d.expected(n, path, "the name of a model or a list of names", `such as A100, or ["A100", "H100"]`)
	}
}

func (m Models) onto(any) any { return m }

const maxModel = 128

func (k *checker) model(at, pattern string) {
	k.when(strings.TrimSpace(pattern) == "", at, "is empty", "name a model, such as A100")
	k.text(at, pattern, maxModel)
}

// Capability is a compute capability, such as 8.0. It is text, because 8.10 is not 8.1.
type Capability string

var capabilityVersion = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3})?$`)

func (c *Capability) decode(d *decoder, n *document.Node, path string) {
	if (n.Kind == document.StringKind || n.Kind == document.IntKind || n.Kind == document.FloatKind) && capabilityVersion.MatchString(n.Text) {
		*c = Capability(n.Text)
		return
	}
	d.expected(n, path, "a compute capability", `such as 8.0`)
}

// MarshalJSON writes text.
func (c Capability) MarshalJSON() ([]byte, error) { return json.Marshal(string(c)) }

// OnDevices reports whether an attribute is one of devices, such as ${device.attr.memory}, and
// not one of nodes.
func OnDevices(attribute string) bool { return strings.HasPrefix(attribute, "${device.") }

// deviceFacts are the attributes of devices that are not reported by their plugin.
var deviceFacts = []string{"${device.model}", "${device.vendor}", "${device.type}"}

// checkDeviceFact reports an attribute of devices that no device has.
func checkDeviceFact(k *checker, at, attribute string) {
	if OnDevices(attribute) && !strings.HasPrefix(attribute, "${device.attr.") && !slices.Contains(deviceFacts, attribute) {
		k.fail(at, document.Clip(attribute)+" is not an attribute of a device", "one of "+strings.Join(deviceFacts, " ")+", or ${device.attr.…} with an attribute of its plugin, such as ${device.attr.memory}")
	}
}

// refusedGPU reports an experiment or task that requests GPUs in a pool or with slots that have none.
func refusedGPU(k *checker, can Capabilities, g *GPU, slots int, field string) {
	const at = "resources.gpu"
	switch {
	case g == nil:
	case !can.GPUs:
		k.fail(at, "is not available in this resource pool: its slots are cores", "choose a pool of GPUs with resources.resource_pool")
	case slots == 0:
		k.fail(at, "needs slots, and resources."+field+" is 0", "")
	}
}
