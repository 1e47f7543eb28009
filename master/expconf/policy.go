package expconf

import (
	"errors"
	"reflect"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf/difference"
	"github.com/detent-ml/detent/master/spelling"
)

// A Policy is a config policy for configurations of type R: what administrators apply over the
// configurations of users, and limits that these must keep.
type Policy[R Raw | RawCommand] struct {
	Invariant   R
	Constraints Constraints
	Document    Document // the policy as JSON, with exactly what its text says
}

// policyDocument is the text of a policy.
type policyDocument[R Raw | RawCommand] struct {
	InvariantConfig R           `json:"invariant_config"`
	Constraints     Constraints `json:"constraints"`
}

// unknown explains a field of configurations that is at the top of a policy.
func (p *policyDocument[R]) unknown(name string) (message, hint string, ok bool) {
	if spelling.Nearest(name, []string{invariantSection, "constraints"}) != "" {
		return "", "", false
	}
	return "unknown field", "fields of configurations belong below invariant_config, limits below constraints", true
}

// Constraints are the limits of a policy.
type Constraints struct {
	PriorityLimit *int                 `json:"priority_limit" check:"1 (first)..99 (last)"`
	Resources     ConstrainedResources `json:"resources"`
	// Secrets are the names of the secrets that may be mounted; nil: all, empty: none.
	Secrets []string `json:"secrets" check:"at most maxNames names; each line 128"`
}

// ConstrainedResources are the limits of resources.
type ConstrainedResources struct {
	MaxRuntime *Duration `json:"max_runtime"`
	MaxSlots   *int      `json:"max_slots" check:"0..maxSlots"`
}

func (c ConstrainedResources) check(k *checker, at string) { k.maxRuntime(at, c.MaxRuntime) }

// unknown explains a field that Determined's documentation has in two places.
func (c *ConstrainedResources) unknown(name string) (message, hint string, ok bool) {
	if name == "priority_limit" {
		return "unknown field", "did you mean constraints.priority_limit?", true
	}
	return "", "", false
}

const invariantSection = "invariant_config"

// ParsePolicy parses a policy for experiments, in YAML or JSON.
func ParsePolicy(name string, src []byte) (Policy[Raw], error) {
	p, at, err := parsePolicy(name, src, func(p Policy[Raw], at *document.Positions) error {
		p.Invariant.pos = at
		return CheckPolicy(p)
	})
	p.Invariant.pos = at
	return p, err
}

// ParseCommandPolicy parses a policy for tasks of other kinds.
func ParseCommandPolicy(name string, src []byte) (Policy[RawCommand], error) {
	p, at, err := parsePolicy(name, src, func(p Policy[RawCommand], at *document.Positions) error {
		p.Invariant.pos = at
		return CheckCommandPolicy(p)
	})
	p.Invariant.pos = at
	return p, err
}

// parsePolicy decodes a policy. If something is wrong, it also checks the values, so that the author sees all problems together.
func parsePolicy[R Raw | RawCommand](name string, src []byte, check func(Policy[R], *document.Positions) error) (Policy[R], *document.Positions, error) {
	root, problems := document.Parse(name, src, document.UserLimits())
	if len(problems) > 0 {
		return Policy[R]{}, nil, document.AsError(problems)
	}
	if root.Kind == document.NullKind || root.Kind == document.MapKind && len(root.Fields) == 0 {
		return Policy[R]{}, nil, document.AsError([]document.Problem{{File: name, Line: root.Line, Column: root.Column,
			Message: "the policy is empty", Hint: "write " + invariantSection + " or constraints; to remove a policy, delete it"}})
	}
	var doc policyDocument[R]
	d := newDecoder(name, &doc)
	d.into(root, "", &doc)
	k := &checker{pos: d.positions()}
	k.section("constraints", &doc.Constraints)
	d.addInvalid(document.AsError(k.problems))
	p, at := Policy[R]{Invariant: doc.InvariantConfig, Constraints: doc.Constraints}, &document.Positions{Layers: []map[string]document.Position{below(d.at, invariantSection)}}
	if len(d.problems) > 0 {
		d.addInvalid(check(p, at))
		return Policy[R]{}, nil, document.AsError(d.problems)
	}
	p.Document = root.Free().(map[string]any)
	return p, at, nil
}

