package expconf

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"
)

// environment.pod_spec is written for Kubernetes. expconf translates the parts that decide where a task runs and what
// it mounts into resources.gpu, resources.devices and environment.nomad, by the labels that the operators of the pool
// have described. It rejects a part that decides where a task must run and has no translation: an experiment for A100
// must not run on any other GPU.

// A PodLabel says what a label of Kubernetes' nodes means in a pool.
type PodLabel struct {
	Label string
	Value string // "": any value
	// One of both: the model of GPUs, or an attribute of Nomad's nodes and its value there, which is
	// the label's own value if it is empty.
	GPU       string
	Attribute string
	Is        string
}

// A PodLimit says which devices of the node a resource of Kubernetes, such as rdma/ib, stands for.
type PodLimit struct {
	Name    string
	Devices []string // as in resources.devices
}

// usualLabels are those that mean the same everywhere.
var usualLabels = []PodLabel{
	{Label: "kubernetes.io/arch", Attribute: "${attr.cpu.arch}"},
	{Label: "kubernetes.io/os", Attribute: "${attr.kernel.name}"},
	{Label: "kubernetes.io/hostname", Attribute: "${node.unique.name}"},
}

// gpuProduct is the label in which NVIDIA's own programs write the model, with - for each space.
const gpuProduct = "nvidia.com/gpu.product"

// Translate replaces what of environment.pod_spec the pool can honour, and returns what is left as
// warnings. The error is an Errors about what cannot be honoured and must not be ignored.
func (c *Config) Translate(can Capabilities) (document.Warnings, error) {
	r := &c.Resources
	return translate(&c.Environment, podTarget{&r.GPU, &r.Devices, &r.CPUs, &r.Memory}, can, c.pos)
}

// Translate is Config.Translate for a task that is not a trial.
func (c *CommandConfig) Translate(can Capabilities) (document.Warnings, error) {
	r := &c.Resources
	return translate(&c.Environment, podTarget{&r.GPU, &r.Devices, &r.CPUs, &r.Memory}, can, c.pos)
}

const podSpec = "environment.pod_spec"

// A podTarget has the fields of resources that a pod_spec can set.
type podTarget struct {
	gpu     **GPU
	devices *Devices
	cpus    **float64
	memory  **ByteSize
}

func translate(env *Environment, to podTarget, can Capabilities, pos *document.Positions) (document.Warnings, error) {
	if len(env.PodSpec) == 0 {
		return nil, nil
	}
	p := &pod{can: can, errors: &checker{pos: pos}, rest: &checker{pos: pos}, volumes: map[string]podVolume{}}
	p.manifest(env.PodSpec)
	if err := document.AsError(p.errors.problems); err != nil {
		return nil, err
	}
	p.put(env, to)
	if err := document.AsError(p.errors.problems); err != nil {
		return nil, err
	}
	return document.Sorted(p.rest.problems), nil
}

// pod is one translation.
type pod struct {
	can     Capabilities
	errors  *checker // what cannot be honoured and must not be ignored
	rest    *checker // what has no effect
	nomad   Nomad
	models  Models // nil: no model is asked for
	modelAt string
	devices Devices
	cpus    amount
	memory  amount
	volumes map[string]podVolume
}

type podVolume struct{ at, claim, host string }

// An amount is the largest that a pod_spec names of one thing, and where.
type amount struct {
	most float64
	at   string
}

// put writes the translation beside what the configuration says itself.
func (p *pod) put(env *Environment, to podTarget) {
	if len(p.models) > 0 {
		own := optional.Value(*to.gpu)
		switch {
		case len(own.Model) == 0:
			own.Model = p.models
		case !slices.Equal(own.Model, p.models):
			p.errors.fail(p.modelAt, fmt.Sprintf("asks for %s, and resources.gpu.model for %s", strings.Join(p.models, " or "), strings.Join(own.Model, " or ")), "remove one of them")
		}
		*to.gpu = &own
	}
	if p.nomad.orNone() != nil {
		env.Nomad = new(optional.Value(env.Nomad).onto(p.nomad).(Nomad))
	}
	if len(p.devices) > 0 {
		*to.devices = to.devices.onto(p.devices).(Devices)
	}
	if cpus := p.cpus.most; p.asks(p.cpus, cpus > maxCPUs, "resources.cpus", *to.cpus != nil && **to.cpus != cpus, fmt.Sprintf("more than %d processors", maxCPUs)) {
		*to.cpus = &cpus
	}
	if memory := ByteSize(min(p.memory.most, maxMemory+1)); p.asks(p.memory, memory < minMemory || memory > maxMemory, "resources.memory", *to.memory != nil && **to.memory != memory, "not from 64 MiB to 1 PiB") {
		*to.memory = &memory
	}
}

