package expconf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/spelling"
)

// union describes a section whose fields depend on the value of one of them:
// searcher by name, checkpoint_storage by type. The tags of that field say it:
// union what a member is called in messages, members their names, past the names
// of those that old documents may have and that are not offered. The tag of of
// every other field lists the members that have it; without one, all have.
type union struct {
	noun          string // "searcher"
	key           string // the field that names the member
	index         int    // its place in the struct
	members, past []string
}

// belonging is a member that has a field. Where it is optional, which the tag
// marks with a ?, the stored form leaves it out rather than say null.
type belonging struct {
	member   string
	optional bool
}

func readBelongings(tag string) []belonging {
	var out []belonging
	for _, word := range strings.Fields(tag) {
		member, optional := strings.CutSuffix(word, "?")
		out = append(out, belonging{member: member, optional: optional})
	}
	return out
}

// knows tells whether a member may stand in a document, old ones included.
func (u *union) knows(member string) bool {
	return slices.Contains(u.members, member) || slices.Contains(u.past, member)
}

// belongs tells whether a member has the field.
func (f *tagged) belongs(member string) (b belonging, ok bool) {
	for _, b := range f.of {
		if b.member == member {
			return b, true
		}
	}
	return belonging{member: member}, len(f.of) == 0
}

// member is the one that a section names; "" for none.
func (u *union) member(v reflect.Value) string {
	name := v.Field(u.index)
	if name.Kind() == reflect.Pointer {
		if name.IsNil() {
			return ""
		}
		name = name.Elem()
	}
	return name.String()
}

// has tells whether a field means something in the section v.
func (u *union) has(v reflect.Value, f *tagged) bool {
	if u == nil || len(f.of) == 0 {
		return true
	}
	member := u.member(v)
	_, ok := f.belongs(member)
	return ok && slices.Contains(u.members, member)
}

// membersOf lists the members of a union that a new document may name.
func membersOf[T any]() []string { return sectionOf(reflect.TypeFor[T]()).union.members }

// admitted is the fields of n that the struct v may be filled with: all but the
// known ones that do not belong to the member that n names, each of which is
// reported. Without a name, only the common fields may stand there: the others
// would mean nothing until merged with a document that may name another member.
func (s *section) admitted(d *decoder, n *node, path string) []field {
	u := s.union
	if u == nil {
		return n.fields
	}
	switch key := n.get(u.key); {
	case key == nil || key.kind == nullKind:
		return s.onlyCommon(d, n, path)
	case key.kind != stringKind:
		return n.fields
	case !u.knows(key.text):
		hint := "one of " + strings.Join(u.members, ", ")
		if near := spelling.Nearest(key.text, u.members); near != "" {
			hint = "did you mean " + near + "?"
		}
		d.problem(key, join(path, u.key), fmt.Sprintf("there is no %s %q", u.noun, clip(key.text)), hint)
		return n.fields
	default:
		return s.onlyOf(key.text, d, n, path)
	}
}

// onlyOf is the fields of n that a member has.
func (s *section) onlyOf(member string, d *decoder, n *node, path string) []field {
	var kept []field
	for _, f := range n.fields {
		i, known := s.byName[f.key]
		if !known {
			d.misfit(f, path, "unknown field", suggest(f.key, s.namesOf(member), d.root))
		} else if _, ok := s.fields[i].belongs(member); ok {
			kept = append(kept, f)
		} else {
			d.misfit(f, path, fmt.Sprintf("%s is not a field of the %s %s", f.key, member, s.union.noun), s.owners(i))
		}
	}
	return kept
}

// onlyCommon is the fields of n that all members have, or none.
func (s *section) onlyCommon(d *decoder, n *node, path string) []field {
	var kept []field
	for _, f := range n.fields {
		if i, known := s.byName[f.key]; known && len(s.fields[i].of) > 0 {
			d.misfit(f, path, fmt.Sprintf("requires %s, which selects the %s", join(path, s.union.key), s.union.noun), s.owners(i))
		} else {
			kept = append(kept, f)
		}
	}
	return kept
}

// misfit reports a field by its name.
func (d *decoder) misfit(f field, path, message, hint string) {
	d.problem(&node{line: f.line, column: f.column}, join(path, f.key), message, hint)
}

// namesOf lists the names of the fields that a member has.
func (s *section) namesOf(member string) []string {
	var out []string
	for i := range s.fields {
		if _, ok := s.fields[i].belongs(member); ok {
			out = append(out, s.fields[i].name)
		}
	}
	return out
}

// owners says which members have a field, leaving out those of the past where a
// present one has it too.
func (s *section) owners(i int) string {
	for _, members := range [][]string{s.union.members, s.union.past} {
		var owners []string
		for _, m := range members {
			if _, ok := s.fields[i].belongs(m); ok {
				owners = append(owners, m)
			}
		}
		if len(owners) > 0 {
			return "it belongs to " + strings.Join(owners, ", ")
		}
	}
	return ""
}

// stored is the fields of the named member and no others, for JSON.
func (s *section) stored(v reflect.Value) map[string]any {
	out := map[string]any{}
	for i := range s.fields {
		f := &s.fields[i]
		b, ok := f.belongs(s.union.member(v))
		if value := v.Field(f.index); ok && (!b.optional || !value.IsZero()) {
			out[f.name] = value.Interface()
		}
	}
	return out
}
