package expconf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/spelling"
)

// union describes a section whose fields depend on the value of one of them:
// searcher by name, checkpoint_storage by type.
type union struct {
	noun    string // what a member is called in messages: "searcher"
	key     string // the field that names the member
	common  []string
	members []member
}

type member struct {
	name   string
	fields []string
	past   bool // known so that old documents can be read, but not offered
}

func (u union) member(name string) (member, bool) {
	for _, m := range u.members {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// names lists the members that a new document may use.
func (u union) names() []string {
	var out []string
	for _, m := range u.members {
		if !m.past {
			out = append(out, m.name)
		}
	}
	return out
}

// decode fills the struct v, which has the fields of all members, and reports
// the fields that do not belong to the member that n names. Without a name,
// only the common fields may stand there: the others would mean nothing until
// merged with a document that may name another member.
func (u union) decode(d *decoder, n *node, path string, v reflect.Value) {
	if n.kind != mapKind {
		d.expected(n, path, "a mapping", "")
		return
	}
	key := n.get(u.key)
	switch {
	case key == nil || key.kind == nullKind:
		d.object(u.onlyCommon(d, n, path), path, v)
	case key.kind != stringKind:
		d.object(n, path, v)
	default:
		m, ok := u.member(key.text)
		if !ok {
			hint := "one of " + strings.Join(u.names(), ", ")
			if near := spelling.Nearest(key.text, u.names()); near != "" {
				hint = "did you mean " + near + "?"
			}
			d.problem(key, join(path, u.key), fmt.Sprintf("there is no %s %q", u.noun, clip(key.text)), hint)
			d.object(n, path, v)
			return
		}
		d.object(u.without(d, n, path, m), path, v)
	}
}

// without is n without the known fields that m does not have, each reported.
func (u union) without(d *decoder, n *node, path string, m member) *node {
	kept := *n
	kept.fields = nil
	for _, f := range n.fields {
		if slices.Contains(u.common, f.key) || f.key == u.key || slices.Contains(m.fields, f.key) {
			kept.fields = append(kept.fields, f)
			continue
		}
		owners := u.owners(f.key)
		if len(owners) == 0 {
			p := Problem{File: d.file, Line: f.line, Column: f.column, Path: join(path, f.key), Message: "unknown field"}
			p.Hint = suggest(f.key, slices.Concat(u.common, []string{u.key}, m.fields), d.root)
			d.problems = append(d.problems, p)
			continue
		}
		d.problems = append(d.problems, Problem{
			File: d.file, Line: f.line, Column: f.column, Path: join(path, f.key),
			Message: fmt.Sprintf("%s is not a field of the %s %s", f.key, m.name, u.noun),
			Hint:    "it belongs to " + strings.Join(owners, ", "),
		})
	}
	return &kept
}

// onlyCommon is n without the fields that belong to a member, each reported.
func (u union) onlyCommon(d *decoder, n *node, path string) *node {
	kept := *n
	kept.fields = nil
	for _, f := range n.fields {
		if len(u.owners(f.key)) == 0 || slices.Contains(u.common, f.key) {
			kept.fields = append(kept.fields, f)
			continue
		}
		d.problems = append(d.problems, Problem{
			File: d.file, Line: f.line, Column: f.column, Path: join(path, f.key),
			Message: fmt.Sprintf("requires %s, which selects the %s", join(path, u.key), u.noun),
			Hint:    "it belongs to " + strings.Join(u.owners(f.key), ", "),
		})
	}
	return &kept
}

// owners lists the members that have a field, leaving out those of the past
// where a present one has it too.
func (u union) owners(name string) []string {
	var present, past []string
	for _, m := range u.members {
		switch {
		case !slices.Contains(m.fields, name):
		case m.past:
			past = append(past, m.name)
		default:
			present = append(present, m.name)
		}
	}
	if len(present) > 0 {
		return present
	}
	return past
}

// ontoUnion merges two states of a union section, given the member that each
// names and whether a member of another kind has already come between over and
// what lies below. Where the members differ, only the common fields of under
// shine through, and the result is sealed: from there on down nothing else
// does, however the merges are grouped.
func ontoUnion(u union, over, under reflect.Value, sealed bool) (merged reflect.Value, seal bool) {
	a, b := memberName(over, u), memberName(under, u)
	if sealed || (a != "" && b != "" && a != b) {
		common := reflect.New(under.Type()).Elem()
		for _, f := range fieldsOf(under.Type()) {
			if slices.Contains(u.common, f.name) {
				common.Field(f.index).Set(under.Field(f.index))
			}
		}
		under, seal = common, true
	}
	merged = reflect.New(over.Type()).Elem()
	for _, f := range fieldsOf(over.Type()) {
		merged.Field(f.index).Set(mergeValue(over.Field(f.index), under.Field(f.index)))
	}
	return merged, seal
}

func memberName(v reflect.Value, u union) string {
	for _, f := range fieldsOf(v.Type()) {
		if f.name != u.key {
			continue
		}
		if p, ok := v.Field(f.index).Interface().(*string); ok && p != nil {
			return *p
		}
	}
	return ""
}
