package expconf

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"

	"github.com/detent-ml/detent/master/regex"
)

// Nomad is environment.nomad: what an experiment may request from Nomad beyond its slots. It is
// a validated overlay, not a job: the cluster decides how tasks run, as which user and with
// which rights.
type Nomad struct {
	Constraints []NomadConstraint `json:"constraints,omitempty" check:"at most 100 constraints"`
	Affinities  []NomadAffinity   `json:"affinities,omitempty" check:"at most 100 affinities"`
	Spread      []NomadSpread     `json:"spread,omitempty" check:"at most 8 spreads"`
	Meta        map[string]string `json:"meta,omitempty" check:"at most 100 entries"`
	Volumes     []NomadVolume     `json:"volumes,omitempty" check:"at most 100 volumes"`
	HostPaths   []NomadHostPath   `json:"host_paths,omitempty" check:"at most 100 paths"`
}

// NomadConstraint excludes nodes that do not match.
type NomadConstraint struct {
	Attribute string `json:"attribute" check:"required; line maxComparison"`
	Operator  string `json:"operator,omitempty"` // "" is "="
	Value     string `json:"value,omitempty" check:"line maxComparison"`
}

// NomadAffinity prefers nodes that match; with a negative weight, nodes that do not match.
type NomadAffinity struct {
	Attribute string `json:"attribute" check:"required; line maxComparison"`
	Operator  string `json:"operator,omitempty"`
	Value     string `json:"value,omitempty" check:"line maxComparison"`
	Weight    *int   `json:"weight,omitempty"` // nil is 50
}

// NomadSpread distributes tasks over the values of an attribute.
type NomadSpread struct {
	Attribute string              `json:"attribute" check:"required"`
	Weight    *int                `json:"weight,omitempty" check:"1..100"` // nil is 50
	Targets   []NomadSpreadTarget `json:"targets,omitempty" check:"at most 100 targets"`
}

// NomadSpreadTarget is the share of one value of the attribute.
type NomadSpreadTarget struct {
	Value   string `json:"value" check:"required"`
	Percent int    `json:"percent" check:"0..100"`
}

// NomadVolume mounts a volume that the operators have defined.
type NomadVolume struct {
	Name          string `json:"name"`
	ContainerPath string `json:"container_path" check:"absolute"`
	ReadOnly      bool   `json:"read_only"`
}

// NomadHostPath mounts a path of the node, if the pool allows that path.
type NomadHostPath struct {
	HostPath      string `json:"host_path" check:"absolute"`
	ContainerPath string `json:"container_path" check:"absolute"`
	ReadOnly      bool   `json:"read_only"`
}

// unknown explains fields of a Nomad job that an experiment cannot set.
func (o *Nomad) unknown(name string) (message, hint string, ok bool) {
	switch name {
	case "driver", "user", "privileged", "identity", "identities", "vault", "consul", "template", "templates",
		"namespace", "config", "artifact", "artifacts", "service", "services", "network", "restart",
		"reschedule", "region", "datacenters", "node_pool", "type", "priority", "kill_signal", "lifecycle":
		return name + " cannot be set in an experiment: the cluster sets it",
			"use constraints, affinities, spread, meta, volumes or host_paths", true
	case "constraint":
		return "unknown field", "did you mean constraints? It is a list of {attribute, operator, value}", true
	case "affinity":
		return "unknown field", "did you mean affinities? It is a list of {attribute, operator, value, weight}", true
	case "volume", "volume_mount", "volume_mounts":
		return "unknown field", "did you mean volumes? It is a list of {name, container_path, read_only}", true
	}
	return "", "", false
}

func (o Nomad) onto(under any) any {
	below := under.(Nomad)
	merged := Nomad{
		Constraints: collect(o.Constraints, below.Constraints, func(c NomadConstraint) NomadConstraint { return c }),
		Affinities: collect(o.Affinities, below.Affinities, func(a NomadAffinity) string {
			return strings.Join([]string{a.Attribute, a.Operator, a.Value}, "\x00")
		}),
		Spread:    collect(o.Spread, below.Spread, func(s NomadSpread) string { return s.Attribute }),
		Volumes:   collect(o.Volumes, below.Volumes, func(v NomadVolume) string { return v.ContainerPath }),
		HostPaths: collect(o.HostPaths, below.HostPaths, func(h NomadHostPath) string { return h.ContainerPath }),
	}
	if o.Meta != nil || below.Meta != nil {
		merged.Meta = keywise(o.Meta, below.Meta)
	}
	return merged
}