// asks reports whether an amount becomes the value of a field. A value that the configuration has itself stays.
func (p *pod) asks(of amount, wrong bool, field string, another bool, why string) bool {
	switch {
	case of.at == "":
	case another:
		p.rest.fail(of.at, "has no effect: "+field+" is set", "")
	case wrong:
		p.errors.fail(of.at, "is "+why, "")
	default:
		return true
	}
	return false
}

func (p *pod) manifest(m map[string]any) {
	for key, value := range m {
		switch at := document.Join(podSpec, key); key {
		case "spec":
			if spec, ok := p.mapping(at, value); ok {
				p.spec(at, spec)
			}
		case "apiVersion", "kind":
		default:
			p.ignored(at)
		}
	}
}

func (p *pod) ignored(at string) { p.rest.fail(at, "has no effect: tasks are Nomad jobs", "") }

func (p *pod) mapping(at string, value any) (map[string]any, bool) {
	m, ok := value.(map[string]any)
	if !ok && value != nil {
		p.errors.fail(at, "expected a mapping", "")
	}
	return m, ok
}

// list calls do for each mapping of a list.
func (p *pod) list(at string, value any, do func(at string, m map[string]any)) {
	items, ok := value.([]any)
	if !ok && value != nil {
		p.errors.fail(at, "expected a list", "")
	}
	for i, item := range items {
		if m, ok := p.mapping(document.Index(at, i), item); ok {
			do(document.Index(at, i), m)
		}
	}
}

func (p *pod) spec(at string, spec map[string]any) {
	p.list(at+".volumes", spec["volumes"], p.volume)
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		at, value := document.Join(at, key), spec[key]
		switch key {
		case "volumes":
		case "nodeSelector":
			labels, _ := p.mapping(at, value)
			for _, label := range slices.Sorted(maps.Keys(labels)) {
				p.selects(document.Join(at, label), label, "In", []string{textIn(labels[label])})
			}
		case "affinity":
			if m, ok := p.mapping(at, value); ok {
				p.affinity(at, m)
			}
		case "containers":
			p.list(at, value, p.container)
		case "nodeName":
			p.nomad.Constraints = append(p.nomad.Constraints, NomadConstraint{Attribute: "${node.unique.name}", Value: textIn(value)})
		case "tolerations": // they permit nodes, and do not demand them
		default:
			p.ignored(at)
		}
	}
}

