package pool

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/detent-ml/detent/master/regex"
)

// Detent chooses the nodes of its tasks, so it has to judge what chooses nodes as Nomad
// would: else it took a node for one of a pool that Nomad then refuses.

// A Comparison is one of Nomad's, of an attribute of nodes with a value.
type Comparison struct{ Attribute, Operator, Value string }

// An Affinity draws tasks to nodes that meet it, with a weight of -100 to 100.
type Affinity struct {
	Comparison
	Weight int
}

// A Spread distributes members over the values of an attribute, with a weight of 1 to 100.
type Spread struct {
	Attribute string
	Weight    int
	Targets   []SpreadTarget
}

// A SpreadTarget is the share of one value, in percent. Values that have none share what
// is left.
type SpreadTarget struct {
	Value   string
	Percent int
}

// Shares are those of the values that nodes have, from 0 to 1.
func (s Spread) Shares(values map[string]bool) map[string]float64 {
	shares := make(map[string]float64, len(values))
	left := 100
	for _, t := range s.Targets {
		left -= t.Percent
		if values[t.Value] {
			shares[t.Value] = float64(t.Percent) / 100
		}
	}
	if others := len(values) - len(shares); others > 0 {
		for value := range values {
			if _, named := shares[value]; !named {
				shares[value] = float64(max(left, 0)) / 100 / float64(others)
			}
		}
	}
	return shares
}

// ValueOf is what a node says of an attribute.
func ValueOf(attribute string, facts Facts) (value string, found bool) {
	return resolve(attribute, facts)
}

// Facts are what comparisons ask of a node, by the names between the braces of ${…}:
// attr.cpu.arch, meta.rack, node.class.
type Facts func(name string) (value string, found bool)

// Operators lists the comparisons that Detent judges. distinct_hosts and
// distinct_property are about the places of a job among themselves, which Detent chooses.
func Operators() []string {
	return []string{"", "=", "==", "is", "!=", "not", "<", "<=", ">", ">=", "regexp", "version", "semver",
		"set_contains", "set_contains_all", "set_contains_any", "is_set", "is_not_set"}
}

// String writes a comparison as users read it.
func (c Comparison) String() string {
	operator := c.Operator
	if operator == "" {
		operator = "="
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Attribute, operator, c.Value))
}

// Meets tells whether a node with these facts meets the comparison.
func (c Comparison) Meets(facts Facts) bool {
	left, foundLeft := resolve(c.Attribute, facts)
	right, foundRight := resolve(c.Value, facts)
	switch c.Operator {
	case "is_set":
		return foundLeft
	case "is_not_set":
		return !foundLeft
	case "!=", "not":
		return foundLeft != foundRight || left != right
	}
	if !foundLeft || !foundRight {
		return false
	}
	switch c.Operator {
	case "", "=", "==", "is":
		return left == right
	case "<", "<=", ">", ">=":
		return ordered(c.Operator, left, right)
	case "regexp":
		expression, err := regex.Compile(right)
		return err == nil && expression.MatchString(left)
	case "version", "semver":
		return ofVersion(c.Operator, left, right)
	case "set_contains", "set_contains_all", "set_contains_any":
		return contains(left, right, c.Operator == "set_contains_any")
	}
	return false
}

// Unmet is the first of some comparisons that a node does not meet; "" for none.
func Unmet(list []Comparison, facts Facts) string {
	for _, c := range list {
		if !c.Meets(facts) {
			return c.String()
		}
	}
	return ""
}

// Draw is how much a node is preferred, from -1 to 1, as Nomad counts affinities.
func Draw(list []Affinity, facts Facts) float64 {
	sum, weights := 0, 0
	for _, a := range list {
		weights += max(a.Weight, -a.Weight)
		if a.Meets(facts) {
			sum += a.Weight
		}
	}
	if weights == 0 {
		return 0
	}
	return float64(sum) / float64(weights)
}

// resolve reads a side of a comparison: a text, or what a node says of ${…}.
func resolve(target string, facts Facts) (string, bool) {
	name, variable := strings.CutPrefix(target, "${")
	if !variable {
		return target, true
	}
	return facts(strings.TrimSuffix(name, "}"))
}

// ordered compares as whole numbers, else as numbers, else as texts.
func ordered(operator, left, right string) bool {
	order := strings.Compare(left, right)
	if a, err := strconv.ParseInt(left, 10, 64); err == nil {
		if b, err := strconv.ParseInt(right, 10, 64); err == nil {
			return holds(operator, cmp.Compare(a, b))
		}
	}
	if a, err := strconv.ParseFloat(left, 64); err == nil {
		if b, err := strconv.ParseFloat(right, 64); err == nil {
			return holds(operator, cmp.Compare(a, b))
		}
	}
	return holds(operator, order)
}

func holds(operator string, order int) bool {
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "!=":
		return order != 0
	}
	return order == 0
}

// ofVersion holds a version to conditions such as ">= 1.2, < 2". By semver, a version
// before a release counts by its order; by version, only where the condition names one.
func ofVersion(operator, left, right string) bool {
	if operator == "version" {
		v, err := version.NewVersion(left)
		if err != nil {
			return false
		}
		conditions, err := version.NewConstraint(right)
		return err == nil && conditions.Check(v)
	}
	v, err := version.NewSemver(left)
	if err != nil {
		return false
	}
	for _, condition := range strings.Split(right, ",") {
		condition = strings.TrimSpace(condition)
		text := strings.TrimLeft(condition, "<>=!")
		than, err := version.NewSemver(strings.TrimSpace(text))
		if err != nil || !holds(condition[:len(condition)-len(text)], v.Compare(than)) {
			return false
		}
	}
	return true
}

// contains compares lists whose items commas separate.
func contains(left, right string, any bool) bool {
	items := func(list string) []string {
		split := strings.Split(list, ",")
		for i := range split {
			split[i] = strings.TrimSpace(split[i])
		}
		return split
	}
	have := items(left)
	in := func(item string) bool { return slices.Contains(have, item) }
	if any {
		return slices.ContainsFunc(items(right), in)
	}
	return !slices.ContainsFunc(items(right), func(item string) bool { return !in(item) })
}