// orNone returns nil for an overlay without entries, so that the configuration omits it.
func (o *Nomad) orNone() *Nomad {
	if o == nil || (len(o.Constraints)+len(o.Affinities)+len(o.Spread)+len(o.Meta)+len(o.Volumes)+len(o.HostPaths) == 0) {
		return nil
	}
	return o
}

// operators are Nomad's operators that compare an attribute of a node. The distinct operators
// are not among them: slots_per_trial determines how many nodes a trial uses.
func operators() []string {
	return []string{"=", "==", "is", "!=", "not", ">", ">=", "<", "<=", "regexp", "version", "semver",
		"set_contains", "set_contains_all", "set_contains_any", "is_set", "is_not_set"}
}

func (o *Nomad) check(k *checker, at string) {
	for name := range o.Meta {
		k.when(!variablePattern.MatchString(name), document.Join(at+".meta", name), "must have a name of letters, digits, _, . and -", "")
		k.when(strings.HasPrefix(strings.ToLower(name), "det_") || strings.HasPrefix(strings.ToLower(name), "det."), document.Join(at+".meta", name), "names that begin with det are reserved", "")
	}
	o.checkMounts(k, at)
	o.checkExpressions(k, at)
}

func (c NomadConstraint) check(k *checker, at string) {
	checkComparison(k, at, c.Attribute, c.Operator, c.Value)
	checkDeviceFact(k, at+".attribute", c.Attribute)
}

func (a NomadAffinity) check(k *checker, at string) {
	checkComparison(k, at, a.Attribute, a.Operator, a.Value)
	k.when(OnDevices(a.Attribute), at+".attribute", "is an attribute of devices, which affinities cannot compare", "use resources.gpu or constraints")
	k.when(strings.HasSuffix(a.Operator, "_set"), at+".operator", "Nomad has no affinity with the operator "+a.Operator, "compare with a value, or use constraints")
	if w := optional.Or(a.Weight, 50); w < -100 || w > 100 || w == 0 {
		k.fail(at+".weight", fmt.Sprintf("must be from -100 to 100 and not 0, found %d", w), "")
	}
}

func (s NomadSpread) check(k *checker, at string) {
	total := 0
	for _, t := range s.Targets {
		total += t.Percent
	}
	k.when(total > 100, at+".targets", fmt.Sprintf("add up to %d percent; the maximum is 100", total), "")
}

func (o *Nomad) checkMounts(k *checker, at string) {
	seen := map[string]string{}
	target := func(here, containerPath string) {
		clean := path.Clean(containerPath)
		if other, twice := seen[clean]; twice {
			k.fail(here+".container_path", fmt.Sprintf("%s is already used by %s", document.Clip(clean), other), "")
		}
		seen[clean] = here
	}
	for i, v := range o.Volumes {
		here := document.Index(at+".volumes", i)
		if !isName(v.Name) {
			k.fail(here+".name", fmt.Sprintf("is not the name of a volume: %q", document.Clip(v.Name)), "")
		}
		target(here, v.ContainerPath)
		k.when(strings.Contains(v.ContainerPath, "${") || strings.Contains(v.ContainerPath, "%{"), here+".container_path", "must not contain ${…}, because Nomad would replace it", "write the path out")
	}
	for i, h := range o.HostPaths {
		target(document.Index(at+".host_paths", i), h.ContainerPath)
	}
}

const (
	// maxComparison limits each side of a comparison.
	maxComparison = 512
	// The leader compares each waiting task with each node. maxExpression limits the steps of a regular expression, and MaxExpressions
	// how many of them a task has.
	maxExpression  = 200
	MaxExpressions = 10
)

// checkExpressions limits the regular expressions of all comparisons.
func (o *Nomad) checkExpressions(k *checker, at string) {
	n := 0
	count := func(at, operator string) {
		if operator == "regexp" {
			if n++; n == MaxExpressions+1 {
				k.fail(at+".operator", fmt.Sprintf("this is regular expression %d, and a task has at most %d", n, MaxExpressions), "join them with |, or compare with =, set_contains_any or version")
			}
		}
	}
	for i, c := range o.Constraints {
		count(document.Index(at+".constraints", i), c.Operator)
	}
	for i, a := range o.Affinities {
		count(document.Index(at+".affinities", i), a.Operator)
	}
}

// Expressions returns how many comparisons have regular expressions.
func (o *Nomad) Expressions() int { return o.count("regexp") }

