package pool

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/regex"
)

// Detent chooses the nodes of its tasks, so it must evaluate constraints exactly as Nomad does:
// otherwise it would choose a node that Nomad then rejects.

// A Comparison compares an attribute of nodes with a value, as in a constraint of Nomad.
type Comparison struct{ Attribute, Operator, Value string }

// An Affinity prefers nodes that meet it, with a weight of -100 to 100.
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

// A SpreadTarget is the share of one value, in percent. Values without a target divide the rest.
type SpreadTarget struct {
	Value   string
	Percent int
}

// defaultWeight is the weight of an affinity or spread without one, as in Nomad.
const defaultWeight = 50

// Asked returns the constraints, affinities and spreads of environment.nomad.
func Asked(n *expconf.Nomad) (constraints []Comparison, affinities []Affinity, spreads []Spread) {
	for _, x := range n.Constraints {
		constraints = append(constraints, Comparison(x))
	}
	for _, x := range n.Affinities {
		affinities = append(affinities, Affinity{Comparison{x.Attribute, x.Operator, x.Value}, cmp.Or(optional.Value(x.Weight), defaultWeight)})
	}
	for _, x := range n.Spread {
		s := Spread{Attribute: x.Attribute, Weight: cmp.Or(optional.Value(x.Weight), defaultWeight)}
		for _, t := range x.Targets {
			s.Targets = append(s.Targets, SpreadTarget(t))
		}
		spreads = append(spreads, s)
	}
	return constraints, affinities, spreads
}

// Shares returns the share of each value that nodes have, from 0 to 1.
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

// Facts returns a node's attribute by its name, without ${ and }: attr.cpu.arch, meta.rack,
// node.class.
type Facts func(name string) (value string, found bool)

// A Match compares a text with a value by an operator that takes work: regexp, version or semver, and others if the texts
// are long. An invalid value matches nothing. Callers that compare many nodes keep what it returns. nil is Matches.
type Match func(operator, text, value string) bool

// Matches is a Match that keeps nothing.
func Matches(operator, text, value string) bool {
	switch operator {
	case "regexp":
		expression, err := regex.Compile(value)
		return err == nil && expression.MatchString(text)
	case "<", "<=", ">", ">=":
		return ordered(operator, text, value)
	case "set_contains", "set_contains_all", "set_contains_any":
		return contains(text, value, operator == "set_contains_any")
	}
	return ofVersion(operator, text, value)
}

// longTexts is the length of both sides from which a comparison of numbers or lists takes work: a user may write 512 bytes.
const longTexts = 64

// Long reports whether a comparison takes work because its texts are long.
func (c Comparison) Long() bool {
	switch c.Operator {
	case "<", "<=", ">", ">=", "set_contains", "set_contains_all", "set_contains_any":
		return len(c.Attribute)+len(c.Value) > longTexts
	}
	return false
}

// Operators lists the operators that Detent evaluates, first the empty one, which means =. distinct_hosts and distinct_property are
// not among them: they are about the groups of one job, whose nodes Detent chooses.
func Operators() []string {
	return []string{"", "=", "==", "is", "!=", "not", "<", "<=", ">", ">=", "regexp", "version", "semver",
		"set_contains", "set_contains_all", "set_contains_any", "is_set", "is_not_set"}
}

// String formats a comparison for users.
func (c Comparison) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Attribute, cmp.Or(c.Operator, "="), c.Value))
}

// Meets reports whether a node with these facts meets the comparison. match may be nil.
func (c Comparison) Meets(facts Facts, match Match) bool {
	left, foundLeft := ValueOf(c.Attribute, facts)
	right, foundRight := ValueOf(c.Value, facts)
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
	case "<", "<=", ">", ">=", "set_contains", "set_contains_all", "set_contains_any":
		if match == nil || !c.Long() {
			match = Matches
		}
	case "regexp", "version", "semver":
		if match == nil {
			match = Matches
		}
	default:
		return false
	}
	return match(c.Operator, left, right)
}

// FirstUnmet is the index of the first comparison that a node does not meet; -1 if it meets all. match may be nil.
func FirstUnmet(list []Comparison, facts Facts, match Match) int {
	return slices.IndexFunc(list, func(c Comparison) bool { return !c.Meets(facts, match) })
}

// Unmet returns the first comparison that a node does not meet; "" if it meets all. match may be nil.
func Unmet(list []Comparison, facts Facts, match Match) string {
	if i := FirstUnmet(list, facts, match); i >= 0 {
		return list[i].String()
	}
	return ""
}

// Draw returns how much affinities prefer a node, from -1 to 1, computed as Nomad does. match may be nil.
func Draw(list []Affinity, facts Facts, match Match) float64 {
	sum, weights := 0, 0
	for _, a := range list {
		weights += max(a.Weight, -a.Weight)
		if a.Meets(facts, match) {
			sum += a.Weight
		}
	}
	if weights == 0 {
		return 0
	}
	return float64(sum) / float64(weights)
}

// ValueOf returns the value of one side of a comparison: a text, or a node's value of ${…}.
func ValueOf(target string, facts Facts) (string, bool) {
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

// contains compares lists whose items commas separate.
func contains(left, right string, any bool) bool {
	items := func(list string) []string { return each.Of(strings.Split(list, ","), strings.TrimSpace) }
	have := items(left)
	in := func(item string) bool { return slices.Contains(have, item) }
	if any {
		return slices.ContainsFunc(items(right), in)
	}
	return !slices.ContainsFunc(items(right), func(item string) bool { return !in(item) })
}
