package expconf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// union describes a section whose fields depend on the value of one of them: searcher on name,
// checkpoint_storage on type. The tags of that field are: union, the noun for a member in
// messages; members, their names; past, the names of obsolete members that old documents may
// have. The tag of of every other field lists the members that have it; a field without the tag
// belongs to all.
type union struct {
	noun          string // "searcher"
	key           string // the field that names the member
	index         int    // its place in the struct
	members, past []string
}

// belonging is a member that has a field. If the field is optional, marked by a ? in the tag,
// JSON omits it instead of writing null.
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

// knows reports whether a document may name a member, including obsolete ones.
func (u *union) knows(member string) bool {
	return slices.Contains(u.members, member) || slices.Contains(u.past, member)
}

// belongs reports whether a member has the field.
func (f *tagged) belongs(member string) (b belonging, ok bool) {
	for _, b := range f.of {
		if b.member == member {
			return b, true
		}
	}
	return belonging{member: member}, len(f.of) == 0
}

// member returns the member that a section names; "" for none.
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

// has reports whether the member that v names has a field.
func (u *union) has(v reflect.Value, f *tagged) bool {
	if u == nil || len(f.of) == 0 {
		return true
	}
	member := u.member(v)
	_, ok := f.belongs(member)
	return ok && slices.Contains(u.members, member)
}

// membersOf lists the members of a union that a new document may name, without obsolete ones.
func membersOf[T any]() []string { return sectionOf(reflect.TypeFor[T]()).union.members }

// admitted returns the fields of n that are decoded into the struct v. It reports known fields
// that do not belong to the member that n names. If n names no member, only common fields are
// allowed, because a document that is merged later may name another member.
func (s *section) admitted(d *decoder, n *document.Node, path string) []document.Field {
	u := s.union
	if u == nil {
		return n.Fields
	}
	switch key := n.Get(u.key); {
	case key == nil || key.Kind == document.NullKind:
		return s.onlyCommon(d, n, path)
	case key.Kind != document.StringKind:
		return n.Fields
	case !u.knows(key.Text):
		d.problem(key, document.Join(path, u.key), fmt.Sprintf("there is no %s %q", u.noun, document.Clip(key.Text)), suggestOf(key.Text, u.members))
		return n.Fields
	default:
		return s.onlyOf(key.Text, d, n, path)
	}
}

// onlyOf returns the fields of n that a member has.
func (s *section) onlyOf(member string, d *decoder, n *document.Node, path string) []document.Field {
	var kept []document.Field
	for _, f := range n.Fields {
		i, known := s.byName[f.Key]
		if !known {
			d.misfit(f, path, "unknown field", suggest(f.Key, s.namesOf(member), d.root))
		} else if _, ok := s.fields[i].belongs(member); ok {
			kept = append(kept, f)
		} else {
			d.misfit(f, path, fmt.Sprintf("%s is not a field of the %s %s", f.Key, member, s.union.noun), s.owners(i))
		}
	}
	return kept
}

// onlyCommon returns the fields of n that all members have, or none of the members.
func (s *section) onlyCommon(d *decoder, n *document.Node, path string) []document.Field {
	var kept []document.Field
	for _, f := range n.Fields {
		if i, known := s.byName[f.Key]; known && len(s.fields[i].of) > 0 {
			d.misfit(f, path, fmt.Sprintf("requires %s, which selects the %s", document.Join(path, s.union.key), s.union.noun), s.owners(i))
		} else {
			kept = append(kept, f)
		}
	}
	return kept
}

// misfit reports a problem at the key of a field.
func (d *decoder) misfit(f document.Field, path, message, hint string) {
	d.problem(&document.Node{Line: f.Line, Column: f.Column}, document.Join(path, f.Key), message, hint)
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

// owners lists the members that have a field, without obsolete members if a current member has
// the field too.
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

// stored returns only the fields of the named member, for JSON.
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