// below returns the positions of a section, with paths that begin there.
func below(at map[string]document.Position, section string) map[string]document.Position {
	out := map[string]document.Position{}
	for path, position := range at {
		if rest, ok := strings.CutPrefix(path, section); ok {
			out[strings.TrimPrefix(rest, ".")] = position
		}
	}
	return out
}

// CheckPolicy reports what is wrong with the values of a policy for experiments: values that no
// experiment can have, and fields that decide which policy applies.
func CheckPolicy(p Policy[Raw]) error {
	c, err := Complete(p.Invariant, ClusterDefaults{Name: "unnamed"})
	if err != nil {
		return err
	}
	k := &checker{pos: p.Invariant.pos}
	const decides = "cannot be set by a policy: it decides which policies apply"
	for _, field := range []string{"project", "workspace", "unmanaged"} {
		k.when(IsSet(&p.Invariant, field), field, decides, "")
	}
	noSecrets(k, len(p.Invariant.Environment.Secrets))
	return policyProblems(p.Invariant.pos, k.problems, c.Validate())
}

// CheckCommandPolicy is CheckPolicy for tasks of other kinds.
func CheckCommandPolicy(p Policy[RawCommand]) error {
	c, err := CompleteCommand(p.Invariant, CommandDefaults{Description: "unnamed"})
	if err != nil {
		return err
	}
	k := &checker{pos: p.Invariant.pos}
	noSecrets(k, len(p.Invariant.Environment.Secrets))
	return policyProblems(p.Invariant.pos, k.problems, c.Validate(false))
}

// noSecrets rejects a policy that mounts secrets: it would use those of the submitter, who has not asked
// for it.
func noSecrets(k *checker, n int) {
	k.when(n > 0, "environment.secrets", "cannot be set by a policy: users mount their own secrets", "constraints.secrets limits which")
}

// policyProblems returns the problems of values that the policy has. What it leaves open is the
// user's to set.
func policyProblems(at *document.Positions, list []document.Problem, invalid error) error {
	more, _ := errors.AsType[document.Errors](invalid)
	for _, p := range more {
		if p.Path != "" && at.Written(p.Path) {
			list = append(list, p)
		}
	}
	for i := range list {
		list[i].Path = document.Join(invariantSection, list[i].Path)
	}
	return document.AsError(list)
}

// ForContinuation returns the part of a policy's configuration that can change when an experiment
// continues: its search and its storage stay.
func (r Raw) ForContinuation() Raw {
	r.Searcher, r.Hyperparameters, r.CheckpointStorage, r.Reproducibility = Searcher{}, nil, CheckpointStorage{}, Reproducibility{}
	return r
}

// Redacted returns the document of a policy without its secrets, for users who may not change it.
func (p Policy[R]) Redacted() (Document, error) {
	b, err := p.Document.JSON()
	if err != nil {
		return nil, err
	}
	root, problems := document.ParseJSON("", b, document.StoredLimits())
	if len(problems) > 0 {
		return nil, document.AsError(problems)
	}
	h := hider{own: true} // a policy applies to the configurations of all, who see what it sets
	shown := root.Mapped(func(name string, value *document.Node) *document.Node {
		if name != invariantSection {
			return value
		}
		return h.section(value, sectionOf(reflect.TypeFor[R]()))
	})
	return shown.Free().(map[string]any), nil
}

// Changes lists what a policy would change of a complete configuration. The order of entries does not count in lists that documents
// combine. The values are shown as others than the owner see them.
func (c Config) Changes(invariant Raw) ([]difference.Field, error) {
	set, err := Complete(Merge(invariant, Raw(c)), ClusterDefaults{})
	if err != nil {
		return nil, err
	}
	before, err := c.JSON()
	if err != nil {
		return nil, err
	}
	after, err := set.JSON()
	if err != nil {
		return nil, err
	}
	list, err := difference.Of(before, after)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	shown, err := set.Shown(false)
	if err != nil {
		return nil, err
	}
	values, err := difference.Of([]byte("{}"), shown)
	if err != nil {
		return nil, err
	}
	for i, d := range list {
		list[i].Value = hidden
		for _, v := range values {
			if v.Path == d.Path {
				list[i].Value = v.Value
			}
		}
	}
	return list, nil
}