// textIn is a label's value, which YAML may have read as a number or a truth value.
func textIn(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func (p *pod) affinity(at string, m map[string]any) {
	for key, value := range m {
		here := document.Join(at, key)
		kind, ok := p.mapping(here, value)
		if !ok {
			continue
		}
		for rule, wanted := range kind {
			where := document.Join(here, rule)
			required := strings.HasPrefix(rule, "required")
			switch {
			case required && key == "nodeAffinity":
				if terms, ok := p.mapping(where, wanted); ok {
					p.terms(document.Join(where, "nodeSelectorTerms"), terms["nodeSelectorTerms"])
				}
			case required:
				p.errors.fail(where, "cannot be honoured: Detent places tasks by their nodes, not by other tasks", "use environment.nomad.spread, which chooses between free nodes")
			default:
				p.ignored(where)
			}
		}
	}
}

// terms translates alternatives. Nomad's constraints must all be met, so there can be one.
func (p *pod) terms(at string, value any) {
	if items, _ := value.([]any); len(items) > 1 {
		p.errors.fail(at, fmt.Sprintf("has %d alternatives, of which Detent can honour one", len(items)), "name the values that one label may have in one expression with the operator In")
		return
	}
	p.list(at, value, func(at string, term map[string]any) {
		for key, expressions := range term {
			here := document.Join(at, key)
			if key != "matchExpressions" {
				p.errors.fail(here, "cannot be honoured", "use matchExpressions")
				continue
			}
			p.list(here, expressions, func(at string, e map[string]any) {
				values := []string{}
				items, _ := e["values"].([]any)
				for _, v := range items {
					values = append(values, textIn(v))
				}
				p.selects(at, textIn(e["key"]), textIn(e["operator"]), values)
			})
		}
	})
}

// selects translates one condition on a label.
func (p *pod) selects(at, label, operator string, values []string) {
	models, constraints, ok := p.meaning(at, label, operator, values)
	switch {
	case !ok:
	case models != nil && (operator != "In" || len(constraints) > 0 || p.models != nil):
		p.errors.fail(at, fmt.Sprintf("%s %s %s cannot be honoured: a model of GPU is chosen once, with In", document.Clip(label), document.Clip(operator), document.Clip(strings.Join(values, ", "))), "use resources.gpu")
	case models != nil:
		p.models, p.modelAt = models, at
	default:
		p.nomad.Constraints = append(p.nomad.Constraints, constraints...)
	}
}

// meaning looks a label up, for each of its values.
func (p *pod) meaning(at, label, operator string, values []string) (models Models, constraints []NomadConstraint, ok bool) {
	same := map[string][]string{} // attribute → values there
	if operator == "Exists" || operator == "DoesNotExist" {
		values = []string{""}
	}
	if len(values) == 0 {
		p.errors.fail(at, "needs values", "")
		return nil, nil, false
	}
	for _, value := range values {
		switch known := p.known(label, value, operator); {
		case known == nil:
			p.errors.fail(at, fmt.Sprintf("cannot be honoured: this resource pool does not define the label %s=%s", document.Clip(label), document.Clip(value)),
				"operators define labels in resource_pools[].pod_labels; or use resources.gpu and environment.nomad.constraints")
			return nil, nil, false
		case known.GPU != "":
			models = append(models, known.GPU)
		default:
			same[known.Attribute] = append(same[known.Attribute], cmp.Or(known.Is, value))
		}
	}
	for _, attribute := range slices.Sorted(maps.Keys(same)) {
		list, found := compare(attribute, operator, same[attribute])
		if !found || operator == "In" && len(same) > 1 {
			p.errors.fail(at, fmt.Sprintf("the operator %s with %s cannot be honoured", document.Clip(operator), document.Clip(strings.Join(values, ", "))), "use environment.nomad.constraints")
			return nil, nil, false
		}
		constraints = append(constraints, list...)
	}
	return models, constraints, true
}

// compare writes a condition of Kubernetes as constraints of Nomad.
func compare(attribute, operator string, values []string) (list []NomadConstraint, ok bool) {
	switch operator {
	case "In":
		if len(values) == 1 {
			return []NomadConstraint{{Attribute: attribute, Value: values[0]}}, true
		}
		if strings.Contains(strings.Join(values, ""), ",") {
			return nil, false
		}
		return []NomadConstraint{{Attribute: attribute, Operator: "set_contains_any", Value: strings.Join(values, ",")}}, true
	case "NotIn":
		for _, v := range values {
			list = append(list, NomadConstraint{Attribute: attribute, Operator: "!=", Value: v})
		}
		return list, true
	case "Exists":
		return []NomadConstraint{{Attribute: attribute, Operator: "is_set"}}, true
	case "DoesNotExist":
		return []NomadConstraint{{Attribute: attribute, Operator: "is_not_set"}}, true
	case "Gt", "Lt":
		if len(values) != 1 {
			return nil, false
		}
		return []NomadConstraint{{Attribute: attribute, Operator: map[string]string{"Gt": ">", "Lt": "<"}[operator], Value: values[0]}}, true
	}
	return nil, false
}

// known finds what a label means: the pool's own entries first, those with a value before others.
func (p *pod) known(label, value, operator string) *PodLabel {
	var general *PodLabel
	for _, list := range [][]PodLabel{p.can.PodLabels, usualLabels} {
		for i := range list {
			switch l := &list[i]; {
			case l.Label != label:
			case l.Value != "" && l.Value == value:
				return l
			case general == nil && (l.Value == "" || strings.HasSuffix(operator, "Exist") || operator == "Exists"):
				general = l
			}
		}
		if general != nil {
			return general
		}
	}
	if label == gpuProduct && value != "" {
		return &PodLabel{Label: label, GPU: strings.ReplaceAll(value, "-", " ")}
	}
	return nil
}

func (p *pod) volume(at string, v map[string]any) {
	name := textIn(v["name"])
	made := podVolume{at: at}
	for key, value := range v {
		m, _ := value.(map[string]any)
		switch key {
		case "persistentVolumeClaim":
			made.at, made.claim = document.Join(at, key)+".claimName", textIn(m["claimName"])
		case "hostPath":
			made.at, made.host = document.Join(at, key)+".path", textIn(m["path"])
		}
	}
	p.volumes[name] = made
}

func (p *pod) container(at string, c map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		here, value := document.Join(at, key), c[key]
		switch key {
		case "name":
		case "volumeMounts":
			p.list(here, value, p.mount)
		case "resources":
			if m, ok := p.mapping(here, value); ok {
				for _, kind := range slices.Sorted(maps.Keys(m)) {
					p.amounts(document.Join(here, kind), m[kind])
				}
			}
		default:
			p.ignored(here)
		}
	}
}