// Versions returns how many comparisons have versions.
func (o *Nomad) Versions() int { return o.count("version", "semver") }

func (o *Nomad) count(operators ...string) (n int) {
	for _, c := range o.Constraints {
		if slices.Contains(operators, c.Operator) {
			n++
		}
	}
	for _, a := range o.Affinities {
		if slices.Contains(operators, a.Operator) {
			n++
		}
	}
	return n
}

// CheckExpression returns why a text is not a regular expression that may be compared with nodes.
func CheckExpression(text string) error {
	_, err := regex.CompileWithin(text, maxExpression)
	return err
}

// maxConditions is how many conditions a comparison of versions may have: the leader parses them for each version that nodes have.
const maxConditions = 10

func checkComparison(k *checker, at, attribute, operator, value string) {
	if attribute != "" && !strings.HasPrefix(attribute, "${") {
		k.fail(at+".attribute", fmt.Sprintf("%q is not an attribute of a node", document.Clip(attribute)), "write a name in braces, such as ${attr.cpu.arch} or ${meta.rack}")
	}
	operator = cmp.Or(operator, "=")
	if !slices.Contains(operators(), operator) {
		hint := "one of " + strings.Join(operators(), " ")
		if strings.HasPrefix(operator, "distinct_") {
			hint = "slots_per_trial determines how many nodes a trial uses"
		}
		k.fail(at+".operator", fmt.Sprintf("there is no operator %q", document.Clip(operator)), hint)
		return
	}
	k.when(value == "" && operator != "is_set" && operator != "is_not_set", at+".value", "is required by the operator "+operator, "")
	if n := strings.Count(value, ",") + 1; (operator == "version" || operator == "semver") && n > maxConditions {
		k.fail(at+".value", fmt.Sprintf("has %d conditions, and %d are possible", n, maxConditions), "")
	}
	if operator == "regexp" {
		if err := CheckExpression(value); err != nil {
			k.fail(at+".value", "is not a regular expression: "+err.Error(), "")
		}
	}
}

// Mounts returns the folders of the node that a task requests in bind_mounts and in
// environment.nomad.
func (e Environment) Mounts(binds BindMounts) BindMounts {
	if e.Nomad == nil || len(e.Nomad.HostPaths) == 0 {
		return binds
	}
	all := slices.Clone(binds)
	for _, h := range e.Nomad.HostPaths {
		all = append(all, BindMount{HostPath: h.HostPath, ContainerPath: h.ContainerPath, ReadOnly: &h.ReadOnly})
	}
	return completed(all)
}

const noVolumes = "operators define volumes in the Nomad job of a pool; this pool has none"

// refusedMounts reports volumes and folders of environment.nomad that the pool does not allow.
func (e Environment) refusedMounts(k *checker, can Capabilities, binds BindMounts) {
	n := e.Nomad
	if n == nil || !can.NomadOverlay {
		return
	}
	taken := each.Set(binds, func(b BindMount) string { return path.Clean(b.ContainerPath) })
	once := func(at, target string) {
		if taken[path.Clean(target)] {
			k.fail(at+".container_path", document.Clip(target)+" is already used by bind_mounts", "choose another path")
		}
	}
	for i, v := range n.Volumes {
		at := document.Index("environment.nomad.volumes", i)
		once(at, v.ContainerPath)
		if !slices.Contains(can.Volumes, v.Name) {
			k.fail(at+".name", fmt.Sprintf("%s is not a volume of this resource pool", document.Clip(v.Name)), cmp.Or(available(can.Volumes), noVolumes))
		}
		if can.Limits != nil {
			can.Limits.refusedTarget(k, at, v.ContainerPath)
		} else if can.Hidden != nil {
			if dir := can.Hidden(v.ContainerPath); dir != "" {
				k.fail(at+".container_path", fmt.Sprintf("a volume at %s would hide %s, which the task needs", document.Clip(v.ContainerPath), dir), "choose another path, such as /data")
			}
		}
	}
	for i, h := range n.HostPaths {
		at := document.Index("environment.nomad.host_paths", i)
		once(at, h.ContainerPath)
		switch l := can.Limits; {
		case !can.BindMounts:
			k.fail(at, "is not available in this resource pool: its tasks cannot mount folders of their node", "use volumes")
		case l != nil:
			l.refusedTarget(k, at, h.ContainerPath)
			if why, hint := l.closedHost(h.HostPath); why != "" {
				k.fail(at+".host_path", why, hint)
			}
		}
	}
}