// mount translates the mount of a claim into one of the pool's volume of the same name, and the mount
// of a path of the node into a host path.
func (p *pod) mount(at string, m map[string]any) {
	target := textIn(m["mountPath"])
	readOnly, _ := m["readOnly"].(bool)
	v, known := p.volumes[textIn(m["name"])]
	switch {
	case textIn(m["subPath"]) != "" || textIn(m["subPathExpr"]) != "":
		p.errors.fail(at, "a part of a volume cannot be mounted", "mount the whole volume")
	case !known:
		p.errors.fail(at, fmt.Sprintf("there is no volume %q in this pod_spec", document.Clip(textIn(m["name"]))), "")
	case v.claim != "" && !slices.Contains(p.can.Volumes, v.claim):
		p.errors.fail(v.at, fmt.Sprintf("%s is not a volume of this resource pool", document.Clip(v.claim)), cmp.Or(available(p.can.Volumes), noVolumes))
	case v.claim != "":
		p.nomad.Volumes = append(p.nomad.Volumes, NomadVolume{Name: v.claim, ContainerPath: target, ReadOnly: readOnly})
	case v.host != "":
		if p.can.Limits != nil {
			if why, hint := p.can.Limits.closedHost(v.host); why != "" {
				p.errors.fail(v.at, why, hint)
				return
			}
		}
		p.nomad.HostPaths = append(p.nomad.HostPaths, NomadHostPath{HostPath: v.host, ContainerPath: target, ReadOnly: readOnly})
	case target == "/dev/shm":
		p.rest.fail(at, "has no effect: tasks have a /dev/shm", "resources.shm_size sets its size")
	default:
		p.errors.fail(at, "is neither of a persistentVolumeClaim nor of a hostPath, and cannot be mounted", "")
	}
}

// quantities are the units of Kubernetes' quantities.
var quantities = map[string]float64{"": 1, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}

// most keeps the larger of an amount and of what a limit or a request has.
func (p *pod) most(of *amount, at string, value any) {
	text := textIn(value)
	number := strings.TrimRight(text, "numkMGTPEi")
	n, err := strconv.ParseFloat(number, 64)
	unit, known := quantities[text[len(number):]]
	if err != nil || !known || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		p.errors.fail(at, fmt.Sprintf("%s is no quantity of Kubernetes", document.Clip(text)), "write a number with a unit, such as 500m, 8 or 32Gi")
		return
	}
	if n*unit > of.most {
		*of = amount{n * unit, at}
	}
}

// amounts translates limits and requests. Slots bring GPUs, and as many cores and as much memory as nothing else says.
func (p *pod) amounts(at string, value any) {
	m, _ := p.mapping(at, value)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		here := document.Join(at, name)
		i := slices.IndexFunc(p.can.PodLimits, func(l PodLimit) bool { return l.Name == name })
		switch {
		case i >= 0:
			for _, d := range p.can.PodLimits[i].Devices {
				p.addDevice(d)
			}
		case name == "nvidia.com/gpu" || name == "amd.com/gpu":
			p.rest.fail(here, "has no effect: slots decide how many GPUs a task has", "")
		case name == "cpu":
			p.most(&p.cpus, here, m[name])
		case name == "memory":
			p.most(&p.memory, here, m[name])
		case strings.Contains(name, "/"):
			p.errors.fail(here, fmt.Sprintf("cannot be honoured: this resource pool does not define which devices %s means", document.Clip(name)),
				"operators define devices in resource_pools[].pod_limits; or use resources.devices")
		default:
			p.rest.fail(here, "has no effect: slots bring what a task gets of it", "")
		}
	}
}

func (p *pod) addDevice(text string) {
	d := ParseDevice(text)
	if !slices.ContainsFunc(p.devices, func(x Device) bool { return x.ContainerPath == d.ContainerPath }) {
		p.devices = append(p.devices, d)
	}
}

// ParseDevice reads a device as operators write it: a path, or host:container:mode.
func ParseDevice(text string) Device {
	parts := strings.SplitN(text, ":", 3)
	d := Device{HostPath: parts[0], ContainerPath: parts[0]}
	if len(parts) > 1 {
		d.ContainerPath = parts[1]
	}
	if len(parts) > 2 {
		d.Mode = &parts[2]
	}
	return d
}
